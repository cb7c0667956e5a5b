/* What is measured: lookups alone, drawn from a map, and the router's program with other lookups
 * in it; a generator and a sink for them. */
#include "forward.h"

/* Lookups of one run. The verifier follows each of them, and gives up after a million
 * instructions. */
#define DRAWN4 64
#define DRAWN6 16

/* What programs keep between runs, in the order that the reader knows. */
struct {
    __u64 cursor;  /* addresses so far: where the next one is drawn from */
    __u64 sum;     /* of all answers */
    __u64 arrived; /* packets at the sink */
} state;

/* The number of addresses of each family, a power of two and a multiple of the above. */
const volatile __u32 drawn4 = DRAWN4;
const volatile __u32 drawn6 = DRAWN6;
/* Whether every answer is kept, beside its address. */
const volatile __u32 is_kept = 0;

CELLS(addresses4);
CELLS(addresses6);
CELLS(answers);

struct key4 {
    __u32 len;
    __be32 address;
};

struct key6 {
    __u32 len;
    __be32 address[4];
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_LPM_TRIE);
    MAP_NUMBER(max_entries, 1);
    MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);
    MAP_TYPE(key, struct key4);
    MAP_TYPE(value, __u32);
} trie4 SEC(".maps");

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_LPM_TRIE);
    MAP_NUMBER(max_entries, 1);
    MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);
    MAP_TYPE(key, struct key6);
    MAP_TYPE(value, __u32);
} trie6 SEC(".maps");

INLINE __u32 none4(struct xdp_md *ctx, __u32 table, __u32 address)
{
    return 1 + (address & 1);
}

INLINE __u32 none6(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address)
{
    return 1 + (address.low & 1);
}

INLINE __u32 ours4(struct xdp_md *ctx, __u32 table, __u32 address)
{
    return next_hop4(table, address);
}

INLINE __u32 ours6(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address)
{
    return next_hop6(table, address);
}

INLINE __u32 run6(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address)
{
    return called6(table, address.high, address.low);
}

INLINE __u32 tried4(struct xdp_md *ctx, __u32 table, __u32 address)
{
    struct key4 key = {32, NET32(address)};
    __u32 *next_hop = bpf_map_lookup_elem(&trie4, &key);
    return next_hop ? *next_hop : 0;
}

INLINE __u32 tried6(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address)
{
    struct key6 key = {128,
                       {NET32(address.high >> 32), NET32((__u32)address.high), NET32(address.low >> 32),
                        NET32((__u32)address.low)}};
    __u32 *next_hop = bpf_map_lookup_elem(&trie6, &key);
    return next_hop ? *next_hop : 0;
}

/* The kernel's own table. It knows no numbers of next hops: the answer is whether there is a
 * route. */
#define FIB_FLAGS (BPF_FIB_LOOKUP_DIRECT | BPF_FIB_LOOKUP_SKIP_NEIGH)
#define FAMILY4 2
#define FAMILY6 10

INLINE __u32 fib4(struct xdp_md *ctx, __u32 table, __u32 address)
{
    struct bpf_fib_lookup params = {.family = FAMILY4, .ifindex = ctx->ingress_ifindex, .ipv4_dst = NET32(address)};
    return bpf_fib_lookup(ctx, &params, sizeof(params), FIB_FLAGS) == BPF_FIB_LKUP_RET_SUCCESS;
}

INLINE __u32 fib6(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address)
{
    struct bpf_fib_lookup params = {.family = FAMILY6, .ifindex = ctx->ingress_ifindex};
    __u64 *words = (void *)params.ipv6_dst;
    words[0] = NET64(address.high);
    words[1] = NET64(address.low);
    return bpf_fib_lookup(ctx, &params, sizeof(params), FIB_FLAGS) == BPF_FIB_LKUP_RET_SUCCESS;
}

#define LOOKUPS(name, type, addresses, drawn, count, lookup) \
    SEC("xdp") int name(struct xdp_md *ctx) \
    { \
        __u64 first = state.cursor; \
        __u64 total = 0; \
        for (__u32 i = 0; i < count; i++) { \
            __u32 index = (__u32)(first + i) & (drawn - 1); \
            type address = READ(type, ((struct cells){&addresses, 0}), index); \
            __u32 next_hop = lookup(ctx, 0, address); \
            total += next_hop; \
            if (is_kept) { \
                __u32 *answer = (void *)bytes_at((struct cells){&answers, 0}, (__u64)index * 4, 4); \
                if (answer) \
                    *answer = next_hop; \
            } \
        } \
        state.cursor = first + count; \
        state.sum += total; \
        return XDP_PASS; \
    }

LOOKUPS(lookups4_none, __u32, addresses4, drawn4, DRAWN4, none4)
LOOKUPS(lookups4_ours, __u32, addresses4, drawn4, DRAWN4, ours4)
LOOKUPS(lookups4_trie, __u32, addresses4, drawn4, DRAWN4, tried4)
LOOKUPS(lookups4_fib, __u32, addresses4, drawn4, DRAWN4, fib4)
LOOKUPS(lookups6_none, struct fibula_ipv6, addresses6, drawn6, DRAWN6, none6)
LOOKUPS(lookups6_ours, struct fibula_ipv6, addresses6, drawn6, DRAWN6, run6)
LOOKUPS(lookups6_trie, struct fibula_ipv6, addresses6, drawn6, DRAWN6, tried6)
LOOKUPS(lookups6_fib, struct fibula_ipv6, addresses6, drawn6, DRAWN6, fib6)

SEC("xdp") int forward_none(struct xdp_md *ctx)
{
    return forward(ctx, none4, none6);
}

SEC("xdp") int forward_ours(struct xdp_md *ctx)
{
    return forward(ctx, ours4, ours6);
}

SEC("xdp") int forward_trie(struct xdp_md *ctx)
{
    return forward(ctx, tried4, tried6);
}

SEC("xdp") int forward_fib(struct xdp_md *ctx)
{
    return forward(ctx, fib4, fib6);
}

/* The interface that the generator sends by, and the one at the other end, which the frames are
 * for. */
const volatile __u32 sends_by = 0;
const volatile __u32 sends_to = 0;

INLINE void addressed(struct ethhdr *ethernet)
{
    struct interface to = READ(struct interface, ((struct cells){&interfaces, 0}), sends_to);
    __builtin_memcpy(ethernet->h_dest, to.address, ETH_ALEN);
}

/* The place of the source whose destination is at `cursor`: half of the addresses away. */
#define SOURCE(drawn) (((__u32)state.cursor + drawn / 2) & (drawn - 1))

/* The generator: the frame that it gets, with another source and destination each time. The frames
 * are used again with all that the router wrote to them, so the other fields are set again too. */
SEC("xdp") int generate4(struct xdp_md *ctx)
{
    struct ethhdr *ethernet = (void *)(long)ctx->data;
    struct iphdr *ip = (void *)(ethernet + 1);
    __u32 check;

    if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
        return XDP_ABORTED;
    addressed(ethernet);
    ip->saddr = NET32(READ(__u32, ((struct cells){&addresses4, 0}), SOURCE(drawn4)));
    ip->daddr = NET32(READ(__u32, ((struct cells){&addresses4, 0}), (__u32)state.cursor++ & (drawn4 - 1)));
    ip->ttl = 64;
    ip->check = 0;
    check = 0;
    for (__u32 i = 0; i < sizeof(*ip) / 2; i++)
        check += ((__u16 *)ip)[i];
    check = (check & 0xffff) + (check >> 16);
    ip->check = ~((check & 0xffff) + (check >> 16));
    return bpf_redirect_map(&devices, sends_by, XDP_ABORTED);
}

SEC("xdp") int generate6(struct xdp_md *ctx)
{
    struct ethhdr *ethernet = (void *)(long)ctx->data;
    struct ipv6hdr *ip = (void *)(ethernet + 1);
    struct fibula_ipv6 address;
    __u64 *words;

    if ((void *)(ip + 1) > (void *)(long)ctx->data_end)
        return XDP_ABORTED;
    addressed(ethernet);
    address = READ(struct fibula_ipv6, ((struct cells){&addresses6, 0}), SOURCE(drawn6));
    words = (void *)&ip->saddr;
    words[0] = NET64(address.high);
    words[1] = NET64(address.low);
    address = READ(struct fibula_ipv6, ((struct cells){&addresses6, 0}), (__u32)state.cursor++ & (drawn6 - 1));
    words = (void *)&ip->daddr;
    words[0] = NET64(address.high);
    words[1] = NET64(address.low);
    ip->hop_limit = 64;
    return bpf_redirect_map(&devices, sends_by, XDP_ABORTED);
}

/* Counts what the router sent. The kernel's own frames, as those of neighbour discovery, are for
 * groups. */
SEC("xdp") int sink(struct xdp_md *ctx)
{
    struct ethhdr *ethernet = (void *)(long)ctx->data;

    if ((void *)(ethernet + 1) <= (void *)(long)ctx->data_end && !(ethernet->h_dest[0] & 1))
        state.arrived++;
    return XDP_DROP;
}

SEC("xdp.frags") int pass(struct xdp_md *ctx)
{
    return XDP_PASS;
}
