/* The router's XDP program. */
#include "forward.h"

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
