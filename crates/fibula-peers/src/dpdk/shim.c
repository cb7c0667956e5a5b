/* What Rust cannot reach: DPDK's inline functions and configuration structures, behind one small table type. */

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>

enum kind { FIB = 0, LPM = 1, LPM_X4 = 2, FIB6 = 3, LPM6 = 4 };

/* The addresses of one call to DPDK. */
#define BURST 64

struct table {
	enum kind kind;
	size_t bytes;
	union {
		struct rte_fib *fib;
		struct rte_lpm *lpm;
		struct rte_fib6 *fib6;
		struct rte_lpm6 *lpm6;
	};
};

static size_t allocated(void)
{
	struct rte_malloc_socket_stats stats;

	if (rte_malloc_get_socket_stats(0, &stats) < 0)
		return 0;
	return stats.heap_allocsz_bytes;
}

/* Starts DPDK's environment, once a process; 0, or a negative errno. */
int fibula_dpdk_start(int huge_pages)
{
	char *with[] = { "fibula", "--in-memory", "--no-pci", "--no-telemetry", "--log-level=*:error",
			 "--force-max-simd-bitwidth=512", "-l", "0", "-m", "2048", NULL };
	char *without[] = { "fibula", "--no-huge", "--no-pci", "--no-telemetry", "--log-level=*:error",
			    "--force-max-simd-bitwidth=512", "-l", "0", "-m", "8192", NULL };
	cpu_set_t cores;
	int result;

	/* It ties the thread to a core and leaves it there. */
	sched_getaffinity(0, sizeof(cores), &cores);
	result = rte_eal_init(10, huge_pages ? with : without);
	sched_setaffinity(0, sizeof(cores), &cores);
	return result < 0 ? -rte_errno : 0;
}

/* A table for so many routes and groups of 256 entries; NULL where it cannot be made. */
struct table *fibula_dpdk_create(int kind, uint32_t routes, uint32_t groups, uint32_t next_hop_bytes)
{
	static int number;
	struct table *table = calloc(1, sizeof(*table));
	size_t before = allocated();
	char name[24];

	if (table == NULL)
		return NULL;
	snprintf(name, sizeof(name), "fibula-%d", __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
	table->kind = kind;
	switch (table->kind) {
	case FIB: {
		struct rte_fib_conf conf = { .type = RTE_FIB_DIR24_8, .max_routes = routes };

		conf.dir24_8.nh_sz = next_hop_bytes == 1 ? RTE_FIB_DIR24_8_1B
				   : next_hop_bytes == 2 ? RTE_FIB_DIR24_8_2B : RTE_FIB_DIR24_8_4B;
		conf.dir24_8.num_tbl8 = groups;
		table->fib = rte_fib_create(name, SOCKET_ID_ANY, &conf);
		break;
	}
	case LPM:
	case LPM_X4: {
		struct rte_lpm_config conf = { .max_rules = routes, .number_tbl8s = groups };

		table->lpm = rte_lpm_create(name, SOCKET_ID_ANY, &conf);
		break;
	}
	case FIB6: {
		struct rte_fib6_conf conf = { .type = RTE_FIB6_TRIE, .max_routes = routes };

		conf.trie.nh_sz = next_hop_bytes <= 2 ? RTE_FIB6_TRIE_2B : RTE_FIB6_TRIE_4B;
		conf.trie.num_tbl8 = groups;
		table->fib6 = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
		break;
	}
	case LPM6: {
		struct rte_lpm6_config conf = { .max_rules = routes, .number_tbl8s = groups };

		table->lpm6 = rte_lpm6_create(name, SOCKET_ID_ANY, &conf);
		break;
	}
	}
	if (table->fib == NULL) {
		free(table);
		return NULL;
	}
	table->bytes = allocated() - before;
	return table;
}

void fibula_dpdk_free(struct table *table)
{
	switch (table->kind) {
	case FIB: rte_fib_free(table->fib); break;
	case LPM:
	case LPM_X4: rte_lpm_free(table->lpm); break;
	case FIB6: rte_fib6_free(table->fib6); break;
	case LPM6: rte_lpm6_free(table->lpm6); break;
	}
	free(table);
}

/* What DPDK's heap gave for it when it was made: its arrays have their full size from the start. */
size_t fibula_dpdk_bytes(const struct table *table)
{
	return table->bytes;
}

/* Announces (next_hop > 0) or withdraws. IPv4 prefixes are the first four bytes. Negative on failure. */
int fibula_dpdk_change(struct table *table, const uint8_t *prefix, uint8_t length, uint32_t next_hop)
{
	uint32_t ipv4 = (uint32_t)prefix[0] << 24 | prefix[1] << 16 | prefix[2] << 8 | prefix[3];

	switch (table->kind) {
	case FIB:
		return next_hop ? rte_fib_add(table->fib, ipv4, length, next_hop)
				: rte_fib_delete(table->fib, ipv4, length);
	case LPM:
	case LPM_X4:
		return next_hop ? rte_lpm_add(table->lpm, ipv4, length, next_hop)
				: rte_lpm_delete(table->lpm, ipv4, length);
	case FIB6:
		return next_hop ? rte_fib6_add(table->fib6, prefix, length, next_hop)
				: rte_fib6_delete(table->fib6, prefix, length);
	case LPM6:
		return next_hop ? rte_lpm6_add(table->lpm6, prefix, length, next_hop)
				: rte_lpm6_delete(table->lpm6, prefix, length);
	}
	return -1;
}

/* Stores an answer of whatever width the caller keeps. */
#define STORE(found)                                                                                       \
	do {                                                                                               \
		switch (width) {                                                                           \
		case 1: for (uint32_t i = 0; i < n; i++) ((uint8_t *)answers)[at + i] = (found); break;    \
		case 2: for (uint32_t i = 0; i < n; i++) ((uint16_t *)answers)[at + i] = (found); break;   \
		default: for (uint32_t i = 0; i < n; i++) ((uint32_t *)answers)[at + i] = (found); break;  \
		}                                                                                          \
	} while (0)

void fibula_dpdk_lookup4(const struct table *table, const uint32_t *addresses, uint32_t count, void *answers,
			 uint32_t width)
{
	uint64_t next_hops[BURST];
	uint32_t entries[BURST];

	for (uint32_t at = 0; at < count; at += BURST) {
		uint32_t n = RTE_MIN(count - at, (uint32_t)BURST);

		if (table->kind == FIB) {
			rte_fib_lookup_bulk(table->fib, (uint32_t *)(uintptr_t)(addresses + at), next_hops, n);
			STORE(next_hops[i]);
			continue;
		}
		if (table->kind == LPM_X4 && n == BURST) {
			for (uint32_t i = 0; i < BURST; i += 4)
				rte_lpm_lookupx4(table->lpm, _mm_loadu_si128((const __m128i *)(addresses + at + i)),
						 entries + i, 0);
			STORE(entries[i]);
			continue;
		}
		rte_lpm_lookup_bulk(table->lpm, addresses + at, entries, n);
		STORE(entries[i] & RTE_LPM_LOOKUP_SUCCESS ? entries[i] & 0x00FFFFFF : 0);
	}
}

/* Addresses in network order, as packets have them. */
void fibula_dpdk_lookup6(const struct table *table, const uint8_t (*addresses)[16], uint32_t count, void *answers,
			 uint32_t width)
{
	uint64_t next_hops[BURST];
	int32_t found[BURST];

	for (uint32_t at = 0; at < count; at += BURST) {
		uint32_t n = RTE_MIN(count - at, (uint32_t)BURST);
		uint8_t(*burst)[16] = (uint8_t(*)[16])(uintptr_t)(addresses + at);

		if (table->kind == FIB6) {
			rte_fib6_lookup_bulk(table->fib6, burst, next_hops, n);
			STORE(next_hops[i]);
		} else {
			rte_lpm6_lookup_bulk_func(table->lpm6, burst, found, n);
			STORE(found[i] < 0 ? 0 : found[i]);
		}
	}
}

/* One address by DPDK's own lookup of one, or in a burst of one where it has none; 0 without a route. */
uint32_t fibula_dpdk_lookup4_one(const struct table *table, uint32_t address)
{
	uint64_t next_hop = 0;
	uint32_t found;

	if (table->kind != FIB)
		return rte_lpm_lookup(table->lpm, address, &found) == 0 ? found : 0;
	rte_fib_lookup_bulk(table->fib, &address, &next_hop, 1);
	return next_hop;
}

/* As above. The address is in network order. */
uint32_t fibula_dpdk_lookup6_one(const struct table *table, const uint8_t address[16])
{
	uint8_t(*burst)[16] = (uint8_t(*)[16])(uintptr_t)address;
	uint64_t next_hop = 0;
	uint32_t found;

	if (table->kind != FIB6)
		return rte_lpm6_lookup(table->lpm6, *burst, &found) == 0 ? found : 0;
	rte_fib6_lookup_bulk(table->fib6, burst, &next_hop, 1);
	return next_hop;
}
