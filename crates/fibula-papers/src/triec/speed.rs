//! Figure 9, Tables 2 and 6: speed by threads, and by whether latencies are hidden.

use super::models;
use super::tables::{LARGEST, largest, table};
use crate::lab::mlps;
use crate::{Error, Facts, Finding, Lab, Plot, Point, Span};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;

/// The packets a second, in millions, of OC-192 at 69 bytes a packet.
pub(super) const LINE_RATE: f64 = 18.16;

/// The bits a second of OC-192, and the cycles a second of a microengine.
const OC_192: f64 = 10e9;
const CLOCK: f64 = 1.4e9;

/// Table 2 as printed: threads, and million packets a second of one thread and of those, for groups
/// A, B and C.
pub(super) const TABLE_2: [(f64, f64, f64); 3] =
    [(9.0, 3.72, 23.84), (17.0, 1.81, 21.36), (11.0, 2.55, 21.32)];

/// What the paper's text says of Figure 9: the speed of 32 threads.
const OF_32_THREADS: f64 = 21.45;

/// Table 6 as printed: microengines, overlapped and not overlapped.
pub(super) const TABLE_6: [(u32, f64, f64); 4] =
    [(1, 8.26, 7.34), (2, 16.50, 14.68), (4, 32.14, 28.83), (8, 63.97, 57.41)];

pub(super) fn figure_9(lab: &Lab) -> Result<Finding, Error> {
    let mut points =
        vec![Point::of_paper("the slowest group", "32 of 8 a microengine", "Mlps", OF_32_THREADS)];
    let mut tables = largest(lab)?;
    points.extend(models::groups(lab, &tables)?.1);
    tables.extend(lab.ipv6.iter().cloned());
    for table in tables {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let rows = lab.speed(&table, &addresses, &["triec"], lab.threads())?;
        let (alone, facts) = (rows.first().map_or(Span::from(1.0), mlps), Facts::of(&table));
        for row in &rows {
            let at = row.threads;
            let new = [
                Point::new(&table.name, at, "Mlps", mlps(row)),
                Point::new(&table.name, at, "times one thread", mlps(row) / alone),
                Point::new(&table.name, at, "times the line rate", mlps(row) * (1.0 / LINE_RATE)),
            ];
            points.extend(new.map(|point| point.on(&facts)));
        }
    }
    Ok(Finding::new("threads", Plot::Lines, points)
        .note(format!("The line rate is the paper's: {LINE_RATE} million packets a second."))
        .note("Tables that were given stand beside the paper's groups, which are made.")
        .note("The paper's speedup is nearly linear to 32 threads; the shares of its bars are not printed."))
}

pub(super) fn table_2(lab: &Lab) -> Result<Finding, Error> {
    let tables = largest(lab)?;
    let mut points = models::groups(lab, &tables)?.0;
    for (table, (threads, one, many)) in tables.iter().zip(TABLE_2) {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let rows = lab.speed(table, &addresses, &["triec"], vec![1])?;
        let (speed, facts) = (rows.first().map_or(Span::from(1.0), mlps), Facts::of(table));
        let needed = (LINE_RATE / speed.value.max(1e-9)).ceil();
        let new = [
            Point::new(&table.name, "single thread", "Mlps", speed).beside(one),
            Point::new(&table.name, "fewest threads", "threads", needed).beside(threads),
        ];
        points.extend(new.map(|point| point.on(&facts)));
        points.push(Point::of_paper(&table.name, "these threads", "Mlps", many));
    }
    let rate = |bytes: f64| OC_192 / (8.0 * bytes);
    points.push(Point::computed("OC-192", "69 bytes", "Mlps", rate(69.0) / 1e6).beside(LINE_RATE));
    points.push(Point::computed("OC-192", "49 bytes", "cycles", CLOCK / rate(49.0)).beside(57.0));
    Ok(Finding::new("column", Plot::None, points).note(
        "The paper's threads take turns on a microengine while memory is read; a thread here has a core.",
    ))
}

pub(super) fn table_6(lab: &Lab) -> Result<Finding, Error> {
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let rows = lab.speed(&table, &addresses, &["triec"], vec![1])?;
    let row = rows.first();
    let hidden = row.map_or(Span::from(0.0), mlps);
    let waits = row.and_then(|row| row.ns_dependent).map_or(0.0, |ns| 1e3 / ns.max(1e-9));
    let times = hidden / Span::from(waits);
    let percent = |times: f64| 100.0 * (times - 1.0);
    let gained = Span { low: percent(times.low), value: percent(times.value), high: percent(times.high) };
    let single = row.and_then(|row| row.ns_single).map_or(0.0, |ns| 1e3 / ns.max(1e-9));
    let (_, overlapped, without) = TABLE_6[0];
    let mut points = models::table_6();
    points.extend([
        Point::new(&table.name, "overlapped", "Mlps", hidden).beside(overlapped),
        Point::new(&table.name, "by the processor alone", "Mlps", single),
        Point::new(&table.name, "without", "Mlps", waits).beside(without),
        Point::new(&table.name, "improvement", "%", gained).beside(100.0 * (overlapped / without - 1.0)),
    ]);
    Ok(Finding::new("column", Plot::None, points)
        .on(&table)
        .in_part("the paper turns its compiler's scheduling of delay slots off; a processor of today schedules by itself")
        .note("Here the batch path, which reads ahead for many addresses at once, stands against lookups of which each waits for the one before. Between them are calls for one address each: they overlap as far as the processor looks ahead. The paper hides a few instructions behind each access, which is why it gains less."))
}
