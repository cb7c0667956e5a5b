//! `/metrics` for Prometheus.

use super::{Shared, ask, http, process};
use crate::Error;
use crate::control::Status;
use crate::plane::xdp::Reason;
use crate::plane::{Counter as Counted, Plane};
use fibula_access::{TlsAcceptor, Token};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicU64;

/// The type of the text.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the metrics at an address.
pub(super) fn serve<P: Plane + 'static>(
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    token: Option<Token>,
    queue: Shared<P>,
) -> Result<(), Error> {
    let system = |error| Error::io(format!("metrics at {address}"), error);
    let listener = TcpListener::bind(address).map_err(system)?;
    let make = Box::new(move || text(&queue));
    http::serve(listener, tls, http::Page { path: "/metrics", kind: TYPE, token, make }).map_err(system)?;
    tracing::info!("metrics: listening at {address}");
    Ok(())
}

fn text<P: Plane + 'static>(queue: &Shared<P>) -> Option<String> {
    let (status, counters) = ask(queue, |control| (control.status(), control.plane().counters()))?;
    let counters = counters.inspect_err(|error| tracing::error!("counters: {error}")).unwrap_or_default();
    let mut text = String::new();
    encode(&mut text, &registry(&status, &counters)).ok()?;
    Some(text)
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns what there is to tell.
fn registry(status: &Status, counters: &[Counted]) -> Registry {
    let mut all = Registry::default();
    process::register(&mut all);
    let registry = all.sub_registry_with_prefix("fibula_router");
    let counts = status.counts;
    for (name, help, value) in [
        ("messages", "Messages of feeds", counts.messages),
        ("ignored_messages", "Messages of no use to a router", counts.ignored),
        ("malformed_streams", "Connections that ended because of a malformed message", counts.malformed),
        ("batches", "Batches that were applied", counts.batches),
        ("changes", "Changed prefixes that the plane was told", counts.changes),
        ("refused", "Times that the plane refused something", counts.refused),
        ("swept_routes", "Routes that a new session did not tell again", counts.swept),
        ("grace_periods", "Grace periods", counts.grace_periods),
        ("refused_connections", "Connections to a feed that were refused", counts.strangers),
        ("left_out", "Routes and next-hop objects beyond a limit, which were left out", counts.left_out),
    ] {
        registry.register(name, help, ConstCounter::new(value));
    }
    for (name, help, value) in [
        ("forwarding", "Whether the plane forwards", i64::from(status.forwarding)),
        ("next_hops", "Next hops in use", gauge(status.next_hops)),
        ("adjacencies", "Adjacencies in use", gauge(status.adjacencies)),
        ("unresolved", "Adjacencies whose packets the kernel gets", gauge(status.unresolved)),
        ("neighbours", "Neighbours of the kernel", gauge(status.neighbours)),
        ("generation", "Times that what forwards was replaced as a whole", gauge(status.generation as usize)),
        ("refuses", "Whether the plane refuses something at the moment", status.error.is_some().into()),
    ] {
        registry.register(name, help, ConstGauge::new(value));
    }
    if let Some(bfd) = &status.bfd {
        let sessions = Family::<[(&str, &str); 1], Gauge>::default();
        for (state, count) in [("up", bfd.up), ("down", bfd.down), ("multihop", bfd.multihop)] {
            sessions.get_or_create(&[("state", state)]).set(gauge(count));
        }
        registry.register("bfd_sessions", "Sessions of BFD; those over several hops apart", sessions);
        for (name, help, value) in [
            ("bfd_connected", "Whether bfdd tells its sessions", bfd.connected.into()),
            ("bfd_held_gateways", "Gateways that BFD holds down", gauge(bfd.held.len())),
            ("bfd_held_next_hops", "Next hops of which BFD holds a gateway down", gauge(status.held_down)),
        ] {
            registry.register(name, help, ConstGauge::new(value));
        }
    }
    let latency = Family::<[(&str, &str); 1], Gauge<f64, AtomicU64>>::default();
    for (quantile, value) in [("0.5", status.latency_p50_us), ("0.99", status.latency_p99_us)] {
        latency.get_or_create(&[("quantile", quantile)]).set(value / 1e6);
    }
    let help = "From the arrival of a message until the plane had it";
    registry.register_with_unit("latency", help, Unit::Seconds, latency);
    let routes = Family::<[(&str, String); 2], Gauge>::default();
    for table in &status.tables {
        for (family, count) in [("ipv4", table.ipv4), ("ipv6", table.ipv6)] {
            let labels = [("table", table.table.to_string()), ("family", family.to_owned())];
            routes.get_or_create(&labels).set(gauge(count));
        }
    }
    registry.register("routes", "Routes of a table", routes);
    let attached = Family::<[(&str, String); 1], Gauge>::default();
    for (interface, wrong) in &status.attached {
        attached.get_or_create(&[("interface", interface.clone())]).set(wrong.is_none().into());
    }
    registry.register("attached", "Whether packets that come in by an interface are forwarded", attached);
    let feeds = Family::<[(&str, String); 2], Gauge>::default();
    for feed in &status.feeds {
        for (state, is_so) in [("connected", feed.connected), ("complete", feed.complete)] {
            feeds
                .get_or_create(&[("feed", feed.feed.to_string()), ("state", state.into())])
                .set(is_so.into());
        }
    }
    registry.register("feed", "The state of a feed", feeds);
    let links = Family::<[(&str, String); 1], Gauge>::default();
    for link in &status.links {
        links.get_or_create(&[("interface", link.name.clone())]).set(link.up.into());
    }
    registry.register("interface_up", "Whether an interface is up", links);
    let mut by_name = BTreeMap::<
        &str,
        [Family<[(&str, String); 1], prometheus_client::metrics::counter::Counter>; 2],
    >::new();
    for counter in counters {
        let families = by_name.entry(&counter.name).or_default();
        let labels = [("of", counter.label.clone().unwrap_or_default())];
        for (family, value) in families.iter().zip([counter.packets, counter.bytes]) {
            family.get_or_create(&labels).inc_by(value);
        }
    }
    for (name, [packets, bytes]) in by_name {
        let reason = Reason::ALL.into_iter().find(|reason| reason.name() == name);
        let other = match name {
            "next_hop" => "Packets that left by a next hop, by its index",
            "acl" => "Packets that a line of an ACL matched first",
            "lost" => "Packets for which a queue had no room",
            _ => "Packets that the plane counted",
        };
        let help = reason.map_or(other, Reason::help);
        registry.register(format!("{name}_packets"), help, packets);
        registry.register_with_unit(name, format!("Bytes of them: {help}"), Unit::Bytes, bytes);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Control, Settings};
    use crate::feed::bfd::Gateways;
    use crate::plane::memory::Memory;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn each_metric_is_named_once() {
        let status = Control::new(Memory::default(), Settings::default()).status();
        let counter = |label: &str, packets| Counted {
            name: "forwarded".into(),
            label: Some(label.into()),
            packets,
            bytes: 64 * packets,
        };
        let mut text = String::new();
        encode(&mut text, &registry(&status, &[counter("eth0", 3), counter("eth1", 4)])).unwrap();
        for line in [
            "fibula_router_messages_total 0",
            "fibula_router_forwarded_packets_total{of=\"eth0\"} 3",
            "fibula_router_forwarded_bytes_total{of=\"eth1\"} 256",
        ] {
            assert_eq!(text.lines().filter(|other| *other == line).count(), 1, "{line} in\n{text}");
        }
    }

    /// The Python of the environment that `cargo xtask test` makes, which has Prometheus' client.
    const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/bin/python");

    /// Reads metrics by the parser of Prometheus' client, which is strict about names, types, units
    /// and order.
    const PARSE: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
families = list(read(sys.stdin.read()))
for family in families:
    assert family.documentation, family.name
    assert family.samples, family.name
    print(family.name, family.type, family.unit, len(family.samples))
";

    #[test]
    fn prometheus_own_parser_reads_them() {
        let status = Control::new(Memory::default(), Settings::default()).status();
        let status = Status { bfd: Some(Gateways::default()), ..status };
        let counter = |name: &'static str| Counted {
            name: name.into(),
            label: Some("eth\"0\\\n".into()),
            packets: 1,
            bytes: 64,
        };
        let names = Reason::ALL.map(Reason::name).into_iter().chain(["next_hop", "acl", "lost"]);
        let counters: Vec<Counted> = names.map(counter).collect();
        let mut text = String::new();
        encode(&mut text, &registry(&status, &counters)).unwrap();
        let parser =
            Command::new(PYTHON).args(["-c", PARSE]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut parser) = parser else {
            eprintln!("skipped: there is no {PYTHON}: `cargo xtask test` makes it");
            return;
        };
        parser.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = parser.wait_with_output().unwrap();
        assert!(output.status.success(), "{text}");
        let families = String::from_utf8(output.stdout).unwrap();
        for line in [
            "fibula_router_latency_seconds gauge seconds 2",
            "fibula_router_forwarded_bytes counter bytes 1",
            "fibula_router_denied_packets counter  1",
            "fibula_router_bfd_sessions gauge  3",
            "process_cpu_seconds counter seconds 1",
            "process_resident_memory_bytes gauge bytes 1",
        ] {
            assert_eq!(families.lines().filter(|other| *other == line).count(), 1, "{line} in\n{families}");
        }
    }
}
