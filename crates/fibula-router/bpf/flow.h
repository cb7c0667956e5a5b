/* Which packets are one flow: they take the same leg of a route.
 *
 *   packet ─┬─ an ICMP error ─────────▶ the packet that it quotes, as if that came back
 *           ├─ a tunnel's, by choice ─▶ the packet in it
 *           └─ any other ─────────────▶ its addresses, protocol and ports; by choice its flow
 *                                       label, or the SPI of ESP
 *
 * An error about a packet goes to where that came from, and must take the leg that packets to there
 * take: so the addresses and ports of what it quotes are read the other way round. A label and an
 * SPI are of one direction. Errors about flows that are told apart by these cannot follow them.
 *
 * A packet that was cut has no ports, as its later parts have none: all parts take one leg.
 */
#ifndef FIBULA_FLOW_H
#define FIBULA_FLOW_H

#include "packets.h"

/* What tells flows apart: addresses; protocol and ports too; or those of the packet that IPIP or
 * GRE carries. */
enum hashed { L3, L4, INNER };
const volatile __u32 hashed = L4;

/* Whether the flow label of IPv6, and the SPI of ESP, do so too. */
const volatile __u32 hashes_label = 0;
const volatile __u32 hashes_spi = 0;

/* What each flow is combined with. */
const volatile __u64 hash_mask = 0;

INLINE __u64 mixed(__u64 value)
{
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15ull;
    value ^= value >> 29;
    value *= 0xbf58476d1ce4e5b9ull;
    return value ^ value >> 32;
}

/* The packet of a frame that may tell its flow. */
struct told {
    __u32 header; /* the bytes before it */
    __u32 is_ipv4;
    __u32 is_back; /* it goes the other way */
};

/* How many packets are looked at: a tunnel's, the error in that, and what this quotes. */
#define TOLD_MAX 3

/* Where the headers of such packets are. */
#define TOLD_AT_MOST 1024

/* Both ports of a packet, or its SPI; 0 without any, or where they are not there. */
INLINE __u32 ports_of(__u8 protocol, const __u32 *payload, const void *end)
{
    if (!payload || (const void *)(payload + 1) > end)
        return 0;
    return has_ports(protocol) || (hashes_spi && protocol == IPPROTO_ESP) ? *payload : 0;
}

INLINE __u32 turned(__u32 ports, __u32 is_back)
{
    return is_back ? ports << 16 | ports >> 16 : ports;
}

/* The flow by the addresses, the protocol and the ports of a packet, mixed. */
INLINE __u64 flow4(const struct iphdr *ip, __u32 ports, int is_cut, __u32 is_back)
{
    __u64 flow = is_back ? (__u64)ip->daddr << 32 | ip->saddr : (__u64)ip->saddr << 32 | ip->daddr;
    if (hashed == L3)
        return flow;
    return (is_cut ? flow : mixed(flow) ^ turned(ports, is_back)) + ip->protocol;
}

INLINE __u64 flow6(const struct ipv6hdr *ip, __u32 ports, __u8 protocol, __u32 is_back)
{
    const __u64 *source = (const void *)(is_back ? &ip->daddr : &ip->saddr);
    const __u64 *destination = (const void *)(is_back ? &ip->saddr : &ip->daddr);
    __u64 flow = mixed(source[0] ^ mixed(source[1])) ^ mixed(destination[0] + mixed(destination[1] + 1));
    if (hashes_label)
        flow ^= mixed(*(const __u32 *)ip & NET32(0x000fffff));
    return hashed == L3 ? flow : flow + ((__u64)turned(ports, is_back) << 8 | protocol);
}

/* Whether ICMP of a type is an error, which quotes a packet. */
INLINE int is_error4(__u8 type)
{
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

INLINE int is_error6(__u8 type)
{
    return type >= 1 && type <= 4;
}

/* The bytes of ICMP before the packet that an error quotes. */
#define QUOTED 8

/* Where the packet begins that another one carries, and of which family it is; 0 if none. */
INLINE const void *carried(__u8 protocol, const __u8 *payload, const void *end, __be16 *kind)
{
    if (protocol == IPPROTO_IPIP) {
        *kind = NET16(ETH_P_IP);
        return payload;
    }
    if (protocol == IPPROTO_IPV6) {
        *kind = NET16(ETH_P_IPV6);
        return payload;
    }
    /* Not GRE with a source route, nor of PPTP. */
    if (protocol != IPPROTO_GRE || payload + 4 > (const __u8 *)end || payload[0] & 0x40 || payload[1] & 7)
        return 0;
    *kind = *(const __be16 *)(payload + 2);
    return payload + 4 + 4 * ((payload[0] >> 7) + (payload[0] >> 5 & 1) + (payload[0] >> 4 & 1));
}

/* Goes on to the packet that another one quotes or carries, if it tells the flow. */
INLINE void go_inside(struct told *told, __u8 protocol, const __u8 *payload, const void *data, const void *end)
{
    __u8 icmp = told->is_ipv4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    const void *header = 0;
    __be16 kind = told->is_ipv4 ? NET16(ETH_P_IP) : NET16(ETH_P_IPV6);
    __u32 is_back = told->is_back;

    if (!payload)
        return;
    if (protocol == icmp) {
        if ((const void *)(payload + QUOTED) > end ||
            !(told->is_ipv4 ? is_error4(payload[0]) : is_error6(payload[0])))
            return;
        header = payload + QUOTED;
        is_back = !is_back;
    } else if (hashed == INNER) {
        header = carried(protocol, payload, end, &kind);
    }
    if (!header)
        return;
    if (kind == NET16(ETH_P_IP)) {
        const struct iphdr *ip = header;
        if ((const void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
            return;
    } else {
        const struct ipv6hdr *ip = header;
        if (kind != NET16(ETH_P_IPV6) || (const void *)(ip + 1) > end || ip->version != 6)
            return;
    }
    *told = (struct told){.header = header - data, .is_ipv4 = kind == NET16(ETH_P_IP), .is_back = is_back};
}

/* The flow of a packet by its own headers, mixed. `told` is the packet within it afterwards, if
 * that tells the flow. */
CALLED __u64 flow_at(struct xdp_md *ctx, struct told *told)
{
    const void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    const void *header = data, *payload;
    __u32 is_back;
    __u8 protocol;
    __u64 flow;
    int is_cut;

    /* The verifier wants to see that the header is near. */
    if (!told || told->header > TOLD_AT_MOST)
        return 0;
    header += told->header;
    is_back = told->is_back;
    if (told->is_ipv4) {
        const struct iphdr *ip = header;
        if ((const void *)(ip + 1) > end)
            return 0;
        payload = payload4(ip, &protocol);
        /* What is quoted may be cut although what comes back is not: its first part has ports. */
        is_cut = is_back ? !payload : is_part(ip);
        if (is_cut)
            payload = 0;
        flow = flow4(ip, ports_of(protocol, payload, end), is_cut, is_back);
    } else {
        const struct ipv6hdr *ip = header;
        if ((const void *)(ip + 1) > end)
            return 0;
        payload = payload6(ip, end, &protocol, &is_cut);
        if (is_cut && !(is_back && payload)) {
            payload = 0;
            protocol = IPPROTO_FRAGMENT;
        }
        flow = flow6(ip, ports_of(protocol, payload, end), protocol, is_back);
    }
    go_inside(told, protocol, payload, data, end);
    return flow;
}

/* The flow of a packet, whose header is after `at` bytes of the frame and all there. */
INLINE __u64 flow_of(struct xdp_md *ctx, const void *header, __u32 at, __u32 is_ipv4)
{
    const void *end = (void *)(long)ctx->data_end;
    struct told told = {.header = at, .is_ipv4 = is_ipv4};
    __u64 flow = 0;

    /* Most packets are whole and have ports behind their header. */
    if (is_ipv4) {
        const struct iphdr *ip = header;
        if (has_ports(ip->protocol) && !is_part(ip))
            return flow4(ip, ports_of(ip->protocol, (const void *)(ip + 1), end), 0, 0);
    } else {
        const struct ipv6hdr *ip = header;
        if (has_ports(ip->nexthdr))
            return flow6(ip, ports_of(ip->nexthdr, (const void *)(ip + 1), end), ip->nexthdr, 0);
    }
    for (int i = 0; i < TOLD_MAX; i++) {
        __u32 before = told.header;
        flow = flow_at(ctx, &told);
        if (told.header == before)
            break;
    }
    return flow;
}

#endif
