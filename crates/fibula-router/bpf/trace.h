/* Traces: the fates of packets that somebody looks for. The program that traces decides as the one
 * that forwards does, and takes its place only as long as somebody looks.
 */
#ifndef FIBULA_TRACE_H
#define FIBULA_TRACE_H

#include "forward.h"

/* What is looked for: these fields must match. */
#define OF_IPV4 1
#define OF_IPV6 2
#define OF_PROTOCOL 4
#define OF_SOURCE_PORT 8
#define OF_DESTINATION_PORT 16
#define OF_LENGTH 32
#define OF_INTERFACE 64
/* Other packets than those of IP too: no field of a packet is asked for. */
#define OF_ANY 128

/* The packets that are looked for, as words. Addresses are as packets have them; of IPv4 the first
 * word. */
struct wanted {
    __u32 fields;
    __u32 reasons; /* a bit for each */
    __u32 protocol;
    __u32 interface;
    struct {
        __u32 ports[2]; /* the first and the last */
        __u32 prefix[4];
        __u32 mask[4];
    } ends[2]; /* source and destination */
    __u32 length[2];
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct wanted);
} wanted_packets SEC(".maps");

/* A packet that was looked for, with the beginning of its frame as it came. */
#define TRACED 256

struct trace {
    __u64 time_ns; /* since the machine started */
    __u32 bytes;   /* of the frame */
    __u32 taken;   /* of those */
    struct fate fate;
    __u8 frame[TRACED];
};

#define TRACE_HEAD __builtin_offsetof(struct trace, frame)

/* Where a trace is written until it is complete. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct trace);
} tracing SEC(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_RINGBUF);
    MAP_NUMBER(max_entries, 262144);
} traces SEC(".maps");

/* Traces that found no room. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, __u64);
} lost_traces SEC(".maps");

INLINE int is_within(const __u32 *address, __u32 words, const __u32 *prefix, const __u32 *mask)
{
    for (__u32 word = 0; word < words; word++)
        if ((address[word] ^ prefix[word]) & mask[word])
            return 0;
    return 1;
}

INLINE int is_between(__u32 number, const __u32 *bounds)
{
    return number >= bounds[0] && number <= bounds[1];
}

/* Whether the ports of a packet are those that are looked for; it may have none. */
INLINE int are_wanted(const struct wanted *wanted, __u8 protocol, const __be16 *ports, const void *end)
{
    if (!(wanted->fields & (OF_SOURCE_PORT | OF_DESTINATION_PORT)))
        return 1;
    if (!has_ports(protocol) || !ports || (const void *)(ports + 2) > end)
        return 0;
    return (!(wanted->fields & OF_SOURCE_PORT) || is_between(NET16(ports[0]), wanted->ends[0].ports)) &&
           (!(wanted->fields & OF_DESTINATION_PORT) || is_between(NET16(ports[1]), wanted->ends[1].ports));
}

/* Whether a packet is looked for, by what a line of an ACL can name (src/acl). */
CALLED __u32 is_wanted(struct xdp_md *ctx, const struct judged *packet)
{
    const void *header = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *payload;
    __u32 key = 0, length;
    const struct wanted *wanted = bpf_map_lookup_elem(&wanted_packets, &key);
    __u8 protocol;

    if (!wanted || !packet || packet->header > ETH_HLEN + TAGS_MAX * sizeof(struct tag))
        return 0;
    header += packet->header;
    length = packet->length > 0xffff ? 0xffff : packet->length;
    if (wanted->fields & OF_LENGTH && !is_between(length, wanted->length))
        return 0;
    if (packet->is_ipv4) {
        const struct iphdr *ip = header;
        if ((const void *)(ip + 1) > end || wanted->fields & OF_IPV6 ||
            !is_within(&ip->saddr, 1, wanted->ends[0].prefix, wanted->ends[0].mask) ||
            !is_within(&ip->daddr, 1, wanted->ends[1].prefix, wanted->ends[1].mask))
            return 0;
        payload = payload4(ip, &protocol);
    } else {
        const struct ipv6hdr *ip = header;
        int is_cut;
        if ((const void *)(ip + 1) > end || wanted->fields & OF_IPV4 ||
            !is_within((const void *)&ip->saddr, 4, wanted->ends[0].prefix, wanted->ends[0].mask) ||
            !is_within((const void *)&ip->daddr, 4, wanted->ends[1].prefix, wanted->ends[1].mask))
            return 0;
        payload = payload6(ip, end, &protocol, &is_cut);
    }
    if (wanted->fields & OF_PROTOCOL && protocol != wanted->protocol)
        return 0;
    return are_wanted(wanted, protocol, payload, end);
}

/* Takes the beginning of the frame of a packet that is looked for. */
INLINE void look_for(struct xdp_md *ctx, const struct interface *interface, const struct packet *packet,
                     enum reason reason, struct fate *fate)
{
    __u32 key = 0, taken = packet->bytes;
    const struct wanted *wanted = bpf_map_lookup_elem(&wanted_packets, &key);
    struct trace *trace = bpf_map_lookup_elem(&tracing, &key);
    struct judged what = {
        .header = ETH_HLEN + packet->tags * sizeof(struct tag),
        .is_ipv4 = packet->protocol == NET16(ETH_P_IP),
        .length = packet->length,
    };

    fate->interface = interface->routed ? interface->routed : ctx->ingress_ifindex;
    fate->port = interface->port;
    fate->table = interface->table;
    if (!wanted || !trace || (wanted->fields & OF_INTERFACE && wanted->interface != fate->interface))
        return;
    if (is_judged(packet, reason))
        fate->header = what.header;
    if (!(fate->header ? is_wanted(ctx, &what) : wanted->fields & OF_ANY))
        return;
    trace->time_ns = bpf_ktime_get_ns();
    trace->bytes = packet->bytes;
    /* As in `sample`. */
    asm volatile("" : "+r"(taken));
    if (taken > TRACED)
        taken = TRACED;
    if (!taken || bpf_xdp_load_bytes(ctx, 0, trace->frame, taken))
        return;
    trace->taken = taken;
    fate->steps |= SEEN;
}

/* Tells the fate of a packet that was looked for. */
INLINE void tell(const struct fate *fate)
{
    __u32 key = 0, taken;
    const struct wanted *wanted = bpf_map_lookup_elem(&wanted_packets, &key);
    struct trace *trace = bpf_map_lookup_elem(&tracing, &key);
    __u64 *lost;

    if (!(fate->steps & SEEN) || !wanted || !trace || !(wanted->reasons >> (fate->reason & 31) & 1))
        return;
    trace->fate = *fate;
    taken = trace->taken;
    asm volatile("" : "+r"(taken));
    if (taken > TRACED || !bpf_ringbuf_output(&traces, trace, TRACE_HEAD + taken, 0))
        return;
    lost = bpf_map_lookup_elem(&lost_traces, &key);
    if (lost)
        ++*lost;
}

/* The same as `judge`, which also tells. */
CALLED __u32 judge_aloud(struct xdp_md *ctx, const struct judged *judged, struct fate *fate)
{
    return fate ? judge_by(ctx, judged, fate) : DENIED;
}

#endif
