/* fibula's own for IPv6: a root of 2^16 entries, then eight bits at a time, nodes and leaves
 * kept once, and one step where a single path leads on. A /48 is reached by at most five reads,
 * a /32 by three. */

/* An address without its first `count` bits, 1 to 63; zeros come after it. */
FIBULA_BODY struct fibula_ipv6 fibula_after(struct fibula_ipv6 address, fibula_u32 count)
{
    struct fibula_ipv6 rest;
    rest.high = address.high << count | address.low >> (64 - count);
    rest.low = address.low << count;
    return rest;
}

FIBULA_BODY fibula_u32 fibula_mosaic6(struct fibula_table table, fibula_u32 width, struct fibula_ipv6 address)
{
    fibula_u32 entry = fibula_root(table, (fibula_u32)(address.high >> 48));
    struct fibula_ipv6 rest = fibula_after(address, 16);
    FIBULA_WHILE(entry & FIBULA_POINTS, (128 - 16) / 8) {
        if (entry & FIBULA_CHAIN) {
            struct fibula_chain chain = fibula_chain_of(table, entry);
            if (rest.high >> (64 - chain.len) != chain.value)
                return chain.other;
            rest = fibula_after(rest, chain.len);
            entry = chain.entry;
        } else {
            fibula_u32 bits = (fibula_u32)(rest.high >> 56);
            if (entry & FIBULA_LEAVES)
                return fibula_leaf(table, width, entry, 8, bits);
            rest = fibula_after(rest, 8);
            entry = fibula_node(table, entry, 8, bits);
        }
    }
    return entry;
}
