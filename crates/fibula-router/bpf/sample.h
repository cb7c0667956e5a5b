/* Samples: one of many packets, drawn at random, with the beginning of its frame as it came. */
#ifndef FIBULA_SAMPLE_H
#define FIBULA_SAMPLE_H

#include "packets.h"

/* Of how many packets one is taken; 0 none, and then nothing of this is in the program. */
const volatile __u32 sample_rate = 0;

#define SAMPLED 128

struct sample {
    __u32 interface; /* the kernel's index */
    __u32 bytes;     /* of the frame */
    __u32 taken;     /* of those */
    __u8 frame[SAMPLED];
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_RINGBUF);
    MAP_NUMBER(max_entries, 4096);
} samples SEC(".maps");

/* Samples that found no room. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, __u64);
} lost_samples SEC(".maps");

INLINE void sample(struct xdp_md *ctx, __u32 interface)
{
    __u32 bytes = bpf_xdp_get_buff_len(ctx), taken = bytes, key = 0;
    struct sample *sample;
    __u64 *lost;

    if ((__u64)bpf_get_prandom_u32() * sample_rate >> 32)
        return;
    sample = bpf_ringbuf_reserve(&samples, sizeof(*sample), 0);
    if (!sample) {
        lost = bpf_map_lookup_elem(&lost_samples, &key);
        if (lost)
            ++*lost;
        return;
    }
    sample->interface = interface;
    sample->bytes = bytes;
    /* The verifier must see the bounds, so the compiler must not take them for known. */
    asm volatile("" : "+r"(taken));
    if (taken > SAMPLED)
        taken = SAMPLED;
    sample->taken = taken;
    if (!taken || bpf_xdp_load_bytes(ctx, 0, sample->frame, taken)) {
        bpf_ringbuf_discard(sample, 0);
        return;
    }
    bpf_ringbuf_submit(sample, 0);
}

#endif
