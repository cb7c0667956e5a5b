/* What happens to a packet: forwarded, dropped, or handed up to the kernel as it came.
 *
 *   frame ─▶ interface ─▶ header ─▶ policy ─▶ lookup ─▶ action ─▶ bucket ─▶ adjacency ─▶ devmap
 *               │            │         │         │         │                    │
 *               └────────────┴─────────┴─────────┴─────────┴────────────────────┴─▶ the kernel, or
 *                                                                 dropped; counted by reason
 *
 * What an interface's policy (its ACL, and what sources may be) does not let pass is dropped before
 * anything else is made of a packet: the kernel, which gets what is not forwarded, has no such
 * policy.
 *
 * Nothing is written to a packet before it is certain that it leaves, so the kernel gets what
 * came.
 */
#ifndef FIBULA_FORWARD_H
#define FIBULA_FORWARD_H

#include "acl.h"
#include "flow.h"
#include "sample.h"
#include "tunnel.h"

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
    BY_KERNEL, /* to the kernel, which sends by the interfaces of these adjacencies */
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

/* Where the packets of a next hop go, or why they do not leave. */
INLINE enum reason adjacency_of(struct xdp_md *ctx, const struct packet *packet, struct fate *fate, __u32 next_hop,
                                __be16 protocol, struct neighbour *neighbour)
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
        __u32 at = sizeof(struct ethhdr) + packet->tags * sizeof(struct tag) + packet->outer;
        __u64 flow = flow_of(ctx, packet->header, at, protocol == NET16(ETH_P_IP)) ^ hash_mask;
        index += (__u32)(mixed(flow) >> 32) & ((1u << bits) - 1);
        index = READ(__u32, ((struct cells){&buckets, 0}), index);
    }
    adjacency = bytes_at((struct cells){&adjacencies, 0}, (__u64)index * CELL, CELL);
    if (!adjacency)
        return UNRESOLVED;
    *neighbour = *(const struct neighbour *)&adjacency->versions[adjacency->current & 1];
    fate->steps |= BY_LEG;
    fate->neighbour = *neighbour;
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
INLINE int send(struct xdp_md *ctx, const struct packet *packet, struct fate *fate, __u32 next_hop, __be16 protocol)
{
    struct neighbour neighbour;
    struct count *count;
    enum reason reason;

    fate->steps |= BY_ROUTE;
    fate->next_hop = next_hop;
    fate->header = sizeof(struct ethhdr) + packet->tags * sizeof(struct tag) + packet->outer;
    reason = adjacency_of(ctx, packet, fate, next_hop, protocol, &neighbour);
    if (reason != FORWARDED)
        return stays(packet, fate, reason);
    if (packet->life <= 1)
        return finish(packet, fate, EXPIRED, XDP_PASS);
    if (packet->length > neighbour.mtu)
        return finish(packet, fate, TOO_BIG, XDP_PASS);
    if (bpf_redirect_map(&devices, neighbour.interface, XDP_PASS) != XDP_REDIRECT)
        return finish(packet, fate, UNRESOLVED, XDP_PASS);
    /* What follows the packet is padding, which does not leave. */
    if (packet->excess && bpf_xdp_adjust_tail(ctx, -(int)packet->excess))
        return finish(packet, fate, UNRESOLVED, XDP_PASS);
    if (protocol == NET16(ETH_P_IP)) {
        struct iphdr *ip = framed(ctx, packet, &neighbour, protocol, sizeof(*ip));
        __u32 check;
        if (!ip)
            return finish(packet, fate, UNRESOLVED, XDP_PASS);
        /* The TTL is the high byte of its word: one less there is 0x100 more in the checksum
         * (RFC 1141). */
        ip->ttl--;
        check = ip->check + NET16(0x0100);
        ip->check = check + (check >= 0xffff);
    } else {
        struct ipv6hdr *ip = framed(ctx, packet, &neighbour, protocol, sizeof(*ip));
        if (!ip)
            return finish(packet, fate, UNRESOLVED, XDP_PASS);
        ip->hop_limit--;
    }
    count = bpf_map_lookup_elem(&of_next_hops, &next_hop);
    if (count) {
        count->packets++;
        count->bytes += packet->bytes;
    }
    return finish(packet, fate, FORWARDED, XDP_REDIRECT);
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

#define CHECKS4 (STRICT | LOOSE | KERNEL_STRICT | KERNEL_LOOSE | KERNEL_UNICAST)
#define CHECKS6 (STRICT | LOOSE)

/* Where the route of a source leads: whoever sends there, this plane or the kernel, and whether or
 * not the neighbour is resolved. */
enum source {
    NOWHERE, /* there is no route, or one by no interface: a blackhole, an error, an address of ours */
    ELSEWHERE,
    HERE,
};

/* The same, by an interface as routes name it. 0 is no interface's. */
CALLED __u32 source_of(__u32 next_hop, __u32 routed)
{
    __u32 action, bits;

    if (!next_hop)
        return NOWHERE;
    action = READ(__u32, ((struct cells){&actions, 0}), next_hop);
    if (action >> ACTION_KIND != FORWARD && action >> ACTION_KIND != BY_KERNEL)
        return NOWHERE;
    if (!routed)
        return ELSEWHERE;
    bits = action >> ACTION_BUCKETS & 15;
    for (__u32 bucket = 0; bucket < 1u << BUCKET_BITS_MAX; bucket++) {
        __u32 index = action & ACTION_INDEX;
        const volatile struct adjacency *adjacency;
        if (bucket >> bits)
            break;
        if (bits)
            index = READ(__u32, ((struct cells){&buckets, 0}), index + bucket);
        adjacency = bytes_at((struct cells){&adjacencies, 0}, (__u64)index * CELL, CELL);
        if (adjacency && adjacency->versions[adjacency->current & 1].routed == routed)
            return HERE;
    }
    return ELSEWHERE;
}

/* What a policy looks at: the interface, and where a packet of it begins. */
struct judged {
    __u32 header; /* the bytes before it */
    __u32 is_ipv4;
    __u32 bytes;
    __u32 length;
    __u32 acl; /* 0: none */
    __u32 table;
    __u32 rules;
    __u32 routed;
};

/* FORWARDED if a packet may come from a source by the interface; else why not. */
INLINE enum reason check_source(const struct judged *judged, struct fate *fate, __u32 rules, __u32 next_hop)
{
    __u32 found = source_of(next_hop, rules & (STRICT | KERNEL_STRICT) ? judged->routed : 0);

    fate->steps |= BY_SOURCE;
    fate->source = next_hop;
    if ((rules & STRICT && found != HERE) || (rules & LOOSE && found == NOWHERE))
        return SPOOFED;
    if ((rules & KERNEL_STRICT && found != HERE) || (rules & KERNEL_LOOSE && found == NOWHERE) ||
        (rules & KERNEL_UNICAST && next_hop && found == NOWHERE))
        return REVERSE_PATH;
    return FORWARDED;
}

/* What the policy of an interface says of a packet of IPv4. Its ACL comes first. Sources that only
 * a link has are not looked at: no router forwards such packets. */
INLINE enum reason judge4(const struct judged *judged, struct fate *fate, const struct iphdr *ip, const void *end)
{
    __u32 rules = judged->rules & CHECKS4, acl = judged->acl;

    if ((const void *)(ip + 1) > end)
        return DENIED;
    if (set_cells && acl) {
        struct looked looked = {.acl = acl};
        __u8 protocol;
        const void *payload = payload4(ip, &protocol);
        /* Of each ACL the tables of sources and of destinations come first. */
        looked.sets[SOURCE] = called4(2 * acl - 2, NET32(ip->saddr));
        looked.sets[DESTINATION] = called4(2 * acl - 1, NET32(ip->daddr));
        look(&looked, judged->length, protocol, payload, end);
        if (!is_permitted(&looked, fate, judged->bytes))
            return DENIED;
    }
    if (!has_checks || !rules || !ip->saddr)
        return FORWARDED;
    return check_source(judged, fate, rules, called4(judged->table, NET32(ip->saddr)));
}

/* The same of IPv6. */
INLINE enum reason judge6(const struct judged *judged, struct fate *fate, const struct ipv6hdr *ip, const void *end)
{
    __u32 rules = judged->rules & CHECKS6, acl = judged->acl;
    struct fibula_ipv6 source;

    if ((const void *)(ip + 1) > end)
        return DENIED;
    if (set_cells && acl && !is_discovery(ip, end)) {
        struct looked looked = {.acl = acl};
        __u8 protocol;
        int is_cut;
        const void *payload = payload6(ip, end, &protocol, &is_cut);
        looked.sets[SOURCE] = beside6(2 * acl - 2, &ip->saddr);
        looked.sets[DESTINATION] = beside6(2 * acl - 1, &ip->daddr);
        look(&looked, judged->length, protocol, payload, end);
        if (!is_permitted(&looked, fate, judged->bytes))
            return DENIED;
    }
    source = address6(&ip->saddr);
    if (!has_checks || !rules || is_link_local6(source.high) || !(source.high | source.low))
        return FORWARDED;
    return check_source(judged, fate, rules, called6(judged->table, source.high, source.low));
}

/* What the policy of an interface says of a packet, wherever that goes then. FORWARDED: it lets the
 * packet pass. REVERSE_PATH: that is for the kernel to say. */
INLINE __u32 judge_by(struct xdp_md *ctx, const struct judged *judged, struct fate *fate)
{
    const void *header = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

    /* The verifier wants to see that the header is near. */
    if (!judged || judged->header > ETH_HLEN + TAGS_MAX * sizeof(struct tag))
        return DENIED;
    header += judged->header;
    return judged->is_ipv4 ? judge4(judged, fate, header, end) : judge6(judged, fate, header, end);
}

CALLED __u32 judge(struct xdp_md *ctx, const struct judged *judged)
{
    struct fate unread;

    return judge_by(ctx, judged, &unread);
}

typedef __u32 (*lookup4)(struct xdp_md *ctx, __u32 table, __u32 address);
typedef __u32 (*lookup6)(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address);

typedef __u32 (*judge_of)(struct xdp_md *ctx, const struct judged *judged, struct fate *fate);
typedef void (*see)(struct xdp_md *ctx, const struct interface *interface, const struct packet *packet,
                    enum reason reason, struct fate *fate);

/* What a program consists of. They are constants wherever this is inlined. */
struct steps {
    lookup4 ipv4;
    lookup6 ipv6;
    judge_of judge;
    see see; /* is called for each packet of an interface of the plane, before anything is decided */
};

/* Decides about a packet. */
INLINE int decide(struct xdp_md *ctx, const struct steps steps, struct fate *fate)
{
    struct interface interface = READ(struct interface, ((struct cells){&interfaces, 0}), ctx->ingress_ifindex);
    struct packet packet = {};
    enum reason reason, judged = FORWARDED;
    __u32 next_hop, acl;

    if (!interface.port && !has_vlans)
        return XDP_PASS;
    reason = read(ctx, &interface, &packet);
    /* Of a trunk perhaps only the VLANs are the plane's. A frame of too many tags may be theirs. */
    if (!packet.port)
        return reason == MALFORMED && packet.tags == TAGS_MAX ? XDP_DROP : XDP_PASS;
    if (sample_rate)
        sample(ctx, interface.routed ? interface.routed : ctx->ingress_ifindex);
    acl = interface.table >> ACL_SHIFT;
    interface.table &= (1u << ACL_SHIFT) - 1;
    steps.see(ctx, &interface, &packet, reason, fate);
    if ((set_cells || has_checks) && is_judged(&packet, reason)) {
        struct judged what = {
            .header = ETH_HLEN + packet.tags * sizeof(struct tag),
            .is_ipv4 = packet.protocol == NET16(ETH_P_IP),
            .bytes = packet.bytes,
            .length = packet.length,
            .acl = acl,
            .table = interface.table,
            .rules = interface.rules,
            .routed = interface.routed,
        };
        /* What the verifier does not know the bounds of is no index of a counter. */
        switch (steps.judge(ctx, &what, fate)) {
        case FORWARDED:
            break;
        case REVERSE_PATH:
            judged = REVERSE_PATH;
            break;
        case SPOOFED:
            return stays(&packet, fate, SPOOFED);
        default:
            return stays(&packet, fate, DENIED);
        }
    }
    if (reason == FORWARDED)
        reason = is_off(&interface, &packet) ? FORWARDING_OFF : judged;
    if (reason != FORWARDED)
        return stays(&packet, fate, reason);
    if (has_tunnels && packet.protocol == NET16(ETH_P_IP)) {
        reason = leave_tunnel(ctx, &packet);
        if (reason == FORWARDED && is_off(&interface, &packet))
            reason = FORWARDING_OFF;
        if (reason != FORWARDED)
            return stays(&packet, fate, reason);
    }
    /* The headers were checked. The verifier may have lost sight of that on the way. */
    if (packet.protocol == NET16(ETH_P_IP)) {
        if ((const void *)((const struct iphdr *)packet.header + 1) > (const void *)(long)ctx->data_end)
            return stays(&packet, fate, MALFORMED);
        next_hop = steps.ipv4(ctx, interface.table, destination4(packet.header));
        return send(ctx, &packet, fate, next_hop, NET16(ETH_P_IP));
    }
    if ((const void *)((const struct ipv6hdr *)packet.header + 1) > (const void *)(long)ctx->data_end)
        return stays(&packet, fate, MALFORMED);
    next_hop = steps.ipv6(ctx, interface.table, address6(&((const struct ipv6hdr *)packet.header)->daddr));
    return send(ctx, &packet, fate, next_hop, NET16(ETH_P_IPV6));
}

INLINE __u32 judge_alone(struct xdp_md *ctx, const struct judged *judged, struct fate *fate)
{
    return judge(ctx, judged);
}

INLINE void see_nothing(struct xdp_md *ctx, const struct interface *interface, const struct packet *packet,
                        enum reason reason, struct fate *fate)
{
}

/* Forwards a packet by two lookups, and tells nobody. */
INLINE int forward(struct xdp_md *ctx, lookup4 ipv4, lookup6 ipv6)
{
    struct fate unread;

    return decide(ctx, (struct steps){ipv4, ipv6, judge_alone, see_nothing}, &unread);
}

#endif
