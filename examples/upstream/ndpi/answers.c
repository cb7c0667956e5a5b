/* Loads a table into a tree of nDPI and looks addresses up in it. answers TABLE ADDRESSES */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "ndpi_api.h"
#include "answers.h"

/* Reads a prefix, or an address. It ends at one of the bytes `ends`, a length follows on '/'. */
static void read_prefix(char *line, const char *ends, ndpi_prefix_t *prefix)
{
    char *end = line + strcspn(line, ends);
    int is_v6 = memchr(line, ':', end - line) != NULL;
    int maxbits = is_v6 ? 128 : 32, bits = *end == '/' ? atoi(end + 1) : maxbits;
    struct in6_addr addr;

    *end = 0;
    memset(prefix, 0, sizeof *prefix);
    if (inet_pton(is_v6 ? AF_INET6 : AF_INET, line, &addr) != 1)
        exit(2);
    if (is_v6 ? ndpi_fill_prefix_v6(prefix, &addr, bits, maxbits)
              : ndpi_fill_prefix_v4(prefix, (struct in_addr *)&addr, bits, maxbits))
        exit(2);
}

static uint64_t look_up(ndpi_patricia_tree_t *tree, ndpi_prefix_t *addrs, size_t n, uint64_t sum)
{
    for (size_t at = 0; at < n; at++) {
        ndpi_patricia_node_t *node = ndpi_patricia_search_best(tree, &addrs[at]);
        sum = with_answer(sum, node ? ndpi_patricia_get_node_u64(node) : 0);
    }
    return sum;
}

/* Removes a prefix of 100, and adds the first address of another. */
static void change(ndpi_patricia_tree_t *tree, FILE *file)
{
    char line[128];
    ndpi_prefix_t net;

    rewind(file);
    for (uint64_t row = 0; fgets(line, sizeof line, file); row++) {
        read_prefix(line, "/", &net);
        if (row % 100 == 0)
            ndpi_patricia_remove(tree, ndpi_patricia_search_exact(tree, &net));
        if (row % 100 == 50) {
            net.bitlen = tree->maxbits;
            ndpi_patricia_set_node_u64(ndpi_patricia_lookup(tree, &net), ~row);
        }
    }
}

int main(int argc, char **argv)
{
    size_t n = 0, room = 1 << 20;
    ndpi_prefix_t net, *addrs = calloc(room, sizeof *addrs);
    ndpi_patricia_tree_t *tree;
    ndpi_patricia_node_t *node;
    char line[128];
    uint64_t sum = 0, row = 0;
    double start, loaded, end;
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;

    if (!file || !addrs)
        return 2;
    while (n < room && fgets(line, sizeof line, file))
        read_prefix(line, "\n", &addrs[n++]);
    fclose(file);
    if (!n || !(file = fopen(argv[1], "r")))
        return 2;
    start = seconds();
    tree = ndpi_patricia_new(addrs[0].family == AF_INET ? 32 : 128);
    while (fgets(line, sizeof line, file)) {
        read_prefix(line, "/", &net);
        if (!(node = ndpi_patricia_lookup(tree, &net)))
            return 1;
        ndpi_patricia_set_node_u64(node, ++row);
    }
#if defined WITH_FIBULA
    if (ndpi_patricia_finalize(tree))
        return 1;
#endif
    loaded = seconds();
    sum = look_up(tree, addrs, n, sum);
    end = seconds();
    change(tree, file);
    sum = look_up(tree, addrs, n, sum);
    ndpi_patricia_destroy(tree, NULL);
    fclose(file);
    free(addrs);
    report(start, loaded, end, n, sum);
    return 0;
}
