//! What becomes of packets: told by `fibula router trace`, and written by `fibula router capture`.

use super::super::{Capture, Trace};
use super::pcapng::{Packet, Writer};
use super::rows::ways;
use super::{connect, unexpected};
use crate::exit::Verdict;
use crate::output::Output;
use anyhow::{Context, ensure};
use fibula_router::acl::protocol_name;
use fibula_router::control::{LookFor, PacketRow, RouteRow, SentRow, TraceRow, Traces};
use fibula_router::plane::xdp::Reason;
use fibula_router::plane::{AclTrace, Outcome};
use fibula_router::service::{Answer, Ask, Client};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::thread;
use std::time::Duration;

/// How long between two questions. The router has room for some 750 packets meanwhile.
const INTERVAL: Duration = Duration::from_millis(20);

/// The bytes of a frame that the router tells at most.
const LONGEST: u32 = 256;

/// A packet, for programs.
#[derive(Debug, Serialize)]
struct Row {
    time_ns: u64,
    interface: String,
    bytes: u32,
    source: Option<String>,
    destination: Option<String>,
    protocol: Option<u8>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    acl: Option<String>,
    source_route: Option<String>,
    table: u32,
    route: Option<String>,
    sent: Option<String>,
    outcome: Outcome,
    reason: String,
    frame: String,
}

impl From<&TraceRow> for Row {
    fn from(row: &TraceRow) -> Self {
        let packet = row.packet.as_ref();
        let port = |at: usize| packet.and_then(|packet| packet.ports).map(|ports| ports[at]);
        Self {
            time_ns: row.time_ns,
            interface: row.interface.clone(),
            bytes: row.bytes,
            source: packet.map(|packet| packet.source.to_string()),
            destination: packet.map(|packet| packet.destination.to_string()),
            protocol: packet.map(|packet| packet.protocol),
            source_port: port(0),
            destination_port: port(1),
            acl: row.acl.as_ref().map(said),
            source_route: row.source_next_hop.map(|next_hop| route(next_hop, row.source_route.as_ref())),
            table: row.table,
            route: row.next_hop.map(|next_hop| route(next_hop, row.route.as_ref())),
            sent: row.sent.as_ref().map(sent),
            outcome: row.outcome,
            reason: row.reason.to_string(),
            frame: row.frame.clone(),
        }
    }
}

/// Returns what an ACL said.
fn said(said: &AclTrace) -> String {
    match (&said.line, said.number) {
        (Some(line), Some(number)) => format!("{} line {number}: {line}", said.acl),
        _ => format!("{}: no line matches", said.acl),
    }
}

/// Returns a route, as `lookup` shows it.
fn route(next_hop: u32, route: Option<&RouteRow>) -> String {
    match route {
        Some(route) => format!("{} {}", route.prefix, ways(&route.ways)),
        None if next_hop == 0 => "none".into(),
        None => format!("next hop {next_hop}, which is not that of the route by now"),
    }
}

fn sent(sent: &SentRow) -> String {
    let SentRow { interface: Some(interface), neighbour: Some(neighbour), vlan } = sent else {
        return "its neighbour is not resolved".into();
    };
    let vlan = vlan.map(|vlan| format!(" with VLAN {vlan}")).unwrap_or_default();
    format!("by {interface} to {neighbour}{vlan}")
}

/// Returns a packet by its headers.
fn headers(packet: &PacketRow) -> String {
    let PacketRow { source, destination, protocol, ports, length } = packet;
    let protocol = protocol_name(*protocol).map_or_else(|| format!("protocol {protocol}"), Into::into);
    let [from, to] = ports.map_or_else(Default::default, |ports| ports.map(|port| format!(" port {port}")));
    format!("{protocol} from {source}{from} to {destination}{to}, length {length}")
}

/// Returns what became of a packet, in lines.
fn text(row: &TraceRow) -> String {
    let packet = row.packet.as_ref().map_or_else(|| "not IP, or not whole".into(), headers);
    let mut text = format!("{}: {} bytes: {packet}\n", row.interface, row.bytes);
    let told = Row::from(row);
    let table = row.next_hop.map(|_| format!("table {}: {}", row.table, told.route.unwrap_or_default()));
    for (name, value) in
        [("acl", told.acl), ("source", told.source_route), ("route", table), ("leg", told.sent)]
    {
        if let Some(value) = value {
            // A string takes all that is written to it.
            let _ = writeln!(text, "  {name:<8} {value}");
        }
    }
    let outcome = match row.outcome {
        Outcome::Forwarded => "forwarded",
        Outcome::ToKernel => "to the kernel",
        Outcome::Dropped => "dropped",
    };
    let _ = match row.outcome {
        Outcome::Forwarded => writeln!(text, "  {outcome}"),
        _ => writeln!(text, "  {outcome}: {}", row.reason),
    };
    text
}

/// Passes on what becomes of packets until `count` of them have come. Says how many there was no
/// room for.
fn follow(
    client: &mut Client,
    what: &LookFor,
    count: Option<u64>,
    mut each: impl FnMut(Vec<TraceRow>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut ask = |question: &Ask| match client.ask(question)? {
        Answer::Traces(traces) => Ok(traces),
        _ => unexpected(),
    };
    ask(&Ask::Trace(what.clone()))?;
    eprintln!("the router tells of packets from now on");
    let (mut found, mut told) = (0, 0);
    while count.is_none_or(|count| found < count) {
        thread::sleep(INTERVAL);
        let Traces { mut packets, lost } = ask(&Ask::Trace(what.clone()))?;
        let left = count.map_or(u64::MAX, |count| count - found);
        packets.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        found += packets.len() as u64;
        each(packets)?;
        if lost > told {
            eprintln!("{} packets are left out: they came too fast", lost - told);
            told = lost;
        }
    }
    ask(&Ask::Untrace)?;
    Ok(())
}

fn filter(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.join(" "))
}

/// Tells what becomes of packets.
pub(super) fn trace(trace: Trace, output: &Output) -> anyhow::Result<Verdict> {
    let Trace { filter: words, socket, count, interface, reasons } = trace;
    let what = LookFor { filter: filter(&words), interface, reasons };
    let mut client = connect(&socket)?;
    if output.is_table() {
        let mut out = io::stdout();
        follow(&mut client, &what, Some(count), |packets| {
            packets.iter().try_for_each(|row| out.write_all(text(row).as_bytes()))?;
            Ok(out.flush()?)
        })?;
    } else {
        let mut printer = output.printer();
        follow(&mut client, &what, Some(count), |packets| {
            packets.iter().try_for_each(|row| printer.row(&Row::from(row)))
        })?;
        printer.finish()?;
    }
    Ok(Verdict::Good)
}

/// Returns the bytes of hexadecimal digits.
fn bytes(digits: &str) -> anyhow::Result<Vec<u8>> {
    let byte = |at: usize| digits.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    bytes.context("the router's frame is no hexadecimal digits")
}

/// Writes packets that are dropped.
pub(super) fn capture(capture: Capture) -> anyhow::Result<Verdict> {
    let Capture { filter: words, socket, dropped, write, count, interface } = capture;
    let drops = Reason::ALL.into_iter().filter(|reason| reason.outcome() == Outcome::Dropped);
    let drops: Vec<String> = drops.map(|reason| reason.name().to_owned()).collect();
    for reason in &dropped {
        let expected = drops.join(", ");
        ensure!(drops.contains(reason), "--dropped {reason}: packets are dropped for {expected}");
    }
    let reasons = if dropped.is_empty() { drops } else { dropped };
    let what = LookFor { filter: filter(&words), interface, reasons };
    let mut client = connect(&socket)?;
    let named = || write.display().to_string();
    let file = File::create(&write).with_context(named)?;
    let mut writer = Writer::new(BufWriter::new(file), LONGEST).with_context(named)?;
    writer.flush().with_context(named)?;
    follow(&mut client, &what, count, |packets| {
        for row in packets {
            let frame = bytes(&row.frame)?;
            let TraceRow { interface, time_ns, bytes, .. } = &row;
            let comment = row.acl.as_ref().map_or_else(String::new, |acl| format!(": {}", said(acl)));
            let comment = format!("{}{comment}", row.reason);
            let packet =
                Packet { interface, time_ns: *time_ns, bytes: *bytes, frame: &frame, comment: &comment };
            writer.packet(&packet).with_context(named)?;
        }
        writer.flush().with_context(named)
    })?;
    Ok(Verdict::Good)
}
