//! What a router says, for people.

use fibula_router::control::{LookupRow, NextHopRow, RouteRow, Status, Way};
use fibula_router::plane::Counter;
use fibula_router::plane::xdp::Finding;
use serde::Serialize;
use std::fmt::Write as _;

/// A route.
#[derive(Debug, Serialize)]
pub(super) struct Route {
    prefix: String,
    leads: String,
    feed: Option<String>,
    protocol: Option<u8>,
    metric: Option<u32>,
    next_hop: u32,
}

impl From<&RouteRow> for Route {
    fn from(row: &RouteRow) -> Self {
        Self {
            prefix: row.prefix.clone(),
            leads: ways(&row.ways),
            feed: row.feed.map(|feed| feed.to_string()),
            protocol: row.protocol,
            metric: row.metric,
            next_hop: row.next_hop,
        }
    }
}

/// The answer for an address.
#[derive(Debug, Serialize)]
pub(super) struct Looked {
    address: String,
    prefix: Option<String>,
    leads: String,
}

impl From<&LookupRow> for Looked {
    fn from(row: &LookupRow) -> Self {
        let leads =
            row.route.as_ref().map_or_else(|| "to the kernel: no route".into(), |route| ways(&route.ways));
        Self {
            address: row.address.to_string(),
            prefix: row.route.as_ref().map(|route| route.prefix.clone()),
            leads,
        }
    }
}

/// What a plane counted.
#[derive(Debug, Serialize)]
pub(super) struct CounterRow {
    name: String,
    of: Option<String>,
    packets: u64,
    bytes: u64,
}

impl From<&Counter> for CounterRow {
    fn from(counter: &Counter) -> Self {
        let Counter { name, label, packets, bytes } = counter.clone();
        Self { name: name.into_owned(), of: label, packets, bytes }
    }
}

/// An ACL that holds.
#[derive(Debug, Serialize)]
pub(super) struct AclRow {
    pub(super) acl: String,
    pub(super) lines: usize,
}

/// Something that the plane needs.
#[derive(Debug, Serialize)]
pub(super) struct FindingRow {
    what: String,
    is_well: bool,
    wrong: Option<String>,
    note: Option<String>,
}

impl From<&Finding> for FindingRow {
    fn from(finding: &Finding) -> Self {
        let Finding { what, wrong, note } = finding.clone();
        Self { what, is_well: wrong.is_none(), wrong, note }
    }
}

/// Returns the ways of a route as `ip route` writes them.
pub(super) fn ways(ways: &[NextHopRow]) -> String {
    let several = ways.len() > 1;
    let text = ways.iter().map(|way| {
        let mut text = match (way.kind, way.gateway) {
            (Way::Via, Some(gateway)) => format!("via {gateway}"),
            (kind, _) => kind.to_string(),
        };
        if let Some(interface) = &way.interface {
            let _ = write!(text, " dev {interface}");
        }
        if several {
            let _ = write!(text, " weight {}", way.weight);
        }
        if way.kind == Way::Via && !way.resolved {
            text += " unresolved";
        }
        if way.held_down {
            text += " held down by BFD";
        }
        text
    });
    text.collect::<Vec<_>>().join(", ")
}

/// Returns a router at a glance, in lines.
pub(super) fn glance(status: &Status) -> String {
    let mut text = String::new();
    let forwards = if status.forwarding { "yes" } else { "not yet: a feed has not told everything" };
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("forwards", forwards.into());
    for fact in &status.plane {
        line("plane", fact.clone());
    }
    for feed in &status.feeds {
        let connected = if feed.connected { "connected" } else { "not connected" };
        let complete = match (feed.complete, feed.wanted) {
            (true, _) => "complete".into(),
            (false, 0) => "telling".into(),
            (false, wanted) => format!("telling: {} routes of at least {wanted}", feed.heard),
        };
        line("feed", format!("{}: {connected}, session {}, {complete}", feed.feed, feed.session));
    }
    for table in &status.tables {
        line("table", format!("{}: {} IPv4, {} IPv6 routes", table.table, table.ipv4, table.ipv6));
    }
    let (hops, adjacencies, unresolved) = (status.next_hops, status.adjacencies, status.unresolved);
    let neighbours = format!("{} neighbours known", status.neighbours);
    line("next hops", format!("{hops}, {adjacencies} adjacencies ({unresolved} unresolved), {neighbours}"));
    for rule in &status.rules {
        let by = rule.interface.as_deref().map_or("any interface".into(), |name| format!("interface {name}"));
        let family = if rule.ipv6 { "IPv6" } else { "IPv4" };
        line("rule", format!("{}: {family} packets by {by} are left to the kernel", rule.priority));
    }
    if let Some(bfd) = &status.bfd {
        let connected = if bfd.connected { "connected" } else { "not connected" };
        let sessions = format!("{} up, {} down, {} multihop", bfd.up, bfd.down, bfd.multihop);
        let held = format!("{} gateways of {} next hops held down", bfd.held.len(), status.held_down);
        line("bfd", format!("{connected}, {sessions}; {held}"));
    }
    for link in &status.links {
        let up = if link.up { "up" } else { "down" };
        line("interface", format!("{} {}: {up}, MTU {}", link.index, link.name, link.mtu));
    }
    let counts = status.counts;
    line(
        "messages",
        format!("{} ({} ignored), in {} batches", counts.messages, counts.ignored, counts.batches),
    );
    line(
        "changes",
        format!("{} prefixes; {} swept; {} refused", counts.changes, counts.swept, counts.refused),
    );
    line("latency", format!("p50 {:.0} us, p99 {:.0} us", status.latency_p50_us, status.latency_p99_us));
    for (interface, wrong) in &status.attached {
        if let Some(wrong) = wrong {
            line("not forwarded", format!("{interface}: {wrong}"));
        }
    }
    if counts.strangers > 0 {
        line("strangers", format!("{} connections refused", counts.strangers));
    }
    if let Some(limit) = &status.limit {
        line("left out", format!("{}: {limit}", counts.left_out));
    }
    if let Some(error) = &status.error {
        line("refused now", error.clone());
    }
    text
}
