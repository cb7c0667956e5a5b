/* The tables as maps, and the lookups that the oracle judges (fibula-image/kernels) over them. */
#ifndef FIBULA_TABLES_H
#define FIBULA_TABLES_H

#include "cells.h"

CELLS(root4);
CELLS(nodes4);
CELLS(leaves4);
CELLS(ends4);
CELLS(root6);
CELLS(nodes6);
CELLS(leaves6);
CELLS(chains6);

/* The bytes of an answer. The verifier knows them, and removes the reads of the other widths. */
const volatile __u32 width4 = 1;
const volatile __u32 width6 = 1;

/* The lookups read a part of a table by this, and loop as the verifier wants it: a number of
 * steps that it can count. */
#define FIBULA_BODY INLINE
#define FIBULA_PART struct cells
#define FIBULA_READ(type, part, index) READ(type, part, index)
#define FIBULA_WHILE(condition, steps) for (int step = 0; step < (steps) && (condition); step++)

#include "table.h"
#include "mosaic.h"
#include "mosaic6.h"

/* The cells of a table's root. The roots of all tables are one after the other; what they lead
 * to is numbered through. */
#define ROOT4_CELLS ((1u << 18) * sizeof(__u32) / CELL)
#define ROOT6_CELLS ((1u << 16) * sizeof(__u32) / CELL)

/* The next hop of an address in host byte order; 0 if there is no route. */
INLINE __u32 next_hop4(__u32 table, __u32 address)
{
    return fibula_mosaic((struct fibula_table){.root = {&root4, table * ROOT4_CELLS},
                                               .nodes = {&nodes4, 0},
                                               .leaves = {&leaves4, 0},
                                               .ends = {&ends4, 0}},
                         width4, address);
}

INLINE __u32 next_hop6(__u32 table, struct fibula_ipv6 address)
{
    return fibula_mosaic6((struct fibula_table){.root = {&root6, table * ROOT6_CELLS},
                                                .nodes = {&nodes6, 0},
                                                .leaves = {&leaves6, 0},
                                                .chains = {&chains6, 0}},
                          width6, address);
}

/* The same as functions of their own, for what is looked up beside a packet's destination. */
CALLED __u32 called4(__u32 table, __u32 address)
{
    return next_hop4(table, address);
}

CALLED __u32 called6(__u32 table, __u64 high, __u64 low)
{
    return next_hop6(table, (struct fibula_ipv6){.low = low, .high = high});
}

#endif
