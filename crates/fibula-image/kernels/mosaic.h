/* fibula's own for IPv4: a root of 2^18 entries, then 64 answers side by side, kept once: two
 * reads. Where a /18 has routes longer than /24, a node stands between, and a /24 that has them
 * is a block of 256 answers: three. */
FIBULA_BODY fibula_u32 fibula_mosaic(struct fibula_table table, fibula_u32 width, fibula_u32 address)
{
    fibula_u32 entry = fibula_root(table, address >> 14);
    fibula_u32 bits = address >> 8 & 63;
    if (!(entry & FIBULA_POINTS))
        return entry;
    if (entry & FIBULA_LEAVES)
        return fibula_leaf(table, width, entry, 6, bits);
    entry = fibula_node(table, entry, 6, bits);
    if (!(entry & FIBULA_POINTS))
        return entry;
    return fibula_end(table, width, entry, 8, address & 255);
}
