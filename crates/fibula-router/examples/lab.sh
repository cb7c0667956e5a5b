#!/bin/sh
# A client, a router and a server in network namespaces, as docs/router.md draws them.
#   lab.sh        makes them (again)
#   lab.sh down   removes them
set -eu
for end in client router server; do ip netns del "$end" 2> /dev/null || true; done
[ "${1:-up}" = up ] || exit 0
for end in client router server; do
    ip netns add "$end"
    ip -n "$end" link set lo up
done
join() {    # join END INTERFACE ADDRESS ROUTER-INTERFACE ROUTER-ADDRESS: a link, and a default route by it
    ip link add "$2" netns "$1" type veth peer name "$4" netns router
    ip -n "$1" address add "$3/24" dev "$2"
    ip -n router address add "$5/24" dev "$4"
    ip -n "$1" link set "$2" up
    ip -n router link set "$4" up
    ip -n "$1" route add default via "$5"
    # A veth leaves checksums of UDP and TCP to a device, which a packet by AF_XDP never meets.
    ip netns exec "$1" ethtool -K "$2" tx off > /dev/null
}
join client c0 10.1.0.2 r0 10.1.0.1
join server s0 10.2.0.2 r1 10.2.0.1
ip -n server address add 10.64.0.1/32 dev lo
ip -n router route add 10.64.0.0/10 via 10.2.0.2
# What the program hands up is for the kernel to forward.
ip netns exec router sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
