//! `/metrics` for Prometheus.

use super::{Shared, ask, http};
use crate::Error;
use crate::control::Status;
use crate::plane::{Counter as Counted, Plane};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// The type of the text.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the metrics at an address.
pub(super) fn serve<P: Plane + 'static>(address: SocketAddr, queue: Shared<P>) -> Result<(), Error> {
    let system = |error| Error::io(format!("metrics at {address}"), error);
    let listener = TcpListener::bind(address).map_err(system)?;
    http::serve(listener, "/metrics", TYPE, Arc::new(move || text(&queue))).map_err(system)?;
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
    let mut registry = Registry::with_prefix("fibula_router");
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
        ("neighbours", "Neighbours of the kernel", gauge(status.neighbours)),
    ] {
        registry.register(name, help, ConstGauge::new(value));
    }
    for (name, value) in [("latency_p50", status.latency_p50_us), ("latency_p99", status.latency_p99_us)] {
        let help = "From the arrival of a message until the plane had it, microseconds";
        registry.register(name, help, ConstGauge::new(value));
    }
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
        registry.register(format!("{name}_packets"), "Packets that the plane counted", packets);
        registry.register(format!("{name}_bytes"), "Bytes that the plane counted", bytes);
    }
    registry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Control, Settings};
    use crate::plane::memory::Memory;

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
}
