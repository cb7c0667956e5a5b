/* ACLs: which packets of an interface are forwarded, by sets of lines (see src/acl). A set
 * has a bit for each line. The answers of the tables of sources and destinations are numbers of
 * sets, and arrays have one for each port, length and protocol. The lowest bit that is in all of
 * them is the line.
 */
#ifndef FIBULA_ACL_H
#define FIBULA_ACL_H

#include "packets.h"
#include "tables.h"

/* The cells of a set, at most; of the sets of this program; 0 without ACLs, and then nothing of
 * them is in the program. */
#define SET_CELLS 4
const volatile __u32 set_cells = 0;

CELLS(acl_sets);

/* Of each ACL, from 1 on, the sets of the values of fields, and that of the lines that permit. */
#define SOURCE_PORTS 0
#define DESTINATION_PORTS (1 << 16)
#define LENGTHS (2 << 16)
#define PROTOCOLS (3 << 16)
#define NO_PORTS (PROTOCOLS + 256)
#define PERMITS (NO_PORTS + 1)
#define FIELDS (PROTOCOLS + 512)

CELLS(acl_fields);

/* Packets by line, of all ACLs; one more for each, of those that no line matches. */
struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct count);
} of_lines SEC(".maps");

/* The lines of an ACL in that map, with the one more. */
#define LINES (SET_CELLS * CELL * 8 + 1)

/* The sets of what an ACL looks at, and that of the lines that permit. */
enum looked_at {
    SOURCE,
    DESTINATION,
    SOURCE_PORT,
    DESTINATION_PORT,
    LENGTH,
    PROTOCOL,
    PERMITTING,
    SETS,
};

struct looked {
    __u32 acl;
    __u32 sets[SETS];
};

INLINE __u32 field_of(__u32 acl, __u32 index)
{
    return READ(__u16, ((struct cells){&acl_fields, 0}), (acl - 1) * FIELDS + index);
}

#define DISCOVERY_FIRST 133
#define DISCOVERY_LAST 137

/* Whether a packet is neighbour discovery between hosts of a link (RFC 4861). As ARP, it is of no
 * list: no router forwards it, and without it there is no link. */
INLINE int is_discovery(const struct ipv6hdr *ip, const void *end)
{
    const __u8 *icmp = (const void *)(ip + 1);
    __u64 high = NET64(*(const __u64 *)&ip->daddr);

    return ip->nexthdr == IPPROTO_ICMPV6 && ip->hop_limit == 255 && (const void *)(icmp + 1) <= end &&
           *icmp >= DISCOVERY_FIRST && *icmp <= DISCOVERY_LAST && (is_link_local6(high) || high >> 48 == 0xff02);
}

/* Notes what an ACL looks at beside the addresses. */
INLINE void look(struct looked *looked, __u32 length, __u8 protocol, const __be16 *ports, const void *end)
{
    __u32 acl = looked->acl;

    if (length > 0xffff)
        length = 0xffff;
    looked->sets[PERMITTING] = field_of(acl, PERMITS);
    looked->sets[LENGTH] = field_of(acl, LENGTHS + length);
    looked->sets[PROTOCOL] = field_of(acl, PROTOCOLS + protocol);
    if (has_ports(protocol) && ports && (const void *)(ports + 2) <= end) {
        looked->sets[SOURCE_PORT] = field_of(acl, SOURCE_PORTS + NET16(ports[0]));
        looked->sets[DESTINATION_PORT] = field_of(acl, DESTINATION_PORTS + NET16(ports[1]));
    } else {
        looked->sets[SOURCE_PORT] = looked->sets[DESTINATION_PORT] = field_of(acl, NO_PORTS);
    }
}

INLINE const volatile __u64 *set_of(__u32 set, __u32 cell)
{
    return bytes_at((struct cells){&acl_sets, 0}, ((__u64)set * set_cells + cell) * CELL, CELL);
}

/* The index of the lowest bit of a word that is not 0. */
INLINE __u32 lowest(__u64 word)
{
    __u32 index = 0;
    word &= -word;
    index |= word & 0xffffffff00000000ull ? 32 : 0;
    index |= word & 0xffff0000ffff0000ull ? 16 : 0;
    index |= word & 0xff00ff00ff00ff00ull ? 8 : 0;
    index |= word & 0xf0f0f0f0f0f0f0f0ull ? 4 : 0;
    index |= word & 0xccccccccccccccccull ? 2 : 0;
    index |= word & 0xaaaaaaaaaaaaaaaaull ? 1 : 0;
    return index;
}

/* The first line, and a bit above it if it permits; without one that permits, the one more. */
#define PERMITTED 0x10000
#define UNMATCHED ((LINES - 1) | PERMITTED)

CALLED __u32 first_line(const struct looked *looked)
{
    if (!looked)
        return UNMATCHED;
    for (__u32 cell = 0; cell < SET_CELLS && cell < set_cells; cell++) {
        const volatile __u64 *sets[SETS];
        for (__u32 at = 0; at < SETS; at++) {
            sets[at] = set_of(looked->sets[at], cell);
            if (!sets[at])
                return UNMATCHED;
        }
        for (__u32 word = 0; word < CELL / 8; word++) {
            __u64 found = sets[0][word] & sets[1][word] & sets[2][word] & sets[3][word] & sets[4][word] & sets[5][word];
            if (found) {
                __u32 is_permitted = found & -found & sets[PERMITTING][word] ? PERMITTED : 0;
                return cell * CELL * 8 + word * 64 + lowest(found) + is_permitted;
            }
        }
    }
    return UNMATCHED;
}

/* Whether an ACL lets a packet of a frame of `bytes` pass, and counts it. */
INLINE int is_permitted(const struct looked *looked, struct fate *fate, __u32 bytes)
{
    __u32 line = first_line(looked), at = (looked->acl - 1) * LINES + (line & (PERMITTED - 1));
    struct count *count = bpf_map_lookup_elem(&of_lines, &at);

    fate->steps |= BY_ACL;
    fate->acl = looked->acl;
    fate->line = line;
    if (count) {
        count->packets++;
        count->bytes += bytes;
    }
    return line & PERMITTED;
}

#endif
