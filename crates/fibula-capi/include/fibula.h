/*
 * libfibula: longest-prefix match for IPv4 and IPv6.
 *
 * A table is a map from prefixes of both families to values of 64 bits. It is compiled: a lookup
 * takes a few nanoseconds, also among a million prefixes, and changes are followed in place.
 *
 *     struct fibula_table *table;
 *     struct fibula_prefix net = { 4, 24, { 192, 0, 2 } };
 *     uint64_t value;
 *     unsigned char addr[4] = { 192, 0, 2, 1 };
 *     fibula_table_new(NULL, &table);
 *     fibula_insert(table, &net, 7);
 *     if (fibula_lookup4(table, addr, &value, NULL) == 0)
 *         printf("%llu\n", (unsigned long long)value);
 *     fibula_table_free(table);
 *
 * ADDRESSES are bytes in network order, unless a name says _host: a pointer into a packet, a
 * struct in_addr or a struct in6_addr will do. They need no alignment.
 *
 * ERRORS: calls return 0, or a negated number of errno.h; fibula_error() has the message. A call
 * that fails has changed nothing. Only calls that are said to return a number return anything
 * above 0.
 *
 * OWNERSHIP: what a call hands over (its last argument is a pointer to a pointer) is freed by the
 * _free of its type, once. That takes NULL. Nothing else is to be freed.
 *
 * THREADS: any number may look up in a table at once while nobody changes it. To change a table
 * while others look up, use fibula_live. After fork the child has copies of its own, as with any
 * memory; a child of a process that changes a table in another thread must not use that table.
 */
#ifndef FIBULA_H
#define FIBULA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A prefix: family 4 or 6, 0 to 32 or 128 bits, and the first address. Bits after the length are
 * 0: other prefixes are refused with -EINVAL. For IPv4 only the first four bytes count. */
struct fibula_prefix {
    uint8_t family;
    uint8_t len;
    uint8_t addr[16];
};

struct fibula_table;
struct fibula_live;
struct fibula_reader;
struct fibula_vrfs;
struct fibula_vrfs_reader;

/* How a table is compiled. Set by fibula_options_init, then changed. */
struct fibula_options {
    size_t size;
    /* An engine by name, as `fibula engines` lists them; NULL leaves the choice to fibula. */
    const char *engine;
    /* The most bytes that the table may take: what would pass them is -ENOSPC. 0 is no limit. */
    uint64_t max_bytes;
    /* Not 0: large arrays ask for huge pages. */
    int huge_pages;
};

/* Fills in what options are by default. `size` is sizeof(struct fibula_options). */
void fibula_options_init(struct fibula_options *options, size_t size);

/* Returns the version of the library, such as "0.1.0". */
const char *fibula_version(void);

/* Returns the message of the last call of this thread that failed, "" before the first. It stays
 * until the next one fails. */
const char *fibula_error(void);

/* ---- tables ---- */

/* Makes an empty table. `options` may be NULL. -ENOENT: there is no such engine. */
int fibula_table_new(const struct fibula_options *options, struct fibula_table **table);

/* Makes a copy of a table. O(n). */
int fibula_table_copy(const struct fibula_table *table, struct fibula_table **copy);

/* Frees a table. */
void fibula_table_free(struct fibula_table *table);

/* Sets the value of a prefix. -ENOSPC: the table would pass its limit. */
int fibula_insert(struct fibula_table *table, const struct fibula_prefix *prefix, uint64_t value);

/* Sets the values of `n` prefixes, the last one counts where one is there twice, or of none if one
 * is refused. Compiles once: for many prefixes it is much faster than fibula_insert. */
int fibula_insert_many(struct fibula_table *table, const struct fibula_prefix *prefixes,
                       const uint64_t *values, size_t n);

/* Removes a prefix. -ENOENT: it is not there. */
int fibula_remove(struct fibula_table *table, const struct fibula_prefix *prefix);

/* Removes all prefixes. */
int fibula_clear(struct fibula_table *table);

/* Returns the value of exactly this prefix. -ENOENT: it is not there. `value` may be NULL. */
int fibula_get(const struct fibula_table *table, const struct fibula_prefix *prefix,
               uint64_t *value);

/* Returns the number of prefixes. */
size_t fibula_len(const struct fibula_table *table);

/* Returns the bytes that the table takes. */
size_t fibula_memory(const struct fibula_table *table);

/* What is called for a prefix. It must not change the table. Another value than 0 ends the walk,
 * and is what the walk returns. */
typedef int (*fibula_visit)(void *context, const struct fibula_prefix *prefix, uint64_t value);

/* Calls `visit` for each prefix: IPv4, then IPv6, in order of addresses, shorter ones first. */
int fibula_each(const struct fibula_table *table, fibula_visit visit, void *context);

/* Calls `visit` for each prefix that covers `prefix`, which is one of them if it is there, the
 * shortest first. */
int fibula_each_covering(const struct fibula_table *table, const struct fibula_prefix *prefix,
                         fibula_visit visit, void *context);

/* Calls `visit` for each prefix that `prefix` covers, which is one of them if it is there. */
int fibula_each_covered(const struct fibula_table *table, const struct fibula_prefix *prefix,
                        fibula_visit visit, void *context);

/* Returns 1 if a prefix of the table and `prefix` have addresses in common, else 0. */
int fibula_overlaps(const struct fibula_table *table, const struct fibula_prefix *prefix);

/* Makes the table with the fewest prefixes that gives every address the same value. */
int fibula_aggregate(const struct fibula_table *table, struct fibula_table **aggregate);

/* ---- lookups ---- */

/* Returns the value of the longest prefix that contains an address. -ENOENT: none does, and
 * `*value` stays. `value` may be NULL. `prefix` may be NULL: asking for it costs a second search.
 * -ENOENT leaves the message of fibula_error as it is. */
int fibula_lookup4(const struct fibula_table *table, const void *addr, uint64_t *value,
                   struct fibula_prefix *prefix);
int fibula_lookup6(const struct fibula_table *table, const void *addr, uint64_t *value,
                   struct fibula_prefix *prefix);

/* Looks up `n` addresses that begin `stride` bytes apart: 4 or 16 for an array, the size of a slot
 * for a field of packet headers, which are prefetched. out[i] is the value of address i, or `miss`.
 * Much faster than one by one, from 8 addresses on. -EINVAL: the stride is 0. */
int fibula_lookup_bulk4_be(const struct fibula_table *table, const void *addrs, size_t stride,
                           uint64_t *out, size_t n, uint64_t miss);
int fibula_lookup_bulk6_be(const struct fibula_table *table, const void *addrs, size_t stride,
                           uint64_t *out, size_t n, uint64_t miss);

/* The same for addresses as numbers. */
int fibula_lookup_bulk4_host(const struct fibula_table *table, const uint32_t *addrs,
                             uint64_t *out, size_t n, uint64_t miss);

/* The same, but out[i] is the index of the value, 0 if there is none: a number of half the size, for
 * arrays of your own. Equal values of one family have equal indices, and an index has its value,
 * until the table changes: then it may be given to another value. Ask fibula_value of the same
 * table before it changes. A table that a reader returned does not change until the reader's next
 * call. */
int fibula_lookup_bulk4_index(const struct fibula_table *table, const void *addrs, size_t stride,
                              uint32_t *out, size_t n);
int fibula_lookup_bulk6_index(const struct fibula_table *table, const void *addrs, size_t stride,
                              uint32_t *out, size_t n);

/* Returns the value of an index. -ENOENT: it is 0, or no route has it. */
int fibula_value(const struct fibula_table *table, uint32_t index, uint64_t *value);

/* ---- tables that change while others look up ---- */

/* Publishes a first table. Takes it: it is not used any more, unless the call fails. One thread at
 * a time may call the functions of a live table. */
int fibula_live_new(struct fibula_table *table, struct fibula_live **live);

/* Frees a live table. Its readers may go on, and see what was published last. */
void fibula_live_free(struct fibula_live *live);

/* Take in a change. Readers see it after fibula_live_publish. */
int fibula_live_insert(struct fibula_live *live, const struct fibula_prefix *prefix, uint64_t value);
int fibula_live_remove(struct fibula_live *live, const struct fibula_prefix *prefix);

/* Takes in a whole table, in place of everything that was taken in before. Takes it as
 * fibula_live_new does. */
int fibula_live_replace(struct fibula_live *live, struct fibula_table *table);

/* Drops what was taken in since the last publication. */
int fibula_live_discard(struct fibula_live *live);

/* Returns the number of changes that wait to be published. */
size_t fibula_live_pending(const struct fibula_live *live);

/* Publishes all changes at once: tables that readers ask for from now on show them. The copy that
 * was published before is needed for it. If readers hold that up for `timeout_ns` nanoseconds, the
 * call fails with -EAGAIN, and the changes wait for the next one. With 0 it never blocks. -ENOSPC:
 * the changes would pass a limit of the table. Then all of them are dropped, readers see nothing of
 * them, and the next publication works as if they had never been taken in. */
int fibula_live_publish(struct fibula_live *live, uint64_t timeout_ns);

/* Makes a reader: one for each thread that looks up. Any thread may make one. */
int fibula_reader_new(const struct fibula_live *live, struct fibula_reader **reader);

/* Frees a reader. A thread frees its readers before it ends; until then they hold up the writer. */
void fibula_reader_free(struct fibula_reader *reader);

/* Returns the table that is published now. It stays as it is, for this thread, until the next call
 * of fibula_reader_table, _offline or _free with this reader. Never waits: two loads and a store.
 * Call it once for each burst of packets: it is the quiescent state of liburcu. */
const struct fibula_table *fibula_reader_table(struct fibula_reader *reader);

/* Says that nothing is read until the next fibula_reader_table: before the thread sleeps. */
int fibula_reader_offline(struct fibula_reader *reader);

/* ---- many tables (VRFs) that come, change and go while others look up ---- */

/* Makes a set without tables. Each is a map from prefixes of both families to values of 32 bits
 * below UINT32_MAX, and is compiled by an engine that suits it: a table of few routes takes few
 * bytes, one without routes some dozen. One thread at a time may call the functions of a set. */
int fibula_vrfs_new(struct fibula_vrfs **vrfs);

/* Frees a set. Its readers may go on, and see what was published last. */
void fibula_vrfs_free(struct fibula_vrfs *vrfs);

/* Takes in a table without routes, and returns its id. The low 32 bits are a number, which is given
 * again after fibula_vrfs_destroy; the others tell its tables apart. So the id of a destroyed table
 * never reaches another. */
int fibula_vrfs_create(struct fibula_vrfs *vrfs, uint64_t *id);

/* Take in a change of the table `id`. -ENOENT: there is no such table. Removing a prefix that is
 * not there changes nothing. */
int fibula_vrfs_destroy(struct fibula_vrfs *vrfs, uint64_t id);
int fibula_vrfs_insert(struct fibula_vrfs *vrfs, uint64_t id, const struct fibula_prefix *prefix,
                       uint32_t value);
int fibula_vrfs_remove(struct fibula_vrfs *vrfs, uint64_t id, const struct fibula_prefix *prefix);

/* Takes in all prefixes of the table `id`, in place of those it has. */
int fibula_vrfs_replace(struct fibula_vrfs *vrfs, uint64_t id, const struct fibula_prefix *prefixes,
                        const uint32_t *values, size_t n);

/* Publishes what was taken in: IPv4 as a whole, then IPv6. If it fails, neither is published.
 * -EAGAIN is as for fibula_live_publish: all waits for the next call. -ENOSPC: the changes of one
 * table would pass a limit in one family. Those are dropped, and all others wait. */
int fibula_vrfs_publish(struct fibula_vrfs *vrfs, uint64_t timeout_ns);

/* Makes a reader: one for each thread that looks up. Any thread may make one, while no other
 * changes the set. */
int fibula_vrfs_reader_new(const struct fibula_vrfs *vrfs, struct fibula_vrfs_reader **reader);

/* Frees a reader. Between its calls a reader holds up no publication. */
void fibula_vrfs_reader_free(struct fibula_vrfs_reader *reader);

/* Returns the value of the longest prefix of the table `id` that contains an address. -ENOENT: none
 * does, or there is no such table. Never waits. */
int fibula_vrfs_lookup4(struct fibula_vrfs_reader *reader, uint64_t id, const void *addr,
                        uint32_t *value);
int fibula_vrfs_lookup6(struct fibula_vrfs_reader *reader, uint64_t id, const void *addr,
                        uint32_t *value);

/* Looks up `n` addresses that begin `stride` bytes apart, address i in the table ids[i]. out[i] is
 * its value, or `miss`. All answers are of one publication. The ids may be in any order. */
int fibula_vrfs_lookup_bulk4_be(struct fibula_vrfs_reader *reader, const uint64_t *ids,
                                const void *addrs, size_t stride, uint32_t *out, size_t n,
                                uint32_t miss);
int fibula_vrfs_lookup_bulk6_be(struct fibula_vrfs_reader *reader, const uint64_t *ids,
                                const void *addrs, size_t stride, uint32_t *out, size_t n,
                                uint32_t miss);

/* ---- files ---- */

/* Reads a table from a file in any format that fibula knows, compressed or not. A value that is a
 * number below 2^63 is that number. Another has its highest bit set, and fibula_text its text. */
int fibula_open(const char *path, const struct fibula_options *options,
                struct fibula_table **table);

/* Writes a table as a file that fibula maps without reading it. The file is replaced as a whole. */
int fibula_save(const struct fibula_table *table, const char *path);

/* Returns the length of the text that a value of a table from a file stands for, and writes as much
 * of it as there is room for, and a 0. -ENOENT: the value is a number. */
int fibula_text(const struct fibula_table *table, uint64_t value, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
