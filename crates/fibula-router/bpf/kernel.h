/* What a program gets from the kernel: the helpers that it calls, how maps are declared, and
 * byte order. */
#ifndef FIBULA_KERNEL_H
#define FIBULA_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
/* A function of its own: the verifier follows it once, not once on each path that leads to it. */
#define CALLED __attribute__((noinline))

/* A map's attributes, as its type tells the loader. */
#define MAP_NUMBER(name, value) int (*name)[value]
#define MAP_TYPE(name, type) typeof(type) *name
#define MAP_INNER(type) typeof(type) *values[]

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const bpf_redirect_map)(void *map, __u64 key, __u64 flags) = (void *)BPF_FUNC_redirect_map;
static long (*const bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_head;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_tail;
static __u64 (*const bpf_xdp_get_buff_len)(struct xdp_md *ctx) = (void *)BPF_FUNC_xdp_get_buff_len;
static long (*const bpf_xdp_load_bytes)(struct xdp_md *ctx, __u32 offset, void *to, __u32 size) =
    (void *)BPF_FUNC_xdp_load_bytes;
static __u32 (*const bpf_get_prandom_u32)(void) = (void *)BPF_FUNC_get_prandom_u32;
static void *(*const bpf_ringbuf_reserve)(void *map, __u64 size, __u64 flags) = (void *)BPF_FUNC_ringbuf_reserve;
static long (*const bpf_ringbuf_output)(void *map, const void *data, __u64 size, __u64 flags) =
    (void *)BPF_FUNC_ringbuf_output;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static void (*const bpf_ringbuf_submit)(void *data, __u64 flags) = (void *)BPF_FUNC_ringbuf_submit;
static void (*const bpf_ringbuf_discard)(void *data, __u64 flags) = (void *)BPF_FUNC_ringbuf_discard;
static long (*const bpf_fib_lookup)(void *ctx, struct bpf_fib_lookup *params, int size, __u32 flags) =
    (void *)BPF_FUNC_fib_lookup;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NET16(value) __builtin_bswap16(value)
#define NET32(value) __builtin_bswap32(value)
#define NET64(value) __builtin_bswap64(value)
#else
#error "the tables are written least significant byte first"
#endif

/* The version of the compiler, for the check that compares the objects: another version makes
 * other objects. */
const char fibula_compiler[] SEC("compiler") = __VERSION__;

char fibula_license[] SEC("license") = "Dual MIT/GPL";

#endif
