//! Records that the parser does not know, rewritten as those that it does.

use super::Peer;
use super::nlri::next_hop_of;
use bytes::Bytes;
use std::net::IpAddr;

/// Rewrites a RIB_GENERIC body (RFC 6396 section 4.3.3) as one of the family's own subtype, which
/// lacks AFI and SAFI.
pub(super) fn generic_as_unicast(subtype: u16, body: &Bytes) -> Option<(u16, Bytes)> {
    let (head, rest) = body.split_first_chunk::<7>()?;
    let [s0, s1, s2, s3, a0, a1, safi] = *head;
    let subtype = match (u16::from_be_bytes([a0, a1]), safi, subtype) {
        (1, 1, 6) => 2,
        (2, 1, 6) => 4,
        (1, 1, 12) => 8,
        (2, 1, 12) => 10,
        _ => return None,
    };
    Some((subtype, [&[s0, s1, s2, s3], rest].concat().into()))
}

/// A BGP4MP_ENTRY record, rewritten.
pub(super) struct Entry {
    pub(super) subtype: u16,
    pub(super) body: Bytes,
    /// The fields that TABLE_DUMP has no room for: a peer of another family than the prefix, and a
    /// next hop.
    pub(super) peer: Peer,
    pub(super) next_hop: IpAddr,
}

/// Rewrites a BGP4MP_ENTRY body (RFC 6396 appendix B.4.2) as one of a TABLE_DUMP record.
pub(super) fn entry_as_table_dump(body: &[u8]) -> Result<Entry, String> {
    let mut rest = body;
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at_checked(count).ok_or("the BGP4MP_ENTRY is cut off")?;
        rest = after;
        Ok::<&[u8], String>(taken)
    };
    let peer_as = take(2)?;
    take(4)?; // local AS, interface
    let peer_bytes = address_bytes(take(2)?)?;
    let peer = address(take(peer_bytes)?)?;
    take(peer_bytes)?; // local address
    let (view, status, time) = (take(2)?, take(2)?, take(4)?);
    let bytes = address_bytes(take(2)?)?;
    let safi = take(1)?[0];
    if safi != 1 {
        return Err(format!("a BGP4MP_ENTRY of SAFI {safi} is not supported"));
    }
    let next_hop_bytes = take(1)?[0].into();
    let next_hop = address(take(next_hop_bytes)?)?;
    let len = take(1)?;
    let prefix = take(usize::from(len[0]).div_ceil(8))?;
    let attributes = rest;
    let padding = bytes.checked_sub(prefix.len());
    let padding = vec![0; padding.ok_or_else(|| format!("prefix length {} is past the family's", len[0]))?];
    let nobody = vec![0; bytes];
    let body =
        [view, &[0, 0], prefix, &padding, len, &status[1..], time, &nobody, peer_as, attributes].concat();
    let peer = Peer { address: peer, asn: u16::from_be_bytes([peer_as[0], peer_as[1]]).into() };
    Ok(Entry { subtype: if bytes == 4 { 1 } else { 2 }, body: body.into(), peer, next_hop })
}

/// Reads an address, or the first of a pair.
pub(super) fn address(bytes: &[u8]) -> Result<IpAddr, String> {
    next_hop_of(bytes).ok_or_else(|| format!("an address of {} bytes, expected 4, 16 or 32", bytes.len()))
}

/// Returns the size of an address by the family's number.
pub(super) fn address_bytes(afi: &[u8]) -> Result<usize, String> {
    match afi {
        [0, 1] => Ok(4),
        [0, 2] => Ok(16),
        _ => Err(format!("address family {afi:?}, expected 1 (IPv4) or 2 (IPv6)")),
    }
}
