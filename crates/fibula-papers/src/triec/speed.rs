//! Figure 9, Tables 2 and 6: speed by threads, and by whether latencies are hidden.

use super::tables::{LARGEST, largest, table};
use crate::lab::mlps;
use crate::{Error, Finding, Lab, Plot, Point};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;

/// The packets a second, in millions, of OC-192 at 69 bytes a packet.
const LINE_RATE: f64 = 18.16;

/// Table 2 as printed: threads, and million packets a second of one thread and of those, for groups
/// A, B and C.
const TABLE_2: [(f64, f64, f64); 3] = [(9.0, 3.72, 23.84), (17.0, 1.81, 21.36), (11.0, 2.55, 21.32)];

/// What the paper's text says of Figure 9: the speed of 32 threads.
const OF_32_THREADS: f64 = 21.45;

/// Table 6 as printed, for one microengine: overlapped, not overlapped.
const TABLE_6: (f64, f64) = (8.26, 7.34);

pub(super) fn figure_9(lab: &Lab) -> Result<Finding, Error> {
    let mut points =
        vec![Point::of_paper("the slowest group", "32 of 8 a microengine", "Mlps", OF_32_THREADS)];
    for table in largest(lab)? {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let rows = lab.speed(&table, &addresses, &["triec"], lab.threads())?;
        let alone = rows.first().map_or(0.0, mlps);
        for row in &rows {
            let at = row.threads;
            points.push(Point::new(&table.name, at, "Mlps", mlps(row)));
            points.push(Point::new(&table.name, at, "times one thread", mlps(row) / alone.max(1e-9)));
            points.push(Point::new(&table.name, at, "times the line rate", mlps(row) / LINE_RATE));
        }
    }
    Ok(Finding::new("threads", Plot::Lines, points)
        .note(format!("The line rate is the paper's: {LINE_RATE} million packets a second."))
        .note("The paper's speedup is nearly linear to 32 threads; the shares of its bars are not printed."))
}

pub(super) fn table_2(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    for (table, (threads, one, many)) in largest(lab)?.iter().zip(TABLE_2) {
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let rows = lab.speed(table, &addresses, &["triec"], vec![1])?;
        let speed = rows.first().map_or(0.0, mlps);
        let needed = (LINE_RATE / speed.max(1e-9)).ceil();
        points.push(Point::new(&table.name, "single thread", "Mlps", speed).beside(one));
        points.push(Point::new(&table.name, "fewest threads", "threads", needed).beside(threads));
        points.push(Point::of_paper(&table.name, "these threads", "Mlps", many));
    }
    Ok(Finding::new("column", Plot::None, points).note(
        "The paper's threads take turns on a microengine while memory is read; a thread here has a core.",
    ))
}

pub(super) fn table_6(lab: &Lab) -> Result<Finding, Error> {
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let rows = lab.speed(&table, &addresses, &["triec"], vec![1])?;
    let row = rows.first();
    let hidden = row.map_or(0.0, mlps);
    let waits = row.and_then(|row| row.ns_dependent).map_or(0.0, |ns| 1e3 / ns.max(1e-9));
    let single = row.and_then(|row| row.ns_single).map_or(0.0, |ns| 1e3 / ns.max(1e-9));
    let (overlapped, without) = TABLE_6;
    let points = vec![
        Point::new(&table.name, "overlapped", "Mlps", hidden).beside(overlapped),
        Point::new(&table.name, "by the processor alone", "Mlps", single),
        Point::new(&table.name, "without", "Mlps", waits).beside(without),
        Point::new(&table.name, "improvement", "%", 100.0 * (hidden / waits.max(1e-9) - 1.0))
            .beside(100.0 * (overlapped / without - 1.0)),
    ];
    Ok(Finding::new("column", Plot::None, points)
        .in_part("the paper turns its compiler's scheduling of delay slots off; a processor of today schedules by itself")
        .note("Here the batch path, which reads ahead for many addresses at once, stands against lookups of which each waits for the one before. Between them are calls for one address each: they overlap as far as the processor looks ahead. The paper hides a few instructions behind each access, which is why it gains less."))
}
