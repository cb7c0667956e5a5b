/* What is read of a frame before any route is looked up, and what is counted. */
#ifndef FIBULA_PACKETS_H
#define FIBULA_PACKETS_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "cells.h"
#include "fate.h"

/* Why a packet went where it went: the indices of an interface's counters. */
enum reason {
    FORWARDED,
    LOCAL,        /* its route leads to the kernel */
    NO_ROUTE,
    UNRESOLVED,   /* the neighbour's MAC address is not known, or the interface cannot be redirected to */
    EXPIRED,      /* TTL or hop limit */
    TOO_BIG,      /* longer than the MTU */
    OPTIONS,      /* IPv4 options, IPv6 hop-by-hop options */
    MULTICAST,
    LINK_LOCAL,
    NOT_IP,
    OTHER_HOST,   /* the frame is for another MAC address */
    BLACKHOLE,
    MALFORMED,    /* cut short, or its header contradicts itself */
    MARTIAN,      /* an address that no packet between hosts has, or a source that is ours */
    UNKNOWN_VLAN, /* a tag that no interface here has */
    FORWARDING_OFF, /* the kernel's own setting says that packets of the interface are not forwarded */
    REVERSE_PATH, /* no route leads to its source by the interface, which is for the kernel to judge */
    SPOOFED,      /* the same, which is for us to judge */
    DENIED,       /* a line of the interface's ACL says so */
    REASONS,
};

/* The counters have room for reasons of later versions: they are pinned. */
#define REASONS_MAX 32

struct count {
    __u64 packets;
    __u64 bytes;
};

struct counts {
    struct count of[REASONS_MAX];
};

/* An interface, at its index in the kernel. */
struct interface {
    __u32 table; /* its place; in the highest bits the number of the ACL, if there is one */
    __u8 port; /* of its counters; 0 if packets of this interface are not forwarded */
    __u8 rules;
    __u8 address[ETH_ALEN];
    __u32 routed; /* its index, as routes name it */
};

#define ACL_SHIFT 24

/* Bits of an interface's rules. */
#define NO_IPV4 1
#define NO_IPV6 2
/* What sources its packets may have, by the kernel's settings (of IPv4) and by ours. */
#define KERNEL_LOOSE 4
#define KERNEL_STRICT 8
#define LOOSE 16
#define STRICT 32
/* By the kernel too: if a route leads to the source, it is one of unicast. */
#define KERNEL_UNICAST 64

CELLS(interfaces);

/* The VLANs of interfaces, each with what an interface has: a table and counters of its own. The map
 * has where that is among the interfaces, and never changes: what does is in cells. */
struct vlan {
    __u32 interface; /* the kernel's index */
    __u16 outer;
    __u16 inner; /* 0: one tag */
};

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
    MAP_NUMBER(max_entries, 1);
    MAP_TYPE(key, struct vlan);
    MAP_TYPE(value, __u32);
} vlans SEC(".maps");

/* Whether there are any. Without them nothing of them is in the program. */
const volatile __u32 has_vlans = 0;

/* Counters of the router outlive its program: they are pinned, and of fixed size. */
#define PORTS 256

struct {
    MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    MAP_NUMBER(max_entries, PORTS);
    MAP_TYPE(key, __u32);
    MAP_TYPE(value, struct counts);
} of_ports SEC(".maps");

/* A bit for each hash of our own IPv4 addresses. A source whose bit is set is the kernel's to
 * judge: it drops the packet if the address is ours. */
#define OURS_BITS 16

CELLS(ours);

INLINE int may_be_ours(__u32 address)
{
    __u32 bit = address * 0x9e3779b1u >> (32 - OURS_BITS);
    return READ(__u32, ((struct cells){&ours, 0}), bit / 32) >> bit % 32 & 1;
}

#define VLAN_ID 0x0fff

struct tag {
    __be16 control;
    __be16 protocol;
};

/* A packet on its way. */
struct packet {
    __u32 port;
    __u32 bytes;  /* the length of the frame, all of its buffers */
    __u32 length; /* from the IP header on */
    __u32 excess; /* bytes of the frame after the packet */
    __u32 tags;   /* VLAN tags of the frame */
    __u32 outer;  /* bytes of the tunnel's headers before the packet's */
    void *header; /* of IP */
    __be16 protocol;
    __u8 life; /* the TTL or hop limit */
};

/* Counts a packet. Returns the verdict. */
INLINE int finish(const struct packet *packet, struct fate *fate, enum reason reason, int verdict)
{
    struct counts *counts = bpf_map_lookup_elem(&of_ports, &packet->port);

    fate->reason = reason;
    if (counts) {
        counts->of[reason].packets++;
        counts->of[reason].bytes += packet->bytes;
    }
    return verdict;
}

/* Counts a packet that does not leave. Returns the verdict. */
INLINE int stays(const struct packet *packet, struct fate *fate, enum reason reason)
{
    int is_dropped = reason == BLACKHOLE || reason == MALFORMED || reason == SPOOFED || reason == DENIED;
    return finish(packet, fate, reason, is_dropped ? XDP_DROP : XDP_PASS);
}

INLINE __u32 destination4(const struct iphdr *ip)
{
    return NET32(ip->daddr);
}

/* Whether the checksum of an IPv4 header without options is right. */
INLINE int is_whole(const struct iphdr *ip)
{
    const __u32 *words = (const void *)ip;
    __u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* Whether an IPv4 packet is a part of one, whose ports and payload may be in another part. */
INLINE int is_part(const struct iphdr *ip)
{
    return ip->frag_off & NET16(0x3fff);
}

INLINE int has_ports(__u8 protocol)
{
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
           protocol == IPPROTO_UDPLITE || protocol == IPPROTO_DCCP;
}

/* The protocol of a packet and where what follows its headers begins; 0 if that is not there, or is
 * a fragment after the first. */
INLINE const void *payload4(const struct iphdr *ip, __u8 *protocol)
{
    const void *payload = (const void *)ip + (ip->ihl & 15) * 4;
    *protocol = ip->protocol;
    return ip->frag_off & NET16(0x1fff) ? 0 : payload;
}

#define EXTENSIONS 4

/* The same of an IPv6 packet, and whether it is a fragment. */
INLINE const void *payload6(const struct ipv6hdr *ip, const void *end, __u8 *protocol, int *is_cut)
{
    const __u8 *header = (const void *)(ip + 1);

    *protocol = ip->nexthdr;
    *is_cut = 0;
    for (int i = 0; i < EXTENSIONS; i++) {
        __u32 size;
        if ((const void *)(header + 8) > end)
            return header;
        if (*protocol == IPPROTO_HOPOPTS || *protocol == IPPROTO_ROUTING || *protocol == IPPROTO_DSTOPTS)
            size = (header[1] + 1) * 8;
        else if (*protocol == IPPROTO_AH)
            size = (header[1] + 2) * 4;
        else if (*protocol == IPPROTO_FRAGMENT)
            size = 8;
        else
            return header;
        if (*protocol == IPPROTO_FRAGMENT) {
            *is_cut |= header[2] || header[3] & 0xf9;
            if (header[2] || header[3] & 0xf8) {
                *protocol = header[0];
                return 0;
            }
        }
        *protocol = header[0];
        header += size;
    }
    return header;
}

/* Why an IPv4 packet cannot be forwarded by any route; FORWARDED if it can. From its header on the
 * frame has `size` bytes; the first buffer ends at `end`. */
INLINE enum reason read4(struct packet *packet, const struct iphdr *ip, __u32 size, const void *end)
{
    __u32 source, destination;

    if ((const void *)(ip + 1) > end || ip->version != 4 || ip->ihl < 5)
        return MALFORMED;
    packet->length = NET16(ip->tot_len);
    if (packet->length < (__u32)ip->ihl * 4 || packet->length > size)
        return MALFORMED;
    if (ip->ihl != 5)
        return OPTIONS;
    if (!is_whole(ip))
        return MALFORMED;
    destination = destination4(ip);
    if (destination >> 28 >= 14)
        return MULTICAST;
    if (destination >> 16 == 0xa9fe)
        return LINK_LOCAL;
    source = NET32(ip->saddr);
    if (source >> 28 == 14 || source == 0xffffffff || !source || source >> 24 == 127 || !destination ||
        destination >> 24 == 127 || may_be_ours(source))
        return MARTIAN;
    packet->excess = size - packet->length;
    packet->life = ip->ttl;
    return FORWARDED;
}

/* Whether an IPv6 address is :: or ::1. */
INLINE int is_martian6(__u64 high, __u64 low)
{
    return !high && low <= 1;
}

/* Whether an IPv6 address is a link's alone, by its first half. */
INLINE int is_link_local6(__u64 high)
{
    return high >> 54 == 0xfe80 >> 6;
}

/* The same of an IPv6 packet. */
INLINE enum reason read6(struct packet *packet, const struct ipv6hdr *ip, __u32 size, const void *end)
{
    const __u64 *source, *words;
    __u64 high;

    if ((const void *)(ip + 1) > end || ip->version != 6)
        return MALFORMED;
    packet->length = NET16(ip->payload_len) + sizeof(*ip);
    if (packet->length > size)
        return MALFORMED;
    if (ip->nexthdr == IPPROTO_HOPOPTS)
        return OPTIONS;
    source = (const void *)&ip->saddr;
    words = (const void *)&ip->daddr;
    high = NET64(words[0]);
    if (high >> 56 == 0xff)
        return MULTICAST;
    if (is_link_local6(high) || is_link_local6(NET64(source[0])))
        return LINK_LOCAL;
    if (is_martian6(NET64(source[0]), NET64(source[1])) || NET64(source[0]) >> 56 == 0xff ||
        is_martian6(high, NET64(words[1])))
        return MARTIAN;
    packet->excess = size - packet->length;
    packet->life = ip->hop_limit;
    return FORWARDED;
}

INLINE int is_tag(__be16 protocol)
{
    return protocol == NET16(ETH_P_8021Q) || protocol == NET16(ETH_P_8021AD);
}

/* How many tags of a frame are read. */
#define TAGS_MAX 3

/* Reads the tags of a frame. FORWARDED if they are priorities alone, or an interface has them,
 * by 802.1Q, which is then the one that the frame came in by. A tag of VLAN 0 is a priority,
 * wherever it is: the kernel takes it off. */
INLINE enum reason read_tags(struct xdp_md *ctx, struct interface *interface, struct packet *packet, const void *end)
{
    struct vlan key = {.interface = ctx->ingress_ifindex};
    const __u32 *place;
    int is_of_802_1ad = 0;

#pragma unroll
    for (int i = 0; i < TAGS_MAX; i++) {
        const struct tag *tag = packet->header;
        __u16 id;
        if (!is_tag(packet->protocol))
            break;
        if ((const void *)(tag + 1) > end)
            return MALFORMED;
        id = NET16(tag->control) & VLAN_ID;
        if (id && key.inner)
            return UNKNOWN_VLAN;
        if (id && key.outer)
            key.inner = id;
        if (id && !key.outer)
            key.outer = id;
        /* A VLAN of 802.1ad is another one than that of 802.1Q with its number. */
        is_of_802_1ad |= id && packet->protocol == NET16(ETH_P_8021AD);
        packet->protocol = tag->protocol;
        packet->tags++;
        packet->header = (void *)(tag + 1);
    }
    /* What the kernel would make of more tags nobody looks at. */
    if (is_tag(packet->protocol))
        return MALFORMED;
    if (!key.outer)
        return FORWARDED;
    if (!has_vlans || is_of_802_1ad)
        return UNKNOWN_VLAN;
    place = bpf_map_lookup_elem(&vlans, &key);
    if (!place)
        return UNKNOWN_VLAN;
    *interface = READ(struct interface, ((struct cells){&interfaces, 0}), *place);
    packet->port = interface->port;
    return FORWARDED;
}

/* Reads a frame that came in by an interface. FORWARDED if a route may forward its packet. */
INLINE enum reason read(struct xdp_md *ctx, struct interface *interface, struct packet *packet)
{
    void *data = (void *)(long)ctx->data;
    void *end = (void *)(long)ctx->data_end;
    struct ethhdr *ethernet = data;
    const __u32 *ours = (const void *)interface->address, *theirs = (void *)ethernet->h_dest;
    void *header = ethernet + 1;
    enum reason reason = FORWARDED, found;
    __u32 size;

    packet->port = interface->port;
    packet->bytes = bpf_xdp_get_buff_len(ctx);
    if (header > end)
        return MALFORMED;
    packet->protocol = ethernet->h_proto;
    packet->header = header;
    if (is_tag(packet->protocol)) {
        reason = read_tags(ctx, interface, packet, end);
        if (reason != FORWARDED)
            return reason;
        header = packet->header;
    }
    /* A VLAN has the address of the interface that it is on, of a bridge or of a bond, or its own. */
    if (ethernet->h_dest[0] & 1)
        reason = MULTICAST;
    else if (*theirs != *ours || *(const __u16 *)(theirs + 1) != *(const __u16 *)(ours + 1))
        reason = OTHER_HOST;
    size = packet->bytes - ETH_HLEN - packet->tags * sizeof(struct tag);
    if (packet->protocol == NET16(ETH_P_IP))
        found = read4(packet, header, size, end);
    else if (packet->protocol == NET16(ETH_P_IPV6))
        found = read6(packet, header, size, end);
    else
        return reason == FORWARDED ? NOT_IP : reason;
    /* What is not whole no policy can judge, and the kernel's protocols would drop it. */
    return found == MALFORMED || reason == FORWARDED ? found : reason;
}

/* Whether a policy judges a packet by what `read` said of it: it is IP, whole, and of an interface
 * of the plane. Then the protocol is that of IPv4 or of IPv6, and the header is all there. */
INLINE int is_judged(const struct packet *packet, enum reason reason)
{
    return reason != MALFORMED && reason != UNKNOWN_VLAN &&
           (packet->protocol == NET16(ETH_P_IP) || packet->protocol == NET16(ETH_P_IPV6));
}

/* Whether the kernel's settings say that a packet of an interface is not forwarded. */
INLINE int is_off(const struct interface *interface, const struct packet *packet)
{
    return interface->rules & (packet->protocol == NET16(ETH_P_IP) ? NO_IPV4 : NO_IPV6);
}

#endif
