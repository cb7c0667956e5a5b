/* The host's side: the same bodies in a plain loop. Compiled twice, the second time with
 * FIBULA_COUNTED: that one looks a single address up and tells where it read. */
#include "table.h"
#include "dir24_8.h"
#include "sail_l.h"
#include "sail_l_printed.h"
#include "mosaic.h"
#include "mosaic6.h"
#include "bloom.h"

#ifdef FIBULA_COUNTED
#define FIBULA_KERNEL(name, address, answer, bits) \
    fibula_u32 fibula_counted_##name##_##bits(const struct fibula_table *table, const address *addresses, \
                                              const void **places, fibula_u32 *reads) \
    { \
        fibula_u32 found, i; \
        fibula_reads = 0; \
        found = fibula_##name(*table, sizeof(answer), *addresses); \
        for (i = 0; i < fibula_reads; i++) \
            places[i] = fibula_places[i]; \
        *reads = fibula_reads; \
        return found; \
    }
#else
#define FIBULA_KERNEL(name, address, answer, bits) \
    void fibula_twin_##name##_##bits(const struct fibula_table *table, const address *addresses, answer *next_hops, \
                                     fibula_u64 count) \
    { \
        fibula_u64 i; \
        for (i = 0; i < count; i++) \
            next_hops[i] = (answer)fibula_##name(*table, sizeof(answer), addresses[i]); \
    } \
    void fibula_twin_##name##_##bits##_of_many(const struct fibula_table *tables, const fibula_u16 *table_ids, \
                                               const address *addresses, answer *next_hops, fibula_u64 count) \
    { \
        fibula_u64 i; \
        for (i = 0; i < count; i++) \
            next_hops[i] = (answer)fibula_##name(tables[table_ids[i]], sizeof(answer), addresses[i]); \
    }
#endif
#include "every.h"
