/* DIR-24-8-BASIC (Gupta, Lin, McKeown 1998): TBL24 is the root, TBLlong the leaves. One read, or
 * two below a /24 with longer routes. */
FIBULA_BODY fibula_u32 fibula_dir24_8(struct fibula_table table, fibula_u32 width, fibula_u32 address)
{
    fibula_u32 entry = fibula_root(table, address >> 8);
    if (entry & FIBULA_POINTS)
        return fibula_leaf(table, width, entry, 8, address & 255);
    return entry;
}
