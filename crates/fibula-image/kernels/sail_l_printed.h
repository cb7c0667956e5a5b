/* SAIL_L as printed (Yang et al. 2014, section 5.3): BCN16 is the root, BN24 the leaves, C24 the
 * nodes, N32 the ends. C24 is read where BN24 has no answer. One to four reads. */
FIBULA_BODY fibula_u32 fibula_sail_l_printed(struct fibula_table table, fibula_u32 width, fibula_u32 address)
{
    fibula_u32 entry = fibula_root(table, address >> 16), slot, answer;
    if (entry & 0x80000000u)
        return entry & 0x7fffffffu;
    slot = entry << 8 | (address >> 8 & 255);
    answer = fibula_answer(table.leaves, width, 0, 0, slot);
    if (answer)
        return answer;
    return fibula_answer(table.ends, width, FIBULA_READ(fibula_u32, table.nodes, slot), 8, address & 255);
}
