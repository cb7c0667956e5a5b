/* SAIL_L (Yang et al. 2014): BCN16 is the root, BCN24 the nodes, N32 the leaves. One to three
 * reads. */
FIBULA_BODY fibula_u32 fibula_sail_l(struct fibula_table table, fibula_u32 width, fibula_u32 address)
{
    fibula_u32 entry = fibula_root(table, address >> 16);
    if (entry & FIBULA_POINTS) {
        entry = fibula_node(table, entry, 8, address >> 8 & 255);
        if (entry & FIBULA_POINTS)
            return fibula_leaf(table, width, entry, 8, address & 255);
    }
    return entry;
}
