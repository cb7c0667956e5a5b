/* The card's side: one thread an address, neighbours' reads side by side, a grid that strides over the batch. */
#include "table.h"
#include "dir24_8.h"
#include "sail_l.h"
#include "sail_l_printed.h"
#include "mosaic.h"
#include "mosaic6.h"
#include "bloom.h"

#define FIBULA_FOR_EACH(i, count) \
    for (fibula_u64 i = (fibula_u64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (fibula_u64)gridDim.x * blockDim.x)

/* next_hops[i] of addresses[i], from one table, or each from the table that table_ids[i] names. */
#define FIBULA_KERNEL(name, address, answer, bits) \
    extern "C" __global__ void name##_##bits(struct fibula_table table, const address *addresses, answer *next_hops, \
                                             fibula_u64 count) \
    { \
        FIBULA_FOR_EACH(i, count) \
            next_hops[i] = (answer)fibula_##name(table, sizeof(answer), addresses[i]); \
    } \
    extern "C" __global__ void name##_##bits##_of_many(const struct fibula_table *tables, const fibula_u16 *table_ids, \
                                                       const address *addresses, answer *next_hops, fibula_u64 count) \
    { \
        FIBULA_FOR_EACH(i, count) \
            next_hops[i] = (answer)fibula_##name(tables[table_ids[i]], sizeof(answer), addresses[i]); \
    }
#include "every.h"

/* The limit of random reads: each thread asks for a random sector of 32 bytes, `rounds` times, and adds up what it finds,
 * so that no read can be left out. The generator is a multiplication and an addition; its high bits choose. */
extern "C" __global__ void gather(const fibula_u32 *words, fibula_u64 sectors, fibula_u64 rounds, fibula_u32 *sums)
{
    fibula_u64 thread = (fibula_u64)blockIdx.x * blockDim.x + threadIdx.x;
    fibula_u64 state = thread * 0x9E3779B97F4A7C15ull + 1;
    fibula_u32 sum = 0;
    for (fibula_u64 round = 0; round < rounds; round++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        sum += FIBULA_READ(fibula_u32, words, __umul64hi(state, sectors) * 8);
    }
    sums[thread] = sum;
}
