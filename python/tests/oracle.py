"""`ipaddress` as the oracle: strategies of networks, and the longest match by trying all."""

import ipaddress

from hypothesis import strategies as st


def _network(version, bits):
    kind = {4: ipaddress.IPv4Network, 6: ipaddress.IPv6Network}[version]
    # Few distinct addresses, so that prefixes nest.
    high = st.sampled_from([0, 10, 11, 32, 127, 128, 255]).map(lambda byte: byte << (bits - 8))
    low = st.integers(0, (1 << bits) - 1)
    address = st.one_of(high, low, st.builds(lambda a, b: a | (b & 0xFFFF), high, low))
    return st.builds(
        lambda address, length: kind((address, length), strict=False),
        address,
        st.integers(0, bits),
    )


networks = st.one_of(_network(4, 32), _network(6, 128))


def longest(routes, address):
    """Return the longest network of `routes` that contains `address`."""
    same = (n for n in routes if n.version == address.version and address in n)
    return max(same, key=lambda n: n.prefixlen, default=None)


def addresses_near(routes):
    """Lists of addresses at and beside the ends of networks, and anywhere."""
    near = [ipaddress.ip_address("::ffff:10.0.0.1"), ipaddress.ip_address("10.0.0.1")]
    for network in routes:
        kind = type(network[0])
        for end in (int(network[0]), int(network[-1])):
            near += [
                kind(number)
                for number in (end - 1, end, end + 1)
                if 0 <= number < 1 << network.max_prefixlen
            ]
    return st.lists(st.sampled_from(near) | st.ip_addresses(), min_size=1, max_size=20)
