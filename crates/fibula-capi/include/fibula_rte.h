/*
 * The calls of DPDK's rte_fib on a table of libfibula, for programs that replace it: include this in
 * place of rte_fib.h and rename the type. Addresses of bulk lookups are numbers for IPv4 and bytes in
 * network order for IPv6, as there. Host bits of a prefix are cleared, as there.
 */
#ifndef FIBULA_RTE_H
#define FIBULA_RTE_H

#include "fibula.h"

#include <string.h>

/* A table and the answer for addresses without a route. */
struct fibula_rte {
    struct fibula_table *table;
    uint64_t def_nh;
};

static inline struct fibula_prefix fibula_rte_prefix(uint8_t family, const uint8_t *addr, uint8_t len)
{
    struct fibula_prefix prefix;
    size_t size = family == 4 ? 4 : 16;
    memset(&prefix, 0, sizeof prefix);
    prefix.family = family;
    prefix.len = len;
    for (size_t i = 0; i < size; i++) {
        int bits = (int)len - (int)(8 * i);
        unsigned mask = bits >= 8 ? 0xFFu : bits <= 0 ? 0u : (0xFFu << (8 - bits)) & 0xFFu;
        prefix.addr[i] = (uint8_t)(addr[i] & mask);
    }
    return prefix;
}

static inline struct fibula_prefix fibula_rte_prefix4(uint32_t ip, uint8_t depth)
{
    uint8_t addr[4];
    for (int i = 0; i < 4; i++)
        addr[i] = (uint8_t)(ip >> (24 - 8 * i));
    return fibula_rte_prefix(4, addr, depth);
}

static inline int fibula_rte_add(struct fibula_rte *fib, uint32_t ip, uint8_t depth, uint64_t next_hop)
{
    struct fibula_prefix prefix = fibula_rte_prefix4(ip, depth);
    return fibula_insert(fib->table, &prefix, next_hop);
}

static inline int fibula_rte_delete(struct fibula_rte *fib, uint32_t ip, uint8_t depth)
{
    struct fibula_prefix prefix = fibula_rte_prefix4(ip, depth);
    return fibula_remove(fib->table, &prefix);
}

static inline int fibula_rte_lookup_bulk(const struct fibula_rte *fib, const uint32_t *ips,
                                         uint64_t *next_hops, unsigned n)
{
    return fibula_lookup_bulk4_host(fib->table, ips, next_hops, n, fib->def_nh);
}

static inline int fibula_rte6_add(struct fibula_rte *fib, const uint8_t ip[16], uint8_t depth,
                                  uint64_t next_hop)
{
    struct fibula_prefix prefix = fibula_rte_prefix(6, ip, depth);
    return fibula_insert(fib->table, &prefix, next_hop);
}

static inline int fibula_rte6_delete(struct fibula_rte *fib, const uint8_t ip[16], uint8_t depth)
{
    struct fibula_prefix prefix = fibula_rte_prefix(6, ip, depth);
    return fibula_remove(fib->table, &prefix);
}

static inline int fibula_rte6_lookup_bulk(const struct fibula_rte *fib, uint8_t (*ips)[16],
                                          uint64_t *next_hops, unsigned n)
{
    return fibula_lookup_bulk6_be(fib->table, ips, 16, next_hops, n, fib->def_nh);
}

#endif
