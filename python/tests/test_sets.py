"""Sets of addresses and route origin validation, with `ipaddress` and plain lists as the oracle."""

import copy
import ipaddress
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import longest, networks

import fibula

some = st.lists(networks, max_size=20)


def collapsed(prefixes):
    """The fewest prefixes of the same addresses."""
    of = [[n for n in prefixes if n.version == version] for version in (4, 6)]
    return [str(n) for family in of for n in ipaddress.collapse_addresses(family)]


def without(prefixes, excluded):
    """What is left of prefixes, one excluded network after the other."""
    left = [ipaddress.ip_network(text) for text in collapsed(prefixes)]
    for network in excluded:
        rest = []
        for part in left:
            if part.version != network.version or not part.overlaps(network):
                rest.append(part)
            elif network.subnet_of(part) and network != part:
                rest.extend(part.address_exclude(network))
        left = rest
    return collapsed(left)


@given(some, some)
def test_operators_are_by_address(left, right):
    a, b = fibula.PrefixSet(left), fibula.PrefixSet(map(str, right))
    assert list(a) == collapsed(left)
    assert list(a | b) == collapsed(left + right)
    assert list(a - b) == without(left, right)
    assert a & b == a - (a - b)
    assert a ^ b == (a | b) - (a & b)
    assert ~(a | b) == ~a & ~b
    assert a == fibula.PrefixSet(a) == pickle.loads(pickle.dumps(a)) == copy.copy(a)
    assert hash(a) == hash(fibula.PrefixSet(collapsed(left)))
    assert len(a) == len(list(a))
    assert a.address_count == sum(ipaddress.ip_network(text).num_addresses for text in a)
    for network in left:
        assert network in a
        assert network[0] in a
        assert (network in b) == (not without([network], right))


@given(st.dictionaries(networks, st.integers(0, 9), max_size=20), some)
def test_a_table_and_a_set_keep_the_values_of_addresses(routes, other):
    table, other_set = fibula.Table(routes), fibula.PrefixSet(other)
    within, outside = table & other_set, table - other_set
    edges = {n[i] for n in [*routes, *other] for i in (0, -1)}
    for address in edges:
        best = longest(routes, address)
        expected = None if best is None else routes[best]
        assert within.get(address) == (expected if address in other_set else None)
        assert outside.get(address) == (None if address in other_set else expected)
        assert (address in ~table) == (best is None)
    assert fibula.PrefixSet(within) == other_set & table
    same = table & fibula.Table(dict.fromkeys(other, 0))
    assert same == within
    for network in [*routes, *other]:
        assert table.covers(network) == (network in fibula.PrefixSet(table))


def test_the_union_of_tables_has_the_later_value():
    a = fibula.Table({"10.0.0.0/8": "a", "10.1.0.0/16": "a"})
    b = fibula.Table({"10.1.0.0/16": "b", "2001:db8::/32": "b"})
    assert dict((a | b).routes) == {"10.0.0.0/8": "a", "10.1.0.0/16": "b", "2001:db8::/32": "b"}
    assert len(a) == len(b) == 2


def test_all_addresses():
    assert list(~fibula.PrefixSet()) == ["0.0.0.0/0", "::/0"]
    assert (~fibula.PrefixSet()).address_count == 2**128 + 2**32
    assert repr(fibula.PrefixSet(["10.0.0.0/8"])) == "PrefixSet(['10.0.0.0/8'])"
    shown = "PrefixSet(['0.0.0.0/5', '8.0.0.0/7', '11.0.0.0/8', ...])"
    assert repr(~fibula.PrefixSet(["10.0.0.0/8"])) == shown


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="row 1: .*host bits"):
        fibula.PrefixSet(["10.0.0.0/8", "10.0.0.1/8"])
    table, numbers = fibula.Table({"10.0.0.0/8": 1}), {1}
    for operation in ("__and__", "__or__", "__sub__"):
        assert getattr(table, operation)(numbers) is NotImplemented
    with pytest.raises(TypeError):
        fibula.PrefixSet() | numbers
    with pytest.raises(TypeError):
        table | fibula.PrefixSet()
    with pytest.raises(ValueError, match="no list of RPKI payloads"):
        fibula.Vrps(b"10.0.0.0/8 a\n")
    vrps = fibula.Vrps(b"ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,24\n")
    with pytest.raises(ValueError, match="10.0.0.0/8 names no origin"):
        vrps.validate(fibula.Table({"10.0.0.0/8": "corp"}))


asns = st.integers(64500, 64502)
payloads = st.lists(st.tuples(networks, asns | st.just(0), st.integers(0, 128)), max_size=12)


@given(payloads, st.dictionaries(networks, asns, min_size=1, max_size=12))
def test_validity_is_that_of_rfc_6811(payloads, routes):
    def longest_of(network, length):
        return min(network.max_prefixlen, max(network.prefixlen, length))

    payloads = [(network, asn, longest_of(network, length)) for network, asn, length in payloads]
    rows = [f"AS{asn},{network},{length}" for network, asn, length in payloads]
    vrps = fibula.Vrps("\n".join(["ASN,IP Prefix,Max Length", *rows]).encode())
    expected = {}
    for prefix, origin in routes.items():
        covering = [
            (asn, length)
            for network, asn, length in payloads
            if network.version == prefix.version and prefix.subnet_of(network)
        ]
        same = [length for asn, length in covering if asn == origin]
        if any(prefix.prefixlen <= length for length in same):
            state = "valid"
        elif same:
            state = "invalid-length"
        else:
            state = "invalid-as" if covering else "not-found"
        expected[str(prefix)] = state
        assert vrps.validity(prefix, origin) == state
        assert vrps.validity(prefix, None) == ("invalid-as" if covering else "not-found")
    assert dict(vrps.validate(fibula.Table(routes)).routes) == expected


def test_several_origins_have_several_answers():
    vrps = fibula.Vrps(b"ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,24\n")
    table = fibula.Table({"192.0.2.0/24": [64500, 64501], "198.51.100.0/24": {"origin_as": 64500}})
    assert list(vrps.validate(table).routes.values()) == [["valid", "invalid-as"], "not-found"]
