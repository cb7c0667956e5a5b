/* Bloom filters (Lucchesi, Drummond, Teodoro 2018): a filter and a hash table for the prefixes of
 * 32 bits, then for those of 24 bits, then the direct array. The root is that array, with plain
 * answers. The nodes are words: the sizes of G1 and G2, then their filters and the keys of their
 * buckets. The leaves are the answers of G1's buckets, the ends those of G2's. */

/* The slots of a bucket. */
#define FIBULA_SLOTS 6

/* One group: the bits of its filter, the hashes of a key, the buckets of its table; and where
 * the filter begins, in words, and the buckets, in blocks of eight words. */
struct fibula_group {
    fibula_u32 bits;
    fibula_u32 hashes;
    fibula_u32 buckets;
    fibula_u32 filter;
    fibula_u32 keys;
    fibula_u32 unused[3];
}
#ifdef __CUDACC__
__attribute__((aligned(16)))
#endif
;

/* The keys of a bucket, in one sector of the card's memory. */
struct fibula_keys {
    fibula_u32 slots[FIBULA_SLOTS];
    fibula_u32 unused[2];
}
#ifdef __CUDACC__
__attribute__((aligned(16)))
#endif
;

#ifdef __CUDACC__
#define FIBULA_BLOCK(type, table, index) (((const struct type *)(table).nodes)[index])
#else
#define FIBULA_BLOCK(type, table, index) FIBULA_READ(struct type, (table).nodes, index)
#endif

/* The integer hash of the H2 database. */
FIBULA_BODY fibula_u32 fibula_h2(fibula_u32 key)
{
    key = (key ^ key >> 16) * 0x045d9f3bu;
    key = (key ^ key >> 16) * 0x045d9f3bu;
    return key ^ key >> 16;
}

/* A hash scaled to 0..size by its high bits. */
FIBULA_BODY fibula_u32 fibula_scaled(fibula_u32 hash, fibula_u32 size)
{
    return (fibula_u32)((fibula_u64)hash * size >> 32);
}

/* The answer of a group for a key; 0 for none. The hash of bit i is h1 + i h2, h2 the hash of
 * h1, and h1 gives the home bucket. */
FIBULA_BODY fibula_u32 fibula_group_of(struct fibula_table table, FIBULA_PART answers, fibula_u32 width,
                                       fibula_u32 number, fibula_u32 key)
{
    struct fibula_group group = FIBULA_BLOCK(fibula_group, table, number);
    fibula_u32 first = fibula_h2(key), second = fibula_h2(first), hash = first;
    fibula_u32 bucket = fibula_scaled(first, group.buckets), i;
    for (i = 0; i < group.hashes; i++) {
        fibula_u32 position = fibula_scaled(hash += second, group.bits);
        fibula_u32 word = FIBULA_READ(fibula_u32, table.nodes, group.filter + (position >> 5));
        if (!(word >> (position & 31) & 1))
            return 0;
    }
    for (;;) {
        struct fibula_keys keys = FIBULA_BLOCK(fibula_keys, table, group.keys + bucket);
        fibula_u32 slot = 0, answer;
        /* The first slot with the key, which may be a free one that holds key 0, or the last,
         * which says whether the bucket is full and the search goes on. */
        while (slot < FIBULA_SLOTS - 1 && keys.slots[slot] != key)
            slot++;
        answer = fibula_answer(answers, width, 0, 0, bucket * FIBULA_SLOTS + slot);
        if (keys.slots[slot] == key || !answer)
            return answer;
        bucket = bucket + 1 < group.buckets ? bucket + 1 : 0;
    }
}

FIBULA_BODY fibula_u32 fibula_bloom(struct fibula_table table, fibula_u32 width, fibula_u32 address)
{
    fibula_u32 answer = fibula_group_of(table, table.ends, width, 1, address);
    if (!answer)
        answer = fibula_group_of(table, table.leaves, width, 0, address >> 8);
    return answer ? answer : fibula_answer(table.root, width, 0, 0, address >> 12);
}
