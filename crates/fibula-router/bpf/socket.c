/* The programs of the plane in user space: one hands frames to sockets, one hands those that the
 * plane does not forward back to the kernel. */
#include "packets.h"

/* The sockets, by the index of the interface's first one and the queue that a frame came in by.
 * The sockets end with their process, and then this map is empty. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_XSKMAP);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, __u32);
} sockets SEC(".maps");

/* The routes of single addresses that lead to the kernel: local addresses, above all. The value is
 * the next hop of the route. */
struct host {
    __u32 table;
    __u32 family; /* 4 or 6 */
    __u64 address[2]; /* in network byte order; one of IPv4 is in the first word */
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, 65536);
    MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);
    MAP_TYPE(key, struct host);
    MAP_TYPE(value, __u32);
} hosts SEC(".maps");

/* Of each next hop that such a route leads to, whether it is the kernel's now. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, 65536);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, __u32);
} of_kernel SEC(".maps");

/* The longest frame that a socket takes. */
const volatile __u32 longest = 1;

/* Whether the program meets again what `hand_up` handed up: in generic mode it does. */
const volatile __u32 is_generic = 0;

/* The header is checked again where it is read: the verifier may have lost sight of that. */
INLINE int is_local(const struct packet *packet, __u32 table, const void *end)
{
    struct host host = {.table = table};
    __u32 *next_hop, *is_of_kernel;

    if (packet->protocol == NET16(ETH_P_IP)) {
        const struct iphdr *ip = packet->header;
        if ((const void *)(ip + 1) > end)
            return 0;
        host.family = 4;
        host.address[0] = ip->daddr;
    } else {
        const struct ipv6hdr *ip = packet->header;
        const __u64 *words = (const void *)&ip->daddr;
        if ((const void *)(ip + 1) > end)
            return 0;
        host.family = 6;
        host.address[0] = words[0];
        host.address[1] = words[1];
    }
    next_hop = bpf_map_lookup_elem(&hosts, &host);
    if (!next_hop)
        return 0;
    is_of_kernel = bpf_map_lookup_elem(&of_kernel, next_hop);
    return is_of_kernel && *is_of_kernel;
}

/* A frame that was handed up has the interface's own MAC address as its source. */
INLINE int was_handed_up(const struct xdp_md *ctx, const struct interface *interface)
{
    const struct ethhdr *ethernet = (void *)(long)ctx->data;
    const __u32 *ours = (const void *)interface->address, *theirs = (const void *)ethernet->h_source;

    if ((const void *)(ethernet + 1) > (const void *)(long)ctx->data_end)
        return 0;
    return *theirs == *ours && *(const __u16 *)(theirs + 1) == *(const __u16 *)(ours + 1);
}

/* Hands a frame to the socket of its queue if a route may forward it. Without a socket the kernel
 * gets it. */
SEC("xdp.frags") int socket(struct xdp_md *ctx)
{
    struct interface interface = READ(struct interface, ((struct cells){&interfaces, 0}), ctx->ingress_ifindex);
    struct packet packet = {};
    struct fate unread;
    enum reason reason;

    if (!interface.port || (is_generic && was_handed_up(ctx, &interface)))
        return XDP_PASS;
    reason = read(ctx, &interface, &packet);
    if (reason == FORWARDED && is_off(&interface, &packet))
        reason = FORWARDING_OFF;
    if (reason != FORWARDED)
        return stays(&packet, &unread, reason);
    if (is_local(&packet, interface.table, (void *)(long)ctx->data_end))
        return stays(&packet, &unread, LOCAL);
    if (packet.bytes > longest)
        return stays(&packet, &unread, TOO_BIG);
    return bpf_redirect_map(&sockets, interface.routed + ctx->rx_queue_index, XDP_PASS);
}

/* The kernel runs this on a frame of its own, and takes it as one that came in by the interface. */
SEC("xdp") int hand_up(struct xdp_md *ctx)
{
    return XDP_PASS;
}
