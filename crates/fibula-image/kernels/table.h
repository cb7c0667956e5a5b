/* What every lookup body here shares: integer types, the parts of a table, and how its entries
 * are read.
 *
 * The bodies are written in the part of C that CUDA and BPF have too. NVRTC compiles them for
 * the card, clang for XDP programs; the host compiler compiles the very same text into the twin
 * that the tests judge. None includes a system header.
 *
 * Whoever defines FIBULA_READ before reads the parts in a way of its own: it defines
 * FIBULA_BODY, FIBULA_PART, the type of a part, and FIBULA_WHILE too.
 */
#ifndef FIBULA_TABLE_H
#define FIBULA_TABLE_H

typedef unsigned char fibula_u8;
typedef unsigned short fibula_u16;
typedef unsigned int fibula_u32;
typedef unsigned long long fibula_u64;

#ifdef FIBULA_READ
#elif defined(__CUDACC__)
#define FIBULA_BODY static __device__ __forceinline__
/* Tables do not change while a kernel runs: reads go through the read-only path. */
#define FIBULA_READ(type, array, index) __ldg((const type *)(array) + (index))
#elif defined(FIBULA_COUNTED)
#define FIBULA_BODY static inline
/* Tells where each read went, so that the host can count a lookup's accesses. */
#define FIBULA_READ(type, array, index) \
    (fibula_note((const type *)(array) + (index)), ((const type *)(array))[index])
#define FIBULA_READS_MAX 64
static _Thread_local const void *fibula_places[FIBULA_READS_MAX];
static _Thread_local fibula_u32 fibula_reads;
/* A walk over full buckets has no bound of its own: what no longer fits is not noted. */
static inline void fibula_note(const void *place)
{
    if (fibula_reads < FIBULA_READS_MAX)
        fibula_places[fibula_reads++] = place;
}
#else
#define FIBULA_BODY static inline
#define FIBULA_READ(type, array, index) (((const type *)(array))[index])
#endif

#ifndef FIBULA_PART
#define FIBULA_PART const void *
/* A loop of at most `steps` steps. */
#define FIBULA_WHILE(condition, steps) while (condition)
#endif

/* A table as it lies in memory.
 *
 * root    one entry for each value of an address's first bits
 * nodes   entries, as many to a node as the next bits have values
 * leaves  the same, but plain answers of `width` bytes
 * chains  `struct fibula_chain`, where addresses part on one path only
 * ends    as leaves, but more to a block: one for each address of the last level
 */
struct fibula_table {
    FIBULA_PART root;
    FIBULA_PART nodes;
    FIBULA_PART leaves;
    FIBULA_PART chains;
    FIBULA_PART ends;
};

/* An IPv6 address as a little-endian 128-bit integer lies in memory. */
struct fibula_ipv6 {
    fibula_u64 low;
    fibula_u64 high; /* most lookups read this half alone */
};

/* An entry: an answer below 2^31, or the number of a node, of leaves, of a chain, or (both bits)
 * of ends. */
#define FIBULA_POINTS 0x80000000u
#define FIBULA_LEAVES 0x40000000u
#define FIBULA_CHAIN 0x20000000u
#define FIBULA_NUMBER 0x1fffffffu

/* Where the next `len` bits (a multiple of 8, at most 32) are `value`, the search goes on at
 * `entry`; else the answer is `other`. */
struct fibula_chain {
    fibula_u32 value;
    fibula_u32 len;
    fibula_u32 other;
    fibula_u32 entry;
}
#ifdef __CUDACC__
__attribute__((aligned(16))) /* one read */
#endif
;

FIBULA_BODY struct fibula_chain fibula_chain_of(struct fibula_table table, fibula_u32 entry)
{
#ifdef __CUDACC__
    return ((const struct fibula_chain *)table.chains)[entry & FIBULA_NUMBER];
#else
    return FIBULA_READ(struct fibula_chain, table.chains, entry & FIBULA_NUMBER);
#endif
}

FIBULA_BODY fibula_u32 fibula_root(struct fibula_table table, fibula_u32 slot)
{
    return FIBULA_READ(fibula_u32, table.root, slot);
}

FIBULA_BODY fibula_u32 fibula_node(struct fibula_table table, fibula_u32 entry, fibula_u32 stride, fibula_u32 bits)
{
    return FIBULA_READ(fibula_u32, table.nodes, ((fibula_u64)(entry & FIBULA_NUMBER) << stride) | bits);
}

/* One of a block of answers. `width` is a constant wherever this is inlined: one of the three
 * reads is left. */
FIBULA_BODY fibula_u32 fibula_answer(FIBULA_PART answers, fibula_u32 width, fibula_u32 entry, fibula_u32 stride,
                                     fibula_u32 bits)
{
    fibula_u64 index = ((fibula_u64)(entry & FIBULA_NUMBER) << stride) | bits;
    if (width == 1)
        return FIBULA_READ(fibula_u8, answers, index);
    if (width == 2)
        return FIBULA_READ(fibula_u16, answers, index);
    return FIBULA_READ(fibula_u32, answers, index);
}

FIBULA_BODY fibula_u32 fibula_leaf(struct fibula_table table, fibula_u32 width, fibula_u32 entry, fibula_u32 stride,
                                   fibula_u32 bits)
{
    return fibula_answer(table.leaves, width, entry, stride, bits);
}

FIBULA_BODY fibula_u32 fibula_end(struct fibula_table table, fibula_u32 width, fibula_u32 entry, fibula_u32 stride,
                                  fibula_u32 bits)
{
    return fibula_answer(table.ends, width, entry, stride, bits);
}

#endif
