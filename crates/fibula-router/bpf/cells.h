/* Maps of cells: 64 bytes, a cache line. A cell never crosses the end of the map and a read never
 * crosses the end of a cell, so two checks that the verifier sees are all that a read costs. The
 * number of cells is set when the program is loaded. The memory is mapped into the control
 * process, which writes it.
 */
#ifndef FIBULA_CELLS_H
#define FIBULA_CELLS_H

#include "kernel.h"

#define CELL 64

struct cell {
    __u8 bytes[CELL];
};

#define CELLS(name) \
    struct { \
        MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY); \
        MAP_NUMBER(max_entries, 1); \
        MAP_NUMBER(map_flags, BPF_F_MMAPABLE); \
        MAP_TYPE(key, __u32); \
        MAP_TYPE(value, struct cell); \
    } name SEC(".maps")

/* The cells of a map from `first` on. */
struct cells {
    void *map;
    __u32 first;
};

/* The `size` bytes, a power of two up to a cell, from byte `at` on; `at` is a multiple of
 * `size`. */
INLINE const volatile void *bytes_at(struct cells cells, __u64 at, __u32 size)
{
    __u32 cell = cells.first + (__u32)(at / CELL);
    const volatile __u8 *bytes = bpf_map_lookup_elem(cells.map, &cell);
    return bytes ? bytes + (at & (CELL - size)) : 0;
}

#define READ(type, cells, index) \
    ({ \
        const volatile type *found = bytes_at(cells, (__u64)(index) * sizeof(type), sizeof(type)); \
        found ? *found : (type){0}; \
    })

#endif
