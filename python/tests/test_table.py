"""Single lookups, routes and changes, with `ipaddress` as the oracle."""

import copy
import gc
import ipaddress
import pickle
import weakref
from collections.abc import MutableMapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import addresses_near, longest, networks

import fibula

ROUTES = {"10.0.0.0/8": "corp", "10.1.0.0/16": "lab", "2001:db8::/32": "doc"}


def routes_of(table):
    return dict(table.routes.items())


@given(st.dictionaries(networks, st.integers(0, 5), max_size=40), st.data())
def test_every_question_has_the_oracles_answer(routes, data):
    table = fibula.Table(routes)
    assert len(table) == len(routes)
    for address in data.draw(addresses_near(routes)):
        best = longest(routes, address)
        expected = None if best is None else routes[best]
        family = address.version
        for form in (str(address), address, address.packed):
            assert table.get(form) == expected
            assert (form in table) == (best is not None)
            found = table.match(form)
            assert found == (None if best is None else (str(best), expected))
        assert table.get(int(address), family=family) == expected
        if best is None:
            with pytest.raises(KeyError):
                table[address]
        else:
            assert table[address] == expected


@given(st.dictionaries(networks, st.integers(), max_size=40), networks)
def test_routes_are_a_mapping_in_order(routes, prefix):
    table = fibula.Table(routes)
    order = sorted(routes, key=lambda n: (n.version, n))
    assert [ipaddress.ip_network(p) for p in table.routes] == order
    assert list(table.routes.items()) == [(str(n), routes[n]) for n in order]
    assert list(table.routes.values()) == [routes[n] for n in order]
    same = [n for n in order if n.version == prefix.version]
    covering = [n for n in same if prefix.subnet_of(n)]
    covered = [n for n in same if n.subnet_of(prefix)]
    by_length = sorted(covering, key=lambda n: -n.prefixlen)
    assert table.routes.covering(prefix) == [(str(n), routes[n]) for n in by_length]
    assert table.routes.covered(prefix) == [(str(n), routes[n]) for n in covered]
    assert (prefix in table.routes) == (prefix in routes)
    assert table.routes.get(prefix, "none") == routes.get(prefix, "none")


operations = st.lists(st.tuples(networks, st.none() | st.integers(0, 3)), max_size=60)


@given(operations, st.data())
def test_a_life_of_changes(operations, data):
    table, model = fibula.Table(), {}
    for network, value in operations:
        if value is None:
            assert table.routes.pop(network, None) == model.pop(network, None)
        else:
            table.insert(network, value)
            model[network] = value
        assert len(table) == len(model)
    assert routes_of(table) == {str(n): v for n, v in model.items()}
    for address in data.draw(addresses_near(model)):
        best = longest(model, address)
        assert table.get(address) == (None if best is None else model[best])
    assert set(table.values) - {None} == set(model.values())


@given(st.dictionaries(networks, st.integers(0, 3)), st.dictionaries(networks, st.integers(0, 3)))
def test_a_difference_leads_from_one_to_the_other(one, other):
    a, b = fibula.Table(one), fibula.Table(other)
    differences = a.diff(b)
    assert (a == b) == (one == other) == (not differences)
    for kind, prefix, before, after in differences:
        network = ipaddress.ip_network(prefix)
        assert (before, after) == (one.get(network), other.get(network))
        assert kind == (
            "added" if network not in one else "removed" if network not in other else "changed"
        )
    a.update(differences)
    assert a == b
    assert routes_of(a) == routes_of(b)


@given(st.dictionaries(networks, st.integers(0, 2), max_size=30), st.data())
def test_an_aggregate_answers_the_same(routes, data):
    table = fibula.Table(routes)
    smallest = table.aggregate()
    assert len(smallest) <= len(table)
    for address in data.draw(addresses_near(routes)):
        assert smallest.get(address) == table.get(address)


@given(st.dictionaries(networks, st.none() | st.integers() | st.tuples(st.text()), max_size=30))
def test_pickles_and_copies(routes):
    table = fibula.Table(routes)
    expected = {str(n): v for n, v in routes.items()}
    for twin in (
        pickle.loads(pickle.dumps(table)),
        copy.copy(table),
        copy.deepcopy(table),
        table.copy(),
        fibula.Table(table),
        fibula.Table(table.routes),
    ):
        assert twin == table
        assert routes_of(twin) == expected
        twin.insert("192.0.2.0/24", "new")
        twin.routes.clear()
        assert len(twin) == 0
        assert routes_of(table) == expected


def test_many_routes_change_beside_the_table():
    prefixes = [f"10.{i >> 8}.{i & 255}.0/24" for i in range(65536)]
    table = fibula.Table({"0.0.0.0/0": "default"})
    table.update((prefix, prefix) for prefix in prefixes)
    assert len(table) == 65537
    assert table["10.77.88.99"] == "10.77.88.0/24"
    assert table["11.0.0.0"] == "default"
    table.update({"10.77.88.0/24": "changed"})
    assert table["10.77.88.99"] == "changed"
    table.routes.clear()
    assert (len(table), table.values.count(None)) == (0, len(table.values))


def test_values_are_the_objects_themselves():
    shared, other = {"site": 7}, [1]
    table = fibula.Table([("10.0.0.0/8", shared), ("11.0.0.0/8", shared), ("12.0.0.0/8", other)])
    assert table["10.0.0.1"] is shared is table["11.0.0.1"]
    assert table.value_count() == 2
    # Equal but not the same type: each comes back as it went in.
    odd = [True, 1, 1.0, (1,), (True,), "1", b"1", None]
    table = fibula.Table((f"{i}.0.0.0/8", value) for i, value in enumerate(odd))
    back = [table[f"{i}.1.1.1"] for i in range(len(odd))]
    assert [(type(v), v) for v in back] == [(type(v), v) for v in odd]
    assert table.get("7.1.1.1", "default") is None


def test_equal_text_is_one_value():
    table = fibula.Table((f"{i}.0.0.0/8", f"peer {i % 3}") for i in range(100))
    assert table.value_count() == 3
    assert sorted(filter(None, table.values)) == ["peer 0", "peer 1", "peer 2"]


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        ("1.2.3", ValueError, "'1.2.3' is not an address"),
        ("01.2.3.4", ValueError, "'01.2.3.4' is not an address"),
        (" 1.2.3.4", ValueError, "' 1.2.3.4' is not an address"),
        ("fe80::1%eth0", ValueError, "'fe80::1%eth0' is not an address"),
        ("", ValueError, "'' is not an address"),
        ("\ud800", UnicodeEncodeError, "surrogates"),
        ("10.0.0.0/8", ValueError, "a prefix, which is a key of .routes"),
        (b"123", ValueError, "has 3 bytes, and an address 4 or 16"),
        (1, TypeError, "family=4 or family=6"),
        (1.5, TypeError, "not float"),
        (None, TypeError, "not NoneType"),
        ("x" * 1000, ValueError, "x...* is not an address"),
    ],
)
def test_what_is_no_address_is_named(key, error, text):
    table = fibula.Table(ROUTES)
    for ask in (table.get, table.match, table.__getitem__, table.__contains__):
        with pytest.raises(error, match=text):
            ask(key)


@pytest.mark.parametrize(
    ("number", "family", "text"),
    [
        (1 << 32, 4, "4294967296 is no ipv4 address"),
        (-1, 6, "-1 is no ipv6 address"),
        (1 << 128, 6, "is no ipv6 address"),
        ("::1", 4, "'::1' is no ipv4 address"),
        (ipaddress.ip_address("1.2.3.4"), 6, "is no ipv6 address"),
        (1, 5, "family is 4 or 6, not 5"),
    ],
)
def test_a_number_is_of_its_family(number, family, text):
    with pytest.raises(ValueError, match=text):
        fibula.Table().get(number, family=family)


@pytest.mark.parametrize(
    ("routes", "text"),
    [
        ([("10.0.0.0/8", 1), ("10.0.0.0/33", 2)], "row 1: '10.0.0.0/33': prefix length 33"),
        ({"10.0.0.1/8": 1}, "row 0: '10.0.0.1/8': .*host bits"),
        ([("10.0.0.0/8",)], "row 0: .* is not a prefix and a value"),
        ({"nonsense": 1}, "row 0: 'nonsense': .*expected address/length"),
    ],
)
def test_what_is_no_route_is_named_by_its_row(routes, text):
    with pytest.raises(ValueError, match=text):
        fibula.Table(routes)
    table = fibula.Table(ROUTES)
    with pytest.raises(ValueError, match=text):
        table.update(routes)
    assert routes_of(table) == ROUTES


def test_the_routes_are_a_mutable_mapping():
    table = fibula.Table(ROUTES)
    assert isinstance(table.routes, MutableMapping)
    with pytest.raises(KeyError, match=r"10\.9\.0\.0/16"):
        del table.routes["10.9.0.0/16"]
    with pytest.raises(TypeError, match="its .routes are"):
        iter(table)
    table.routes.update({"192.0.2.0/24": "test"})
    assert table.routes.setdefault("192.0.2.0/24", "x") == "test"
    assert table.routes.popitem() == ("10.0.0.0/8", "corp")
    assert ("192.0.2.0/24", "test") in table.routes.items()


def test_routes_may_change_while_one_walks_them():
    table = fibula.Table((f"10.{i >> 8}.{i & 255}.0/24", i) for i in range(2000))
    for count, prefix in enumerate(table.routes):
        del table.routes[prefix]
        assert count < 2000
    assert len(table) == 0


def test_texts():
    table = fibula.Table(ROUTES)
    assert repr(table) == "<fibula.Table: 2 IPv4 routes, 1 IPv6 routes, 3 values>"
    assert "<td>IPv4</td><td>2</td>" in table._repr_html_()
    assert repr(table.routes) == f"<routes of {table!r}>"


def test_a_table_in_its_own_values_is_collected():
    class Node:
        pass

    node, table = Node(), fibula.Table()
    node.table = table
    table.insert("10.0.0.0/8", node)
    gone = weakref.ref(node)
    del node, table
    gc.collect()
    assert gone() is None


class TestPytricia:
    """What pytricia answers wrongly, by the numbers of its tracker."""

    def test_29_families_do_not_mix(self):
        table = fibula.Table({"0.0.0.0/0": "four"})
        assert table.get("::1") is None
        assert "2001:db8::1" not in table

    def test_19_an_ipv6_prefix_does_not_answer_for_ipv4(self):
        table = fibula.Table({"a00::/8": "six", "10.0.0.0/8": "four"})
        assert table["10.0.0.1"] == "four"
        assert table["a00::1"] == "six"
        assert len(table) == 2

    def test_36_mapped_addresses_are_ipv6(self):
        table = fibula.Table({"192.0.2.0/24": "four", "::ffff:0:0/96": "mapped"})
        assert table["::ffff:192.0.2.1"] == "mapped"
        assert table["192.0.2.1"] == "four"

    def test_38_no_width_to_forget(self):
        table = fibula.Table()
        table.insert("2001:db8:1:2:3:4:5:6/128", "host")
        table.insert("2001:db8:1:2::/64", "net")
        assert list(table.routes) == ["2001:db8:1:2::/64", "2001:db8:1:2:3:4:5:6/128"]
        assert table["2001:db8:1:2:3:4:5:6"] == "host"
        assert table["2001:db8:1:2:3:4:5:7"] == "net"

    def test_20_a_pickle_comes_back(self):
        table = fibula.Table((f"10.{i >> 8}.{i & 255}.0/24", (i, "x")) for i in range(10000))
        table.insert("2001:db8::/32", "six")
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            twin = pickle.loads(pickle.dumps(table, protocol))
            assert twin == table
            assert twin["10.3.4.5"] == (772, "x")


@settings(max_examples=20)
@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_damaged_pickle_is_refused(ipv4, ipv6):
    try:
        table = fibula._fibula.restore_routes(ipv4, ipv6, ["none", "a", "b"])
    except ValueError as error:
        assert "damaged" in str(error)
    else:
        assert set(routes_of(table).values()) <= {"a", "b"}


def test_an_interface_with_host_bits_is_no_prefix():
    interface = ipaddress.ip_interface("10.0.0.1/8")
    with pytest.raises(ValueError, match=r"row 0: 10\.0\.0\.1/8 has bits set after its length"):
        fibula.Table({interface: 1})
    table = fibula.Table({ipaddress.ip_interface("10.0.0.0/8"): 1})
    assert list(table.routes) == ["10.0.0.0/8"]
    assert table[interface] == 1
