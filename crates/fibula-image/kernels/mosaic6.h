/* fibula's own for IPv6: a root of 2^16 entries, then eight bits at a time, nodes and leaves kept once, and one step where
 * a single path leads on. A /48 is reached by at most five reads, a /32 by three. */

/* `count` bits of an address from bit `from` on, none of them past bit 128; at most 32, and a multiple of 8 like `from`. */
FIBULA_BODY fibula_u32 fibula_bits(struct fibula_ipv6 address, fibula_u32 from, fibula_u32 count)
{
    fibula_u64 part;
    if (from + count <= 64)
        part = address.high >> (64 - from - count);
    else if (from >= 64)
        part = address.low >> (128 - from - count);
    else
        part = address.high << (from + count - 64) | address.low >> (128 - from - count);
    return (fibula_u32)(part & ((1ull << count) - 1));
}

FIBULA_BODY fibula_u32 fibula_mosaic6(struct fibula_table table, fibula_u32 width, struct fibula_ipv6 address)
{
    fibula_u32 entry = fibula_root(table, (fibula_u32)(address.high >> 48));
    fibula_u32 from = 16;
    FIBULA_WHILE(entry & FIBULA_POINTS, (128 - 16) / 8) {
        if (entry & FIBULA_CHAIN) {
            struct fibula_chain chain = fibula_chain_of(table, entry);
            if (fibula_bits(address, from, chain.len) != chain.value)
                return chain.other;
            from += chain.len;
            entry = chain.entry;
        } else {
            fibula_u32 bits = fibula_bits(address, from, 8);
            if (entry & FIBULA_LEAVES)
                return fibula_leaf(table, width, entry, 8, bits);
            from += 8;
            entry = fibula_node(table, entry, 8, bits);
        }
    }
    return entry;
}
