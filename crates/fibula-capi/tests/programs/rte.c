/* fibula_rte.h answers as rte_fib does. */
#include <assert.h>
#include <errno.h>
#include <fibula_rte.h>

int main(void)
{
    struct fibula_rte fib = {NULL, 99};
    uint32_t ips[3] = {0x0A010203, 0x0A020304, 0x0B000000};
    uint8_t ips6[2][16] = {{0x20, 0x01, 0x0d, 0xb8, 1}, {0x20, 0x02}};
    uint64_t next_hops[3];
    assert(fibula_table_new(NULL, &fib.table) == 0);
    assert(fibula_rte_add(&fib, 0x0A000001, 8, 1) == 0 && fibula_rte_add(&fib, 0x0A01FFFF, 16, 2) == 0);
    assert(fibula_rte6_add(&fib, ips6[0], 33, 3) == 0);
    assert(fibula_rte_lookup_bulk(&fib, ips, next_hops, 3) == 0);
    assert(next_hops[0] == 2 && next_hops[1] == 1 && next_hops[2] == 99);
    assert(fibula_rte6_lookup_bulk(&fib, ips6, next_hops, 2) == 0);
    assert(next_hops[0] == 3 && next_hops[1] == 99);
    assert(fibula_rte_delete(&fib, 0x0A010000, 16) == 0 && fibula_rte_delete(&fib, 0x0A010000, 16) == -ENOENT);
    assert(fibula_rte6_delete(&fib, ips6[0], 33) == 0);
    fibula_table_free(fib.table);
    return 0;
}
