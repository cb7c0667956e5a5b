/* Tunnels that end here: the packets that IPIP and GRE carry. */
#ifndef FIBULA_TUNNEL_H
#define FIBULA_TUNNEL_H

#include "packets.h"

/* Whether there are any. Without them nothing of this is in the program. */
const volatile __u32 has_tunnels = 0;

/* The two ends of a tunnel, in network byte order. */
struct ends {
    __be32 local;
    __be32 remote;
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, struct ends);
    MAP_TYPE(value, __u32);
} tunnels SEC(".maps");

#define CONGESTED 3

/* Goes from a packet of a tunnel to the packet that it carries; FORWARDED if that can be forwarded,
 * or there is none. Parts, marks of congestion, and GRE with more than the protocol are left as
 * they are: their routes lead to the kernel. */
INLINE enum reason leave_tunnel(struct xdp_md *ctx, struct packet *packet)
{
    const void *end = (void *)(long)ctx->data_end;
    const struct iphdr *ip = packet->header;
    __u32 outer = sizeof(*ip), size = packet->length, excess = packet->excess;
    struct ends ends;
    enum reason reason;
    __be16 kind = 0;

    if ((const void *)(ip + 1) > end)
        return MALFORMED;
    if (ip->protocol == IPPROTO_IPIP) {
        kind = NET16(ETH_P_IP);
    } else if (ip->protocol == IPPROTO_IPV6) {
        kind = NET16(ETH_P_IPV6);
    } else if (ip->protocol == IPPROTO_GRE) {
        const __be16 *gre = (const void *)(ip + 1);
        if ((const void *)(gre + 2) > end || gre[0])
            return FORWARDED;
        kind = gre[1];
        outer += 4;
    }
    if ((kind != NET16(ETH_P_IP) && kind != NET16(ETH_P_IPV6)) || is_part(ip) || (ip->tos & 3) == CONGESTED)
        return FORWARDED;
    ends = (struct ends){.local = ip->daddr, .remote = ip->saddr};
    if (!bpf_map_lookup_elem(&tunnels, &ends))
        return FORWARDED;
    if (size < outer)
        return MALFORMED;
    packet->header = (void *)ip + outer;
    packet->protocol = kind;
    packet->outer = outer;
    if (kind == NET16(ETH_P_IP))
        reason = read4(packet, packet->header, size - outer, end);
    else
        reason = read6(packet, packet->header, size - outer, end);
    packet->excess += excess;
    return reason;
}

#endif
