//! What a router tells by BMP of several tables, and which of it is in a view.

use super::history::{Peer, Record, bytes};
use fastrand::Rng;
use fibula_io::mrt::bmp::{Policy, View, Vrf};
use std::net::Ipv4Addr;

/// The route distinguishers, by their last octet; 0 is the global table.
pub(crate) const TABLES: [u8; 3] = [0, 7, 8];

/// The type of the peer that stands for the router's own table.
const LOC_RIB: u8 = 3;

/// A message: an update or a change of a session's state, and of which table it is.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    table: u8,
    is_own: bool,
    /// Of an update: whether it is after policy, and of routes that are sent.
    is_post: bool,
    is_out: bool,
    record: Record,
}

/// Draws which table each record is of. Those that BMP has not are left out.
pub(crate) fn draw(records: &[Record], random: &mut Rng) -> Vec<Message> {
    let mut one = |record: &Record| {
        let (table, is_own) = (TABLES[random.usize(..TABLES.len())], random.u8(..8) == 0);
        let of = |peer: Peer| {
            // Its header has no address, and an AS of its own.
            let own = Peer { address: Ipv4Addr::UNSPECIFIED, asn: 64_499, ..peer };
            Peer { router_id: 0, has_ids: false, ..if is_own { own } else { peer } }
        };
        let record = match record.clone() {
            Record::Update { time, peer, withdrawn, announced, attributes, .. } => {
                let is_plain = !peer.has_ids && peer.asn != super::history::LOCAL_AS;
                let (is_sent, peer) = (false, is_plain.then(|| of(peer))?);
                Record::Update { time, peer, is_sent, withdrawn, announced, attributes }
            }
            Record::State { time, peer, from, to } => Record::State { time, peer: of(peer), from, to },
            _ => return None,
        };
        let (is_post, is_out) = (random.bool(), random.bool());
        Some(Message { table, is_own, is_post, is_out, record })
    };
    records.iter().filter_map(&mut one).collect()
}

/// Returns the view of a policy and a table.
pub(crate) fn view(policy: Policy, table: u8) -> View {
    let vrf = (table > 0).then(|| Vrf::parse(&format!("0:{table}")).unwrap());
    View { policy, vrf }
}

/// Returns what of the messages is in a view: RFC 7854 section 4.2, RFC 8671 section 4, and the
/// router's own table from when on it is told (RFC 9069 section 4).
pub(crate) fn of_view(messages: &[Message], policy: Policy, table: u8) -> Vec<Record> {
    let of_table = || messages.iter().filter(|message| message.table == table);
    let has_own = policy == Policy::Own && of_table().any(|message| message.is_own);
    let is_in = |message: &&Message| {
        if has_own || message.is_own {
            return has_own && message.is_own;
        }
        let wanted = match policy {
            Policy::Own | Policy::Pre => (false, false),
            Policy::Post => (true, false),
            Policy::Out => (true, true),
            Policy::OutPre => (false, true),
        };
        matches!(message.record, Record::State { .. }) || (message.is_post, message.is_out) == wanted
    };
    // A session that begins has ended before, too.
    let events = |message: &Message| match message.record.clone() {
        Record::State { time, peer, to, .. } => {
            let ended = Record::State { time, peer, from: 6, to: 1 };
            let begun = (to == 6).then_some(Record::State { time, peer, from: 1, to: 6 });
            [Some(ended), begun].into_iter().flatten().collect()
        }
        record => vec![record],
    };
    of_table().filter(is_in).flat_map(events).collect()
}

/// Returns messages as BMP.
pub(crate) fn stream(messages: &[Message]) -> Vec<u8> {
    messages.iter().flat_map(of_message).collect()
}

fn of_message(message: &Message) -> Vec<u8> {
    let Message { table, is_own, is_post, is_out, record } = message;
    let (kind, peer, rest) = match record {
        Record::Update { time, peer, withdrawn, announced, attributes, .. } => {
            // Without microseconds the message is after 12 octets of the record and 20 of the peer.
            let (time, withdrawn, announced) =
                (time / 1_000_000 * 1_000_000, withdrawn.clone(), announced.clone());
            let (peer, attributes) = (*peer, attributes.clone());
            let plain = Record::Update { time, peer, is_sent: false, withdrawn, announced, attributes };
            (0, peer, bytes(&[plain])[32..].to_vec())
        }
        // Without OPENs nothing is known of the session.
        Record::State { peer, to: 6, .. } => (3, *peer, vec![0; 20]),
        Record::State { peer, .. } => (2, *peer, vec![4]),
        _ => panic!("{record:?} is not of BMP"),
    };
    let kind_of_peer = if *is_own { LOC_RIB } else { u8::from(*table > 0) };
    let flags = if *is_own { 0 } else { u8::from(*is_post) << 6 | u8::from(*is_out) << 4 };
    let mut body = vec![kind_of_peer, flags, 0, 0, 0, 0, 0, 0, 0, *table];
    body.extend([0; 12]);
    body.extend(peer.address.octets());
    body.extend(peer.asn.to_be_bytes());
    body.extend([0; 4]);
    body.extend(((record.time() / 1_000_000) as u32).to_be_bytes());
    body.extend([0; 4]);
    body.extend(rest);
    [&[3], &(body.len() as u32 + 6).to_be_bytes()[..], &[kind], &body].concat()
}
