//! The IXP2800 in model: Tables 2 to 7 and Figure 9.

use super::counting::TABLE_3;
use super::speed::{LINE_RATE, TABLE_2, TABLE_6};
use super::strides::{MICROENGINES, TABLE_4, of_the_paper};
use super::threads::{TABLE_5, TABLE_7, overhead};
use crate::machine::ixp2800::{Access, THREADS, Variant, WORST, pipeline, rate, worst};
use crate::{Error, Facts, Lab, Named, Point};
use fibula::Fib;
use fibula::engine::{Accesses, Config};
use fibula_io::trace::TraceKind;

/// SRAM channels of the paper's best allocation.
const CHANNELS: usize = 4;

/// The cell of Table 4 that the model is fitted to; the other is of Table 6.
const FITTED: (&str, u32) = ("1-SRAM", 8);

/// The shares of time that section 5.5 tells: of a channel or the bus, by microengines.
const BUSY: [(&str, u32, f64); 4] =
    [("1-SRAM", 4, 92.64), ("1-SRAM", 8, 99.98), ("Hybrid-1", 4, 87.75), ("Hybrid-2", 4, 96.0)];

/// What section 5.5 says of four channels at the line rate, and the fewest microengines that reach
/// it, whose share is taken in proportion.
const LINE_BUSY: f64 = 15.0;
const AT_LINE_RATE: (&str, u32) = ("4-SRAM", 3);

/// The bytes of the least burst of DRAM, in which an ExtraNHIA or an entry of Hash16 comes.
const BURST: f64 = 16.0;

/// The packets whose accesses threads repeat.
const ADDRESSES: usize = 64;

/// Returns the accesses of the worst packet by allocation. Those of 24-24-16 read an entry and an
/// ExtraNHIA on each of two levels, and Hash16.
fn packet(allocation: &str) -> (usize, Vec<Access>) {
    let of_dram = |entry: f64| {
        let [entry, burst] = [entry, BURST].map(Access::Dram);
        vec![entry, burst, entry, burst, burst]
    };
    match allocation {
        "1-SRAM" => (1, worst(1)),
        "DRAM-128" => (CHANNELS, of_dram(32.0)),
        "DRAM-256" => (CHANNELS, of_dram(64.0)),
        _ if allocation.starts_with("Hybrid") => {
            let mut packet = of_dram(32.0);
            packet[1] = Access::Sram(1);
            packet[3] = Access::Sram(2);
            if allocation == "Hybrid-1" {
                packet[0] = Access::Sram(0);
            }
            (CHANNELS, packet)
        }
        _ => (CHANNELS, worst(CHANNELS)),
    }
}

fn microengines(count: u32) -> String {
    format!("{count} microengines")
}

/// Returns the rates of all allocations.
pub(super) fn table_4() -> Vec<Point> {
    let mut points = Vec::new();
    for (allocation, rates) in TABLE_4 {
        let (channels, packet) = packet(allocation);
        let series = format!("{allocation}, model");
        let counts = MICROENGINES.into_iter().zip(rates.map(Some)).chain([(3, None)]);
        for (count, paper) in counts {
            let (mlps, channel, bus) =
                rate(THREADS * count as usize, channels, std::slice::from_ref(&packet), Variant::default());
            let point = Point::model(&series, microengines(count), "Mlps", mlps).beside_any(paper);
            points.push(if FITTED == (allocation, count) { point.fitted() } else { point });
            let told = BUSY.iter().find(|told| (told.0, told.1) == (allocation, count)).map(|told| told.2);
            let busy = Point::model(&series, microengines(count), "% busy", f64::max(channel, bus));
            points.push(busy.beside_any(told));
            if (allocation, count) == AT_LINE_RATE {
                let share = f64::max(channel, bus) * LINE_RATE / mlps;
                points.push(Point::model(&series, "at the line rate", "% busy", share).beside(LINE_BUSY));
            }
        }
    }
    points
}

/// Returns the rate of the worst packet with four channels, by microengines.
fn four_channels(count: u32, variant: Variant) -> f64 {
    rate(THREADS * count as usize, CHANNELS, &[worst(CHANNELS)], variant).0
}

/// Returns the rates of both ways to count bits. `bits` are those that a worst packet has to count.
pub(super) fn table_3(bits: f64) -> Vec<Point> {
    let ways = [("POP_COUNT, model", 0.0), ("FFS, model", bits)];
    let each = TABLE_3.into_iter().flat_map(|(count, population, first)| {
        ways.into_iter().zip([population, first]).map(move |((series, ffs_bits), paper)| {
            let mlps = four_channels(count as u32, Variant { ffs_bits, ..Variant::default() });
            Point::model(series, microengines(count as u32), "Mlps", mlps).beside(paper)
        })
    });
    each.collect()
}

/// Returns the rates of both ways to divide the work among four microengines.
pub(super) fn table_5() -> Vec<Point> {
    let packet = worst(CHANNELS);
    let rates = [
        ("multi-processing", four_channels(4, Variant::default())),
        ("pipeline, scratch ring", pipeline(4 * THREADS, CHANNELS, &packet, true)),
        ("pipeline, next-neighbour ring", pipeline(4 * THREADS, CHANNELS, &packet, false)),
    ];
    let all = rates.into_iter().zip(TABLE_5).map(|((name, mlps), paper)| {
        Point::model(format!("{name}, model"), microengines(4), "Mlps", mlps).beside(paper)
    });
    all.collect()
}

/// Returns for each table how a pipeline compares with multi-processing, from the accesses of its
/// lookups: the choice between both, which the paper leaves to future work.
pub(super) fn choices(lab: &Lab, tables: &[Named<u128>]) -> Result<Vec<Point>, Error> {
    let mut points = Vec::new();
    for table in tables {
        let packets = metered(lab, table)?;
        // Both take the packet of the mean number of accesses, so that only the division differs.
        let mean = packets.iter().map(Vec::len).sum::<usize>().div_ceil(packets.len().max(1));
        let packet = over_channels(mean);
        let whole = rate(4 * THREADS, CHANNELS, std::slice::from_ref(&packet), Variant::default()).0;
        let piped = pipeline(4 * THREADS, CHANNELS, &packet, false);
        let at = microengines(4);
        let series = format!("pipeline / multi-processing, {}, model", table.name);
        points.push(Point::model(series, at, "times", piped / whole).on(&Facts::of(table)));
    }
    Ok(points)
}

/// Returns the rates with delay slots that nothing fills.
pub(super) fn table_6() -> Vec<Point> {
    let each = TABLE_6.into_iter().flat_map(|(count, overlapped, without)| {
        let exposed = four_channels(count, Variant { exposed: true, ..Variant::default() });
        let filled = four_channels(count, Variant::default());
        let improvement = 100.0 * (filled / exposed - 1.0);
        let point = Point::model("without, model", microengines(count), "Mlps", exposed).beside(without);
        [
            if count == 1 { point.fitted() } else { point },
            Point::model("improvement, model", microengines(count), "%", improvement)
                .beside(100.0 * (overlapped / without - 1.0)),
        ]
    });
    each.collect()
}

/// Returns the rates of packets in order.
pub(super) fn table_7() -> Vec<Point> {
    let each = TABLE_7.into_iter().flat_map(|(count, free, kept)| {
        let ordered = four_channels(count as u32, Variant { ordered: true, ..Variant::default() });
        let cost = overhead(four_channels(count as u32, Variant::default()), ordered);
        let at = microengines(count as u32);
        [
            Point::model("with packet order, model", &at, "Mlps", ordered).beside(kept),
            Point::model("both rings, model", at, "%", cost).beside(overhead(free, kept)),
        ]
    });
    each.collect()
}

/// Returns a number of accesses, over the channels in turn.
fn over_channels(accesses: usize) -> Vec<Access> {
    (0..accesses).map(|at| Access::Sram(at % CHANNELS)).collect()
}

/// Returns the accesses of some lookups, as the engine counts them, over the channels.
fn metered(lab: &Lab, table: &Named<u128>) -> Result<Vec<Vec<Access>>, Error> {
    let fib = Fib::build_from(lab.engines, "triec", &table.rib, Config::default())?;
    let mut accesses = Accesses::new();
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    let packets = addresses.into_iter().take(ADDRESSES).map(|address| {
        accesses.clear();
        fib.lookup_counted(address, &mut accesses);
        over_channels(accesses.loads() as usize)
    });
    Ok(packets.collect())
}

/// Returns what Table 2 has of each group, and the rates of 32 threads of Figure 9.
pub(super) fn groups(lab: &Lab, tables: &[Named<u128>]) -> Result<(Vec<Point>, Vec<Point>), Error> {
    let (mut table_2, mut figure_9) = (Vec::new(), Vec::new());
    for (table, (fewest, one, many)) in tables.iter().zip(TABLE_2) {
        let facts = Facts::of(table);
        let addresses: Vec<u128> =
            lab.trace(&TraceKind::Prefix, &table.rib)?.into_iter().take(ADDRESSES).collect();
        let alone = of_the_paper(&table.rib, &addresses).1.into_iter().map(over_channels).collect();
        for (what, packets) in [("", metered(lab, table)?), (", levels alone", alone)] {
            let mlps = |threads| rate(threads, CHANNELS, &packets, Variant::default()).0;
            let series = format!("{}{what}, model", table.name);
            let needed = (1..=8 * THREADS).find(|&threads| mlps(threads) >= LINE_RATE).unwrap_or(8 * THREADS);
            let new = [
                Point::model(&series, "single thread", "Mlps", mlps(1)).beside(one),
                Point::model(&series, "fewest threads", "threads", needed as f64).beside(fewest),
                Point::model(&series, "these threads", "Mlps", mlps(fewest as usize)).beside(many),
            ];
            table_2.extend(new.map(|point| point.on(&facts)));
            figure_9.push(Point::model(&series, "32 threads", "Mlps", mlps(32)).on(&facts));
        }
    }
    let worst = |threads| rate(threads, CHANNELS, &[worst(CHANNELS)], Variant::default()).0;
    let alone = worst(1);
    for threads in [1, 2, 4, 5, 6, 7, 8] {
        let linear = worst(threads) / (threads as f64 * alone);
        figure_9.push(Point::model(
            "one microengine, model",
            format!("{threads} threads"),
            "of linear",
            linear,
        ));
    }
    let linear = worst(32) / (4.0 * worst(8));
    let series = "one microengine each 8 threads, model";
    figure_9.push(Point::model(series, "32 threads", "of linear", linear));
    Ok((table_2, figure_9))
}

const _: () = assert!(WORST == 8, "the packets of a hybrid are written out");
