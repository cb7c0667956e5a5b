/* What becomes of a packet, and by which rules and routes: what a trace tells.
 *
 * The program that forwards writes all of it and reads nothing of it, so the compiler leaves it out
 * there. Only the program that traces has it (trace.h).
 */
#ifndef FIBULA_FATE_H
#define FIBULA_FATE_H

#include <linux/if_ether.h>

#include "kernel.h"

/* A neighbour. */
struct neighbour {
    __u32 interface; /* 0: not resolved */
    __u16 mtu;
    __u16 vlan; /* the tag to push; 0: none, a tag has bit 15 set beside its 12 bits */
    __u8 destination[ETH_ALEN];
    __u8 source[ETH_ALEN];
    __u32 routed; /* the index of the interface that routes name, though it be not resolved */
};

/* The steps that a packet went. */
#define BY_ACL 1
#define BY_SOURCE 2
#define BY_ROUTE 4
#define BY_LEG 8
/* It is one that is looked for. */
#define SEEN 16

struct fate {
    __u32 steps;
    __u32 reason;
    __u32 interface; /* the kernel's index of the one that routes name */
    __u32 port;      /* of its counters */
    __u32 table;     /* its place */
    __u32 header;    /* bytes of the frame before the IP header that is looked up */
    __u32 acl;       /* its number, from 1 on */
    __u32 line;      /* of it, as `first_line` returns it */
    __u32 source;    /* the next hop of the source */
    __u32 next_hop;
    struct neighbour neighbour;
};

#endif
