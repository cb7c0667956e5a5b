/* Loads a networks_file as pmacct does and looks addresses up in it.
 * answers NETWORKS ADDRESSES */
#include "pmacct.h"
#include "pmacct-data.h"
#include "net_aggr.h"
#include "answers.h"

int main(int argc, char **argv)
{
    size_t n = 0, at, room = 1 << 20;
    struct host_addr *addrs = calloc(room, sizeof *addrs);
    char line[64];
    uint64_t sum = 0;
    double start, loaded;
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!file || !addrs)
        return 2;
    compute_once();
    while (n < room && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        str_to_addr(line, &addrs[n++]);
    }
    start = seconds();
    load_networks(argv[1], &nt, &nc);
    loaded = seconds();
    for (at = 0; at < n; at++) {
        uint64_t as, masknum;
        if (addrs[at].family == AF_INET) {
            struct networks_table_entry *found = binsearch(&nt, &nc, &addrs[at]);
            as = found ? found->as : 0, masknum = found ? found->masknum : 255;
        } else {
            struct networks6_table_entry *found = binsearch6(&nt, &nc, &addrs[at]);
            as = found ? found->as : 0, masknum = found ? found->masknum : 255;
        }
        sum = with_answer(sum, as << 8 | masknum);
    }
    report(start, loaded, seconds(), n, sum);
    return 0;
}
