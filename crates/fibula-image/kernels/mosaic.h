/* fibula's own for IPv4: a root of 2^18 entries, then 128 answers side by side, kept once: two reads. Where a /18 has
 * routes longer than /25, a node stands between: three. */
FIBULA_BODY fibula_u32 fibula_mosaic(struct fibula_table table, fibula_u32 width, fibula_u32 address)
{
    fibula_u32 entry = fibula_root(table, address >> 14);
    fibula_u32 bits = address >> 7 & 127;
    if (!(entry & FIBULA_POINTS))
        return entry;
    if (!(entry & FIBULA_LEAVES)) {
        entry = fibula_node(table, entry, 7, bits);
        bits = address & 127;
        if (!(entry & FIBULA_POINTS))
            return entry;
    }
    return fibula_leaf(table, width, entry, 7, bits);
}
