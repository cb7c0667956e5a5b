/* What happens to a packet: forwarded, dropped, or handed up to the kernel as it came.
 *
 *   frame ─▶ interface ─▶ header ─▶ lookup ─▶ action ─▶ bucket ─▶ adjacency ─▶ rewritten ─▶ devmap
 *               │            │         │         │                    │
 *               └────────────┴─────────┴─────────┴────────────────────┴──▶ the kernel, or dropped; counted by reason
 *
 * Nothing is written to a packet before it is certain that it leaves, so the kernel gets what
 * came.
 */
#ifndef FIBULA_FORWARD_H
#define FIBULA_FORWARD_H

#include "acl.h"
#include "sample.h"
#include "tunnel.h"

/* A neighbour. */
struct neighbour {
    __u32 interface; /* 0: not resolved */
    __u16 mtu;
    __u16 vlan; /* the tag to push; 0: none, a tag has bit 15 set beside its 12 bits */
    __u8 destination[ETH_ALEN];
    __u8 source[ETH_ALEN];
    __u32 routed; /* the index of the interface that routes name */
};

/* An adjacency: two versions and the index of the one that holds, in one cache line. A change
 * writes the other version, then the index. */
struct adjacency {
    __u32 current;
    __u32 unused;
    struct neighbour versions[2];
    __u32 unused_too[2];
};

/* An action, at the index of its next hop: what to do in the highest bits, the logarithm of the
 * number of buckets, and the index of the first bucket. With one bucket, that of the adjacency
 * instead. */
#define ACTION_KIND 30
#define ACTION_BUCKETS 26
#define ACTION_INDEX ((1u << ACTION_BUCKETS) - 1)
#define BUCKET_BITS_MAX 8

enum kind {
    TO_KERNEL,
    DROP,
    FORWARD,
};

#define VLAN_PUSHED 0x8000

CELLS(actions);
CELLS(buckets);
CELLS(adjacencies);

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_DEVMAP);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct bpf_devmap_val);
} devices SEC(".maps");

/* As the counters of interfaces: pinned, and of fixed size. */
#define COUNTED_NEXT_HOPS 65536

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, COUNTED_NEXT_HOPS);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct count);
} of_next_hops SEC(".maps");

/* No program reads this. The kernel waits for all running programs when a map in a map is
 * replaced. */
struct waited {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, __u32);
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_INNER(struct waited);
} grace SEC(".maps");

INLINE __u64 mixed(__u64 value)
{
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15ull;
    value ^= value >> 29;
    value *= 0xbf58476d1ce4e5b9ull;
    return value ^ value >> 32;
}

/* The ports of a packet, where its protocol has some. */
INLINE __u32 ports_of(__u8 protocol, const __u32 *ports, const void *end)
{
    int has_ports = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
                    protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP;
    return has_ports && (const void *)(ports + 1) <= end ? *ports : 0;
}

/* What tells flows apart: addresses; protocol and ports too; or those of the packet that IPIP or
 * GRE carries. */
enum hashed { L3, L4, INNER };
const volatile __u32 hashed = L4;

/* What each flow is combined with. */
const volatile __u64 hash_mask = 0;

/* What tells a packet's flow, mixed. Only next hops of several legs ask for it, so it is not read
 * with the rest of the header. */
INLINE __u64 flow4(const struct iphdr *ip, const void *end)
{
    __u64 flow = (__u64)ip->saddr << 32 | ip->daddr;
    if (hashed == L3)
        return flow;
    if (!is_part(ip))
        flow = mixed(flow) ^ ports_of(ip->protocol, (const void *)(ip + 1), end);
    return flow + ip->protocol;
}

/* The same of an IPv6 packet. */
INLINE __u64 flow6(const struct ipv6hdr *ip, const void *end)
{
    const __u64 *source = (const void *)&ip->saddr, *words = (const void *)&ip->daddr;
    __u64 flow = mixed(source[0] ^ mixed(source[1])) ^ mixed(words[0] + mixed(words[1] + 1));
    if (hashed == L3)
        return flow;
    return flow + ((__u64)ports_of(ip->nexthdr, (const void *)(ip + 1), end) << 8 | ip->nexthdr);
}

/* The flow of the packet in a tunnel's payload; that of the tunnel where it cannot be told. */
INLINE __u64 flow_inside(__u8 protocol, const void *payload, const void *end, __u64 tunnel)
{
    __be16 kind = 0;

    if (protocol == IPPROTO_IPIP) {
        kind = NET16(ETH_P_IP);
    } else if (protocol == IPPROTO_IPV6) {
        kind = NET16(ETH_P_IPV6);
    } else if (protocol == IPPROTO_GRE) {
        const __u8 *gre = payload;
        /* Not one with a source route, nor of PPTP. */
        if (gre + 4 > (const __u8 *)end || gre[0] & 0x40 || gre[1] & 7)
            return tunnel;
        kind = *(const __be16 *)(gre + 2);
        payload = gre + 4 + 4 * ((gre[0] >> 7) + (gre[0] >> 5 & 1) + (gre[0] >> 4 & 1));
    }
    if (kind == NET16(ETH_P_IP)) {
        const struct iphdr *ip = payload;
        /* The ports do not follow a header with options. */
        return (const void *)(ip + 1) <= end && *(const __u8 *)ip == 0x45 ? flow4(ip, end) : tunnel;
    }
    if (kind == NET16(ETH_P_IPV6)) {
        const struct ipv6hdr *ip = payload;
        return (const void *)(ip + 1) <= end && ip->version == 6 ? flow6(ip, end) : tunnel;
    }
    return tunnel;
}

/* What tells the flow of a packet that is forwarded. */
INLINE __u64 flow_of(const void *header, __be16 protocol, const void *end)
{
    if (protocol == NET16(ETH_P_IP)) {
        const struct iphdr *ip = header;
        __u64 flow = flow4(ip, end);
        return hashed == INNER && !is_part(ip) ? flow_inside(ip->protocol, ip + 1, end, flow) : flow;
    } else {
        const struct ipv6hdr *ip = header;
        __u64 flow = flow6(ip, end);
        return hashed == INNER ? flow_inside(ip->nexthdr, ip + 1, end, flow) : flow;
    }
}

/* Where the packets of a next hop go, or why they do not leave. */
INLINE enum reason adjacency_of(struct xdp_md *ctx, const struct packet *packet, __u32 next_hop, __be16 protocol,
                                struct neighbour *neighbour)
{
    __u32 action, index;
    const volatile struct adjacency *adjacency;

    if (!next_hop)
        return NO_ROUTE;
    action = READ(__u32, ((struct cells){&actions, 0}), next_hop);
    if (action >> ACTION_KIND != FORWARD)
        return action >> ACTION_KIND == DROP ? BLACKHOLE : LOCAL;
    index = action & ACTION_INDEX;
    if (action >> ACTION_BUCKETS & 15) {
        __u32 bits = action >> ACTION_BUCKETS & 15;
        const void *end = (void *)(long)ctx->data_end;
        __u64 flow = flow_of(packet->header, protocol, end) ^ hash_mask;
        index += (__u32)(mixed(flow) >> 32) & ((1u << bits) - 1);
        index = READ(__u32, ((struct cells){&buckets, 0}), index);
    }
    adjacency = bytes_at((struct cells){&adjacencies, 0}, (__u64)index * CELL, CELL);
    if (!adjacency)
        return UNRESOLVED;
    *neighbour = *(const struct neighbour *)&adjacency->versions[adjacency->current & 1];
    return neighbour->interface ? FORWARDED : UNRESOLVED;
}

/* Prepares the frame of a packet that leaves: makes room for the new Ethernet header or takes
 * room away, and writes it. Returns the header of `size` bytes after it; 0 if the frame has no
 * room, and is as it was. */
INLINE void *framed(struct xdp_md *ctx, const struct packet *packet, const struct neighbour *neighbour, __be16 protocol,
                    __u32 size)
{
    int tags = neighbour->vlan ? 1 : 0;
    int removed = ((int)packet->tags - tags) * (int)sizeof(struct tag) + (int)packet->outer;
    struct ethhdr *ethernet;
    void *header, *end;

    if (removed && bpf_xdp_adjust_head(ctx, removed))
        return 0;
    ethernet = (void *)(long)ctx->data;
    end = (void *)(long)ctx->data_end;
    if (tags) {
        struct tag *tag = (void *)(ethernet + 1);
        header = tag + 1;
        if (header + size > end)
            return 0;
        ethernet->h_proto = NET16(ETH_P_8021Q);
        tag->control = NET16(neighbour->vlan & VLAN_ID);
        tag->protocol = protocol;
    } else {
        header = ethernet + 1;
        if (header + size > end)
            return 0;
        ethernet->h_proto = protocol;
    }
    __builtin_memcpy(ethernet->h_dest, neighbour->destination, ETH_ALEN);
    __builtin_memcpy(ethernet->h_source, neighbour->source, ETH_ALEN);
    return header;
}

/* Sends a packet to a next hop, or says why not. */
INLINE int send(struct xdp_md *ctx, const struct packet *packet, __u32 next_hop, __be16 protocol)
{
    struct neighbour neighbour;
    struct count *count;
    enum reason reason = adjacency_of(ctx, packet, next_hop, protocol, &neighbour);

    if (reason != FORWARDED)
        return stays(packet, reason);
    if (packet->life <= 1)
        return finish(packet, EXPIRED, XDP_PASS);
    if (packet->length > neighbour.mtu)
        return finish(packet, TOO_BIG, XDP_PASS);
    if (bpf_redirect_map(&devices, neighbour.interface, XDP_PASS) != XDP_REDIRECT)
        return finish(packet, UNRESOLVED, XDP_PASS);
    /* What follows the packet is padding, which does not leave. */
    if (packet->excess && bpf_xdp_adjust_tail(ctx, -(int)packet->excess))
        return finish(packet, UNRESOLVED, XDP_PASS);
    if (protocol == NET16(ETH_P_IP)) {
        struct iphdr *ip = framed(ctx, packet, &neighbour, protocol, sizeof(*ip));
        __u32 check;
        if (!ip)
            return finish(packet, UNRESOLVED, XDP_PASS);
        /* The TTL is the high byte of its word: one less there is 0x100 more in the checksum
         * (RFC 1141). */
        ip->ttl--;
        check = ip->check + NET16(0x0100);
        ip->check = check + (check >= 0xffff);
    } else {
        struct ipv6hdr *ip = framed(ctx, packet, &neighbour, protocol, sizeof(*ip));
        if (!ip)
            return finish(packet, UNRESOLVED, XDP_PASS);
        ip->hop_limit--;
    }
    count = bpf_map_lookup_elem(&of_next_hops, &next_hop);
    if (count) {
        count->packets++;
        count->bytes += packet->bytes;
    }
    return finish(packet, FORWARDED, XDP_REDIRECT);
}

INLINE struct fibula_ipv6 address6(const struct in6_addr *address)
{
    const __u64 *words = (const void *)address;
    return (struct fibula_ipv6){.high = NET64(words[0]), .low = NET64(words[1])};
}

/* The answer for an address that is not what a packet is forwarded by. */
INLINE __u32 beside6(__u32 table, const struct in6_addr *address)
{
    struct fibula_ipv6 host = address6(address);
    return called6(table, host.high, host.low);
}

/* Whether any interface has rules about sources. Without them nothing of this is in the program. */
const volatile __u32 has_checks = 0;

/* Whether packets may come from where a next hop leads. */
enum source {
    EXPECTED,
    UNEXPECTED,
    UNKNOWN, /* the kernel knows: the next hop is its own, or not resolved */
};

/* The same, by one interface alone unless `routed` is 0. */
CALLED __u32 source_of(__u32 next_hop, __u32 routed)
{
    __u32 action, bits;
    enum source found = UNEXPECTED;

    if (!next_hop)
        return UNEXPECTED;
    action = READ(__u32, ((struct cells){&actions, 0}), next_hop);
    if (action >> ACTION_KIND != FORWARD)
        return action >> ACTION_KIND == DROP ? UNEXPECTED : UNKNOWN;
    if (!routed)
        return EXPECTED;
    bits = action >> ACTION_BUCKETS & 15;
    for (__u32 bucket = 0; bucket < 1u << BUCKET_BITS_MAX; bucket++) {
        __u32 index = action & ACTION_INDEX;
        const volatile struct adjacency *adjacency;
        const volatile struct neighbour *neighbour;
        if (bucket >> bits)
            break;
        if (bits)
            index = READ(__u32, ((struct cells){&buckets, 0}), index + bucket);
        adjacency = bytes_at((struct cells){&adjacencies, 0}, (__u64)index * CELL, CELL);
        if (!adjacency)
            return UNKNOWN;
        neighbour = &adjacency->versions[adjacency->current & 1];
        if (!neighbour->interface)
            found = UNKNOWN;
        else if (neighbour->routed == routed)
            return EXPECTED;
    }
    return found;
}

/* FORWARDED if a packet may come in where `next_hop` leads to its source; else why not. */
INLINE enum reason check_source(const struct interface *interface, __u32 next_hop, int is_ipv4)
{
    __u32 rules = interface->rules & (is_ipv4 ? STRICT | LOOSE | KERNEL_STRICT | KERNEL_LOOSE : STRICT | LOOSE);
    int is_ours = rules & STRICT || (rules & LOOSE && !(rules & KERNEL_STRICT));

    switch (source_of(next_hop, rules & (STRICT | KERNEL_STRICT) ? interface->routed : 0)) {
    case EXPECTED:
        return FORWARDED;
    case UNEXPECTED:
        return is_ours ? SPOOFED : REVERSE_PATH;
    default:
        return REVERSE_PATH;
    }
}

typedef __u32 (*lookup4)(struct xdp_md *ctx, __u32 table, __u32 address);
typedef __u32 (*lookup6)(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address);

/* Whether the ACL of an interface, which has one, lets a packet pass. */
INLINE int passes(struct xdp_md *ctx, __u32 acl, const struct packet *packet)
{
    const void *end = (void *)(long)ctx->data_end;
    struct looked looked = {.acl = acl};
    const void *payload;
    __u8 protocol;

    /* Of each ACL the tables of sources and of destinations come first. */
    if (packet->protocol == NET16(ETH_P_IP)) {
        const struct iphdr *ip = packet->header;
        if ((const void *)(ip + 1) > end)
            return 0;
        looked.sets[SOURCE] = called4(2 * acl - 2, NET32(ip->saddr));
        looked.sets[DESTINATION] = called4(2 * acl - 1, NET32(ip->daddr));
        payload = payload4(ip, &protocol);
        look(&looked, packet, protocol, payload, end);
    } else {
        const struct ipv6hdr *ip = packet->header;
        if ((const void *)(ip + 1) > end)
            return 0;
        looked.sets[SOURCE] = beside6(2 * acl - 2, &ip->saddr);
        looked.sets[DESTINATION] = beside6(2 * acl - 1, &ip->daddr);
        payload = payload6(ip, end, &protocol);
        look(&looked, packet, protocol, payload, end);
    }
    return is_permitted(&looked, packet);
}

/* Forwards a packet by two lookups. They are constants wherever this is inlined. */
INLINE int forward(struct xdp_md *ctx, lookup4 lookup_ipv4, lookup6 lookup_ipv6)
{
    struct interface interface = READ(struct interface, ((struct cells){&interfaces, 0}), ctx->ingress_ifindex);
    struct packet packet = {};
    enum reason reason;
    __u32 next_hop, acl;

    if (!interface.port && !has_vlans)
        return XDP_PASS;
    reason = read(ctx, &interface, &packet);
    /* Of a trunk perhaps only the VLANs are the plane's. */
    if (!packet.port)
        return XDP_PASS;
    if (sample_rate)
        sample(ctx, interface.routed ? interface.routed : ctx->ingress_ifindex);
    acl = interface.table >> ACL_SHIFT;
    interface.table &= (1u << ACL_SHIFT) - 1;
    if (set_cells && acl && (reason == FORWARDED || reason == OPTIONS) && !passes(ctx, acl, &packet))
        return stays(&packet, DENIED);
    if (reason == FORWARDED && is_off(&interface, &packet))
        reason = FORWARDING_OFF;
    if (reason != FORWARDED)
        return stays(&packet, reason);
    if (packet.protocol == NET16(ETH_P_IP)) {
        if (has_checks && interface.rules & (STRICT | LOOSE | KERNEL_STRICT | KERNEL_LOOSE)) {
            next_hop = called4(interface.table, NET32(((const struct iphdr *)packet.header)->saddr));
            reason = check_source(&interface, next_hop, 1);
            if (reason != FORWARDED)
                return stays(&packet, reason);
        }
        if (has_tunnels) {
            reason = leave_tunnel(ctx, &packet);
            if (reason == FORWARDED && is_off(&interface, &packet))
                reason = FORWARDING_OFF;
            if (reason != FORWARDED)
                return stays(&packet, reason);
        }
    }
    if (packet.protocol == NET16(ETH_P_IP)) {
        if (has_tunnels && (const void *)((const struct iphdr *)packet.header + 1) > (const void *)(long)ctx->data_end)
            return stays(&packet, MALFORMED);
        next_hop = lookup_ipv4(ctx, interface.table, destination4(packet.header));
        return send(ctx, &packet, next_hop, NET16(ETH_P_IP));
    }
    /* It was checked. The verifier may have lost sight of that on the way. */
    if ((const void *)((const struct ipv6hdr *)packet.header + 1) > (const void *)(long)ctx->data_end)
        return stays(&packet, MALFORMED);
    /* Of a tunnel the source of its own packets was looked at. */
    if (has_checks && interface.rules & (STRICT | LOOSE) && !packet.outer) {
        next_hop = beside6(interface.table, &((const struct ipv6hdr *)packet.header)->saddr);
        reason = check_source(&interface, next_hop, 0);
        if (reason != FORWARDED)
            return stays(&packet, reason);
    }
    next_hop = lookup_ipv6(ctx, interface.table, address6(&((const struct ipv6hdr *)packet.header)->daddr));
    return send(ctx, &packet, next_hop, NET16(ETH_P_IPV6));
}

#endif
