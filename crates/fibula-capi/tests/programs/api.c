/* Every call, with right and wrong arguments; lookups beside a search through all prefixes. */
#include <errno.h>
#include <fibula.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FEW
#define ROUTES 200
#define ADDRESSES 500
#define PUBLICATIONS 20
#else
#define ROUTES 1000
#define ADDRESSES 2000
#define PUBLICATIONS 300
#endif

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s (%s)\n", __LINE__, #condition, fibula_error());                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static uint64_t state = 1;

static unsigned random_below(unsigned most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % most;
}

static void clear_host_bits(struct fibula_prefix *prefix)
{
    for (int bit = prefix->len; bit < 128; bit++)
        prefix->addr[bit / 8] &= (uint8_t) ~(0x80u >> (bit % 8));
}

static struct fibula_prefix random_prefix(uint8_t family)
{
    struct fibula_prefix prefix = {family, 0, {0}};
    prefix.len = (uint8_t)random_below(family == 4 ? 33 : 129);
    for (int i = 0; i < 16; i++)
        prefix.addr[i] = i == 0 ? (uint8_t)random_below(4) : (uint8_t)random_below(256);
    clear_host_bits(&prefix);
    return prefix;
}

static int contains(const struct fibula_prefix *prefix, uint8_t family, const uint8_t *addr)
{
    struct fibula_prefix other = {family, prefix->len, {0}};
    memcpy(other.addr, addr, family == 4 ? 4 : 16);
    clear_host_bits(&other);
    return family == prefix->family && memcmp(other.addr, prefix->addr, 16) == 0;
}

static struct fibula_prefix prefixes[ROUTES];
static uint64_t values[ROUTES];

/* Returns the route that is right, -1 if there is none: the longest, and of equal ones the last. */
static int right_route(uint8_t family, const uint8_t *addr)
{
    int best = -1;
    for (int i = 0; i < ROUTES; i++)
        if (contains(&prefixes[i], family, addr) && (best < 0 || prefixes[i].len >= prefixes[best].len))
            best = i;
    return best;
}

static uint8_t addrs[ADDRESSES][24];

static void compare(const struct fibula_table *table, uint8_t family)
{
    static uint64_t found[ADDRESSES];
    static uint32_t indices[ADDRESSES], hosts[ADDRESSES];
    size_t lengths[] = {1, 7, 8, 31, 32, 33, 255, 256, 257, ADDRESSES};
    for (int i = 0; i < ADDRESSES; i++) {
        for (int byte = 0; byte < 24; byte++)
            addrs[i][byte] = (uint8_t)random_below(byte == 3 ? 4 : 256);
        const uint8_t *a = addrs[i] + 3;
        hosts[i] = (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
    }
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t n = lengths[l] < ADDRESSES ? lengths[l] : ADDRESSES;
        memset(found, 0xAA, sizeof found);
        if (family == 4) {
            CHECK(fibula_lookup_bulk4_be(table, addrs[0] + 3, 24, found, n, 9) == 0);
            CHECK(fibula_lookup_bulk4_index(table, addrs[0] + 3, 24, indices, n) == 0);
        } else {
            CHECK(fibula_lookup_bulk6_be(table, addrs[0] + 3, 24, found, n, 9) == 0);
            CHECK(fibula_lookup_bulk6_index(table, addrs[0] + 3, 24, indices, n) == 0);
        }
        for (size_t i = 0; i < n; i++) {
            int right = right_route(family, addrs[i] + 3);
            uint64_t value = 5, by_index = 9;
            struct fibula_prefix prefix;
            int status = family == 4 ? fibula_lookup4(table, addrs[i] + 3, &value, &prefix)
                                     : fibula_lookup6(table, addrs[i] + 3, &value, &prefix);
            int known = fibula_value(table, indices[i], &by_index);
            CHECK(found[i] == (right < 0 ? 9 : values[right]));
            CHECK(status == (right < 0 ? -ENOENT : 0) && known == status && by_index == found[i]);
            CHECK(value == (right < 0 ? 5 : values[right]));
            CHECK(right < 0 || memcmp(&prefix, &prefixes[right], sizeof prefix) == 0);
        }
        CHECK(n == ADDRESSES || found[n] == 0xAAAAAAAAAAAAAAAAu);
        if (family == 4) {
            static uint64_t again[ADDRESSES];
            CHECK(fibula_lookup_bulk4_host(table, hosts, again, n, 9) == 0);
            CHECK(memcmp(again, found, n * sizeof *found) == 0);
        }
    }
}

static int count(void *context, const struct fibula_prefix *prefix, uint64_t value)
{
    (void)prefix;
    (void)value;
    return ++*(int *)context == 1000000 ? -7 : 0;
}

static int stop(void *context, const struct fibula_prefix *prefix, uint64_t value)
{
    (void)context;
    (void)prefix;
    (void)value;
    return 42;
}

static void wrong_arguments(struct fibula_table *table)
{
    struct fibula_prefix bits = {4, 8, {10, 1}}, longer = {4, 33, {0}}, family = {5, 0, {0}};
    struct fibula_prefix absent = {6, 128, {0xff, 0xff}};
    struct fibula_options options = {1, NULL, 0, 0};
    uint64_t value;
    size_t len = fibula_len(table);
    CHECK(fibula_insert(table, &bits, 1) == -EINVAL && strstr(fibula_error(), "10.1.0.0/8"));
    CHECK(fibula_insert(table, &longer, 1) == -EINVAL);
    CHECK(fibula_insert(table, &family, 1) == -EAFNOSUPPORT);
    CHECK(fibula_insert(NULL, &bits, 1) == -EINVAL && fibula_insert(table, NULL, 1) == -EINVAL);
    CHECK(fibula_remove(table, &absent) == -ENOENT && fibula_get(table, &absent, &value) == -ENOENT);
    CHECK(fibula_lookup_bulk4_be(table, &bits, 0, &value, 1, 0) == -EINVAL);
    CHECK(fibula_lookup_bulk4_be(table, NULL, 4, &value, 1, 0) == -EINVAL);
    CHECK(fibula_lookup_bulk4_be(table, NULL, 4, NULL, 0, 0) == 0);
    CHECK(fibula_lookup_bulk6_be(table, &bits, SIZE_MAX / 2, &value, 4, 0) == -EINVAL);
    CHECK(fibula_each(table, NULL, NULL) == -EINVAL);
    CHECK(fibula_table_new(&options, &table) == -EINVAL);
    CHECK(fibula_open("there is no such file", NULL, &table) == -EIO);
    CHECK(fibula_value(table, 0, &value) == -ENOENT);
    CHECK(fibula_len(table) == len && fibula_len(NULL) == 0 && fibula_memory(NULL) == 0);
    fibula_table_free(NULL);
    fibula_live_free(NULL);
    fibula_reader_free(NULL);
}

static void engines_and_limits(void)
{
    struct fibula_options options;
    struct fibula_table *table;
    fibula_options_init(&options, sizeof options);
    options.engine = "mosaic";
    options.huge_pages = 1;
    CHECK(fibula_table_new(&options, &table) == 0);
    struct fibula_prefix ipv4 = {4, 8, {10}}, ipv6 = {6, 8, {0x20}};
    CHECK(fibula_insert(table, &ipv4, 1) == 0 && fibula_insert(table, &ipv6, 1) == -EAFNOSUPPORT);
    struct fibula_prefix both[2] = {{4, 8, {11}}, {6, 8, {0x20}}};
    CHECK(fibula_insert_many(table, both, values, 2) == -EAFNOSUPPORT && fibula_len(table) == 1);
    fibula_table_free(table);
    options.engine = NULL;
    options.max_bytes = 1 << 17;
    CHECK(fibula_table_new(&options, &table) == 0);
    CHECK(fibula_insert(table, &ipv4, 1) == 0);
    size_t inserted = 0;
    for (int i = 0; i < 100000; i++) {
        struct fibula_prefix prefix = random_prefix(4);
        int status = fibula_insert(table, &prefix, 1000000u + (unsigned)i);
        CHECK(status == 0 || status == -ENOSPC);
        if (status < 0)
            break;
        inserted++;
    }
    CHECK(inserted < 100000 && fibula_len(table) > 0 && fibula_len(table) <= inserted + 1);
    fibula_table_free(table);
}

static struct fibula_live *live;
static int done;

/* Values of both prefixes are published together. */
static void *read_both(void *context)
{
    struct fibula_reader *reader = context;
    uint8_t first[4] = {10}, second[4] = {11};
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
        const struct fibula_table *table = fibula_reader_table(reader);
        uint64_t a = 0, b = 0;
        fibula_lookup4(table, first, &a, NULL);
        fibula_lookup4(table, second, &b, NULL);
        CHECK(a == b);
        if (a % 3 == 0)
            CHECK(fibula_reader_offline(reader) == 0);
    }
    fibula_reader_free(reader);
    return NULL;
}

static void live_tables(void)
{
    struct fibula_table *table, *another;
    struct fibula_prefix a = {4, 8, {10}}, b = {4, 8, {11}};
    struct fibula_reader *reader;
    pthread_t threads[2];
    CHECK(fibula_table_new(NULL, &table) == 0 && fibula_live_new(table, &live) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(fibula_reader_new(live, &reader) == 0);
        CHECK(pthread_create(&threads[i], NULL, read_both, reader) == 0);
    }
    for (uint64_t i = 1; i <= PUBLICATIONS; i++) {
        CHECK(fibula_live_insert(live, &a, i) == 0 && fibula_live_insert(live, &b, i) == 0);
        CHECK(fibula_live_pending(live) == 2 && fibula_live_publish(live, 10000000000u) == 0);
        if (i % 50 == 0) {
            CHECK(fibula_live_remove(live, &a) == 0 && fibula_live_discard(live) == 0);
            CHECK(fibula_table_new(NULL, &another) == 0 && fibula_live_replace(live, another) == 0);
            CHECK(fibula_live_publish(live, 10000000000u) == 0);
        }
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* A reader that stays holds the writer up, which never blocks where it may not. */
    CHECK(fibula_reader_new(live, &reader) == 0 && fibula_reader_table(reader) != NULL);
    CHECK(fibula_live_insert(live, &a, 7) == 0 && fibula_live_publish(live, 0) == 0);
    CHECK(fibula_live_insert(live, &a, 8) == 0 && fibula_live_publish(live, 0) == -EAGAIN);
    CHECK(fibula_live_pending(live) == 1 && fibula_reader_offline(reader) == 0);
    CHECK(fibula_live_publish(live, 0) == 0);
    fibula_live_free(live);
    uint64_t value;
    CHECK(fibula_lookup4(fibula_reader_table(reader), a.addr, &value, NULL) == 0 && value == 8);
    fibula_reader_free(reader);
}

/* What is refused is taken back, and the next publication begins without it. */
static void refused_changes(void)
{
    struct fibula_options options;
    struct fibula_table *table;
    struct fibula_live *limited;
    struct fibula_reader *reader;
    struct fibula_prefix good = {4, 8, {12}};
    uint64_t value;
    fibula_options_init(&options, sizeof options);
    options.max_bytes = 400000;
    CHECK(fibula_table_new(&options, &table) == 0 && fibula_insert(table, &good, 1) == 0);
    CHECK(fibula_live_new(table, &limited) == 0 && fibula_reader_new(limited, &reader) == 0);
    for (uint64_t round = 2; round < 6; round++) {
        for (unsigned i = 0; i < 60000; i++) {
            struct fibula_prefix p = {4, 24, {20, (uint8_t)(i >> 8), (uint8_t)i}};
            CHECK(fibula_live_insert(limited, &p, i) == 0);
        }
        CHECK(fibula_live_publish(limited, 0) == -ENOSPC && fibula_live_pending(limited) == 0);
        CHECK(fibula_lookup4(fibula_reader_table(reader), good.addr, &value, NULL) == 0);
        CHECK(value == round - 1 && fibula_len(fibula_reader_table(reader)) == 1);
        CHECK(fibula_reader_offline(reader) == 0);
        CHECK(fibula_live_insert(limited, &good, round) == 0 && fibula_live_publish(limited, 0) == 0);
        CHECK(fibula_lookup4(fibula_reader_table(reader), good.addr, &value, NULL) == 0);
        CHECK(value == round && fibula_reader_offline(reader) == 0);
    }
    fibula_live_free(limited);
    fibula_reader_free(reader);
}

/* An index that no route has any more answers no value. */
static void freed_indices(void)
{
    struct fibula_table *table;
    struct fibula_prefix a = {4, 8, {10}}, b = {4, 8, {11}};
    uint8_t addresses[2][4] = {{10}, {11}};
    uint32_t indices[2];
    uint64_t value;
    CHECK(fibula_table_new(NULL, &table) == 0);
    CHECK(fibula_insert(table, &a, 70) == 0 && fibula_insert(table, &b, 71) == 0);
    CHECK(fibula_lookup_bulk4_index(table, addresses, 4, indices, 2) == 0);
    CHECK(fibula_value(table, indices[0], &value) == 0 && value == 70);
    CHECK(fibula_remove(table, &a) == 0);
    CHECK(fibula_value(table, indices[0], &value) == -ENOENT);
    CHECK(fibula_value(table, indices[1], &value) == 0 && value == 71);
    fibula_table_free(table);
}

#define TABLES 4

static uint64_t ids[TABLES];

/* The value of the longest prefix of a table, whose prefixes are every TABLES-th. UINT32_MAX if
 * there is none. */
static uint32_t expected(int table, uint8_t family, const uint8_t *addr)
{
    uint32_t found = UINT32_MAX;
    int longest = -1;
    for (int i = table; i < ROUTES; i += TABLES)
        if (prefixes[i].len >= longest && contains(&prefixes[i], family, addr)) {
            longest = prefixes[i].len;
            found = (uint32_t)values[i] % 100;
        }
    return found;
}

static void compare_tables(struct fibula_vrfs_reader *reader, uint8_t family)
{
    static struct fibula_prefix addrs[ADDRESSES];
    static uint64_t in[ADDRESSES];
    static uint32_t out[ADDRESSES];
    for (int i = 0; i < ADDRESSES; i++) {
        addrs[i] = random_prefix(family);
        in[i] = ids[random_below(TABLES)];
    }
    if (family == 4)
        CHECK(fibula_vrfs_lookup_bulk4_be(reader, in, addrs[0].addr, sizeof addrs[0], out, ADDRESSES,
                                          UINT32_MAX) == 0);
    else
        CHECK(fibula_vrfs_lookup_bulk6_be(reader, in, addrs[0].addr, sizeof addrs[0], out, ADDRESSES,
                                          UINT32_MAX) == 0);
    for (int i = 0; i < ADDRESSES; i++) {
        int table = 0;
        while (ids[table] != in[i])
            table++;
        uint32_t value = UINT32_MAX;
        int status = family == 4 ? fibula_vrfs_lookup4(reader, in[i], addrs[i].addr, &value)
                                 : fibula_vrfs_lookup6(reader, in[i], addrs[i].addr, &value);
        CHECK(out[i] == expected(table, family, addrs[i].addr) && value == out[i]);
        CHECK(status == (value == UINT32_MAX ? -ENOENT : 0));
    }
}

static void many_tables(void)
{
    struct fibula_vrfs *vrfs;
    struct fibula_vrfs_reader *reader;
    static struct fibula_prefix some[ROUTES];
    static uint32_t numbers[ROUTES];
    CHECK(fibula_vrfs_new(&vrfs) == 0 && fibula_vrfs_reader_new(vrfs, &reader) == 0);
    for (int i = 0; i < TABLES; i++)
        CHECK(fibula_vrfs_create(vrfs, &ids[i]) == 0);
    /* The first is given its routes at once, the others one by one, some after others. */
    size_t n = 0;
    for (int i = 0; i < ROUTES; i++) {
        /* Of equal prefixes the last counts, as in `expected`. */
        some[n] = prefixes[i];
        numbers[n] = (uint32_t)values[i] % 100;
        n += i % TABLES == 0;
        CHECK(fibula_vrfs_insert(vrfs, ids[i % TABLES], &prefixes[i], 7) == 0);
        if (i % 3 == 0)
            CHECK(fibula_vrfs_remove(vrfs, ids[i % TABLES], &prefixes[i]) == 0);
    }
    CHECK(fibula_vrfs_publish(vrfs, 0) == 0);
    CHECK(fibula_vrfs_replace(vrfs, ids[0], some, numbers, n) == 0);
    for (int i = 0; i < ROUTES; i++)
        CHECK(fibula_vrfs_insert(vrfs, ids[i % TABLES], &prefixes[i], (uint32_t)values[i] % 100) == 0);
    CHECK(fibula_vrfs_publish(vrfs, 0) == 0);
    compare_tables(reader, 4);
    compare_tables(reader, 6);
    /* An id is of one table, also after another has its number. */
    uint64_t gone = ids[1], next, other;
    uint32_t value;
    struct fibula_prefix all = {4, 0, {0}};
    CHECK(fibula_vrfs_destroy(vrfs, gone) == 0 && fibula_vrfs_destroy(vrfs, gone) == -ENOENT);
    CHECK(fibula_vrfs_insert(vrfs, gone, &all, 1) == -ENOENT && strstr(fibula_error(), "no table"));
    CHECK(fibula_vrfs_create(vrfs, &next) == 0 && (uint32_t)next == (uint32_t)gone && next != gone);
    CHECK(fibula_vrfs_insert(vrfs, next, &all, UINT32_MAX - 1) == 0);
    CHECK(fibula_vrfs_insert(vrfs, next, &all, UINT32_MAX) == -ERANGE);
    CHECK(fibula_vrfs_publish(vrfs, 0) == 0);
    CHECK(fibula_vrfs_lookup4(reader, gone, all.addr, &value) == -ENOENT);
    CHECK(fibula_vrfs_lookup4(reader, next, all.addr, &value) == 0 && value == UINT32_MAX - 1);
    CHECK(fibula_vrfs_lookup4(reader, next, NULL, &value) == -EINVAL);
    CHECK(fibula_vrfs_lookup4(NULL, next, all.addr, &value) == -EINVAL);
    CHECK(fibula_vrfs_lookup_bulk4_be(reader, NULL, all.addr, 4, &value, 1, 0) == -EINVAL);
    CHECK(fibula_vrfs_lookup_bulk4_be(reader, &next, all.addr, 0, &value, 1, 0) == -EINVAL);
    CHECK(fibula_vrfs_lookup_bulk4_be(reader, NULL, NULL, 4, NULL, 0, 0) == 0);
    CHECK(fibula_vrfs_create(NULL, &other) == -EINVAL && fibula_vrfs_create(vrfs, NULL) == -EINVAL);
    fibula_vrfs_free(vrfs);
    CHECK(fibula_vrfs_lookup4(reader, next, all.addr, NULL) == 0);
    fibula_vrfs_reader_free(reader);
    fibula_vrfs_reader_free(NULL);
    fibula_vrfs_free(NULL);
}

int main(void)
{
    struct fibula_table *table, *copy, *aggregate;
    int visited = 0;
    uint64_t value;
    CHECK(strcmp(fibula_error(), "") == 0 && strlen(fibula_version()) >= 5);
    for (int i = 0; i < ROUTES; i++) {
        prefixes[i] = random_prefix(i % 2 ? 4 : 6);
        values[i] = i % 10 ? random_below(50) : UINT64_MAX - random_below(50);
    }
    CHECK(fibula_table_new(NULL, &table) == 0);
    CHECK(fibula_insert_many(table, prefixes, values, ROUTES) == 0);
    compare(table, 4);
    compare(table, 6);
    CHECK(fibula_table_copy(table, &copy) == 0 && fibula_aggregate(table, &aggregate) == 0);
    CHECK(fibula_len(aggregate) <= fibula_len(table) && fibula_len(copy) == fibula_len(table));
    CHECK(fibula_each(table, count, &visited) == 0 && (size_t)visited == fibula_len(table));
    CHECK(fibula_each(table, stop, NULL) == 42);
    CHECK(fibula_memory(table) > 1000);
    struct fibula_prefix all = {6, 0, {0}}, host = {4, 32, {1, 2, 3, 4}};
    visited = 0;
    CHECK(fibula_each_covered(table, &all, count, &visited) == 0 && visited > ROUTES / 4);
    visited = 0;
    CHECK(fibula_each_covering(table, &host, count, &visited) == 0 && visited < 34);
    CHECK(fibula_overlaps(table, &all) == 1 && fibula_overlaps(table, &host) == (visited > 0));
    /* Half of them change one by one, and are as if they had been there from the beginning. */
    for (int i = 0; i < ROUTES; i++)
        if (i % 4 < 2)
            CHECK(fibula_remove(table, &prefixes[i]) == 0 || fibula_get(table, &prefixes[i], &value) == -ENOENT);
    for (int i = 0; i < ROUTES; i++)
        CHECK(fibula_insert(table, &prefixes[i], values[i]) == 0);
    compare(table, 4);
    compare(table, 6);
    CHECK(fibula_save(table, "api.fib") == 0);
    fibula_table_free(table);
    CHECK(fibula_open("api.fib", NULL, &table) == 0 && fibula_len(table) == fibula_len(copy));
    wrong_arguments(table);
    CHECK(fibula_clear(copy) == 0 && fibula_len(copy) == 0 && fibula_overlaps(copy, &all) == 0);
    fibula_table_free(table);
    fibula_table_free(copy);
    fibula_table_free(aggregate);
    engines_and_limits();
    live_tables();
    refused_changes();
    freed_indices();
    many_tables();
    return 0;
}
