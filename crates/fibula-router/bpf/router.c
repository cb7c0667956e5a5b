/* The router's XDP programs: the one that forwards, and the one that also tells the fates of
 * packets. */
#include "forward.h"
#include "trace.h"

INLINE __u32 ours4(struct xdp_md *ctx, __u32 table, __u32 address)
{
    return next_hop4(table, address);
}

INLINE __u32 ours6(struct xdp_md *ctx, __u32 table, struct fibula_ipv6 address)
{
    return next_hop6(table, address);
}

SEC("xdp.frags") int router(struct xdp_md *ctx)
{
    return forward(ctx, ours4, ours6);
}

SEC("xdp.frags") int traced(struct xdp_md *ctx)
{
    struct fate fate = {};
    int verdict = decide(ctx, (struct steps){ours4, ours6, judge_aloud, look_for}, &fate);

    tell(&fate);
    return verdict;
}
