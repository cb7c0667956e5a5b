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

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "kernel.h"
#include "tables.h"

/* Why a packet went where it went: the indices of an interface's counters. */
enum reason {
    FORWARDED,
    LOCAL,        /* its route leads to the kernel */
    NO_ROUTE,
    UNRESOLVED,   /* the neighbour's MAC address is not known, or the interface cannot be redirected to */
    EXPIRED,      /* TTL or hop limit */
    TOO_BIG,      /* longer than the MTU */
    OPTIONS,      /* IPv4 options, IPv6 hop-by-hop options */
    MULTICAST,
    LINK_LOCAL,
    NOT_IP,
    OTHER_HOST,   /* the frame is for another MAC address */
    BLACKHOLE,
    MALFORMED,
    REASONS,
};

struct count {
    __u64 packets;
    __u64 bytes;
};

struct counts {
    struct count of[REASONS];
};

/* An interface, at its index in the kernel. */
struct interface {
    __u32 table;
    __u16 port; /* of its counters; 0 if packets of this interface are not forwarded */
    __u8 address[ETH_ALEN];
    __u32 unused;
};

/* A neighbour. */
struct neighbour {
    __u32 interface; /* 0: not resolved */
    __u16 mtu;
    __u16 vlan; /* the tag to push; 0: none, a tag has bit 15 set beside its 12 bits */
    __u8 destination[ETH_ALEN];
    __u8 source[ETH_ALEN];
    __u32 unused;
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
#define VLAN_ID 0x0fff

CELLS(interfaces);
CELLS(actions);
CELLS(buckets);
CELLS(adjacencies);

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_DEVMAP);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct bpf_devmap_val);
} devices SEC(".maps");

/* Counters outlive the program: they are pinned, and of fixed size. */
#define PORTS 256
#define COUNTED_NEXT_HOPS 65536

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, PORTS);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct counts);
} of_ports SEC(".maps");

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

struct tag {
    __be16 control;
    __be16 protocol;
};

/* A packet on its way. */
struct packet {
    __u32 port;
    __u32 bytes;  /* the length of the frame */
    __u32 length; /* from the IP header on */
    __u32 tags;   /* VLAN tags of the frame */
    __u64 flow;   /* addresses, protocol and ports, mixed */
};

INLINE __u64 mixed(__u64 value)
{
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15ull;
    value ^= value >> 29;
    value *= 0xbf58476d1ce4e5b9ull;
    return value ^ value >> 32;
}

INLINE int finish(const struct packet *packet, enum reason reason, int verdict)
{
    struct counts *counts = bpf_map_lookup_elem(&of_ports, &packet->port);
    if (counts) {
        counts->of[reason].packets++;
        counts->of[reason].bytes += packet->bytes;
    }
    return verdict;
}

/* Where the packets of a next hop go, or why they do not leave. */
INLINE enum reason adjacency_of(const struct packet *packet, __u32 next_hop, struct neighbour *neighbour)
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
        index += (__u32)(mixed(packet->flow) >> 32) & ((1u << bits) - 1);
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
    int removed = ((int)packet->tags - tags) * (int)sizeof(struct tag);
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

/* Sends a packet to a next hop, or says why not. `life` is the TTL or hop limit. */
INLINE int send(struct xdp_md *ctx, const struct packet *packet, __u32 next_hop, __u8 life, __be16 protocol)
{
    struct neighbour neighbour;
    struct count *count;
    enum reason reason = adjacency_of(packet, next_hop, &neighbour);

    if (reason != FORWARDED)
        return finish(packet, reason, reason == BLACKHOLE ? XDP_DROP : XDP_PASS);
    if (life <= 1)
        return finish(packet, EXPIRED, XDP_PASS);
    if (packet->length > neighbour.mtu)
        return finish(packet, TOO_BIG, XDP_PASS);
    if (bpf_redirect_map(&devices, neighbour.interface, XDP_PASS) != XDP_REDIRECT)
        return finish(packet, UNRESOLVED, XDP_PASS);
    if (protocol == NET16(ETH_P_IP)) {
        struct iphdr *ip = framed(ctx, packet, &neighbour, protocol, sizeof(*ip));
        __u32 check;
        if (!ip)
            return finish(packet, UNRESOLVED, XDP_PASS);
        /* The TTL is the high byte of its word: one less there is 0x100 more in the checksum
         * (RFC 1141). A header that came with a wrong checksum leaves with one. */
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

/* The ports of a packet, where its protocol has some. */
INLINE __u32 ports_of(__u8 protocol, const __u32 *ports, const void *end)
{
    int has_ports = protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
                    protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP;
    return has_ports && (const void *)(ports + 1) <= end ? *ports : 0;
}

typedef __u32 (*lookup4)(struct xdp_md *ctx, __u32 table, __u32 address);
typedef __u32 (*lookup6)(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address);

INLINE int forward4(struct xdp_md *ctx, struct packet *packet, __u32 table, struct iphdr *ip, void *end, lookup4 lookup)
{
    __u32 destination;
    __u8 life;

    if ((void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
        return finish(packet, MALFORMED, XDP_DROP);
    packet->length = NET16(ip->tot_len);
    if (packet->length < (__u32)ip->ihl * 4 || packet->length > end - (void *)ip)
        return finish(packet, MALFORMED, XDP_DROP);
    if (ip->ihl != 5)
        return finish(packet, OPTIONS, XDP_PASS);
    destination = NET32(ip->daddr);
    if (destination >> 28 >= 14)
        return finish(packet, MULTICAST, XDP_PASS);
    if (destination >> 16 == 0xa9fe)
        return finish(packet, LINK_LOCAL, XDP_PASS);
    packet->flow = (__u64)ip->saddr << 32 | ip->daddr;
    if (!(ip->frag_off & NET16(0x3fff)))
        packet->flow = mixed(packet->flow) ^ ports_of(ip->protocol, (void *)(ip + 1), end);
    packet->flow += ip->protocol;
    life = ip->ttl;
    return send(ctx, packet, lookup(ctx, table, destination), life, NET16(ETH_P_IP));
}

INLINE int forward6(struct xdp_md *ctx, struct packet *packet, __u32 table, struct ipv6hdr *ip, void *end, lookup6 lookup)
{
    struct fibula_ipv6 destination;
    __u64 *source, *words;
    __u8 life;

    if ((void *)(ip + 1) > end || ip->version != 6)
        return finish(packet, MALFORMED, XDP_DROP);
    packet->length = NET16(ip->payload_len) + sizeof(*ip);
    if (packet->length > end - (void *)ip)
        return finish(packet, MALFORMED, XDP_DROP);
    if (ip->nexthdr == IPPROTO_HOPOPTS)
        return finish(packet, OPTIONS, XDP_PASS);
    source = (void *)&ip->saddr;
    words = (void *)&ip->daddr;
    destination.high = NET64(words[0]);
    destination.low = NET64(words[1]);
    if (destination.high >> 56 == 0xff)
        return finish(packet, MULTICAST, XDP_PASS);
    if (destination.high >> 54 == 0xfe80 >> 6 || NET64(source[0]) >> 54 == 0xfe80 >> 6)
        return finish(packet, LINK_LOCAL, XDP_PASS);
    packet->flow = mixed(source[0] ^ mixed(source[1])) ^ mixed(words[0] + mixed(words[1] + 1));
    packet->flow += (__u64)ports_of(ip->nexthdr, (void *)(ip + 1), end) << 8 | ip->nexthdr;
    life = ip->hop_limit;
    return send(ctx, packet, lookup(ctx, table, destination), life, NET16(ETH_P_IPV6));
}

INLINE int is_tag(__be16 protocol)
{
    return protocol == NET16(ETH_P_8021Q) || protocol == NET16(ETH_P_8021AD);
}

/* Forwards a packet by two lookups. They are constants wherever this is inlined. */
INLINE int forward(struct xdp_md *ctx, lookup4 lookup_ipv4, lookup6 lookup_ipv6)
{
    void *data = (void *)(long)ctx->data;
    void *end = (void *)(long)ctx->data_end;
    struct interface interface = READ(struct interface, ((struct cells){&interfaces, 0}), ctx->ingress_ifindex);
    struct packet packet = {.port = interface.port, .bytes = end - data};
    struct ethhdr *ethernet = data;
    __u32 *ours = (void *)interface.address, *theirs = (void *)ethernet->h_dest;
    void *header = ethernet + 1;
    __be16 protocol;

    if (!interface.port)
        return XDP_PASS;
    if (header > end)
        return finish(&packet, MALFORMED, XDP_DROP);
    if (ethernet->h_dest[0] & 1)
        return finish(&packet, MULTICAST, XDP_PASS);
    if (*theirs != *ours || *(__u16 *)(theirs + 1) != *(__u16 *)(ours + 1))
        return finish(&packet, OTHER_HOST, XDP_PASS);
    protocol = ethernet->h_proto;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        struct tag *tag = header;
        if (!is_tag(protocol))
            break;
        header = tag + 1;
        if (header > end)
            return finish(&packet, MALFORMED, XDP_DROP);
        protocol = tag->protocol;
        packet.tags++;
    }
    if (protocol == NET16(ETH_P_IP))
        return forward4(ctx, &packet, interface.table, header, end, lookup_ipv4);
    if (protocol == NET16(ETH_P_IPV6))
        return forward6(ctx, &packet, interface.table, header, end, lookup_ipv6);
    return finish(&packet, NOT_IP, XDP_PASS);
}

#endif
