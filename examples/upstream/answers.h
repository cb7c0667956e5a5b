/* What the programs share that time a table and its answers. */
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Returns a sum of all answers that depends on their order. */
static uint64_t with_answer(uint64_t sum, uint64_t answer)
{
    return (sum ^ answer) * 1099511628211u;
}

static void report(double start, double loaded, double end, size_t n, uint64_t sum)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%.2f s to load, %.0f ns a lookup, %ld MiB, answers %016llx\n", loaded - start,
           (end - loaded) * 1e9 / n, used.ru_maxrss >> 10, (unsigned long long)sum);
}
