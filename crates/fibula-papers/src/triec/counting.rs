//! Figure 3 and Table 3: next-hop indices by their width, and counting bits by one instruction or
//! by many.

use super::tables::{GROUPS, LARGEST, table};
use crate::lab::mlps;
use crate::{Error, Facts, Finding, Lab, Named, Plot, Point, Span};
use fibula::Fib;
use fibula::engine::Config;
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;

/// Table 3 as printed: microengines, million packets a second by POP_COUNT and by FFS.
pub(super) const TABLE_3: [(u64, f64, f64); 4] =
    [(1, 8.26, 3.00), (2, 16.50, 5.88), (4, 32.14, 11.99), (8, 63.97, 23.95)];

/// The improvement in percent, as printed.
const IMPROVEMENT: [f64; 4] = [175.0, 180.0, 168.0, 167.0];

/// The engines of Table 3.
const COUNTS: [(&str, &str); 2] = [("POP_COUNT", "triec"), ("FFS", "triec/count=ffs")];

/// The paper's next-hop indices with its hash table, and the widths that are here.
const FORMS: [(&str, &str); 5] = [
    ("16 bits, Hash16 by /64", "triec/nhi=16/hash16=triples"),
    ("16 bits", "triec/nhi=16"),
    ("32-16 bits", "triec/nhi=32-16"),
    ("32 bits", "triec/nhi=32"),
    ("64 bits", "triec/nhi=64"),
];

/// The sizes of Figure 3's tables in thousands of prefixes: the first that the paper's width holds
/// is taken.
const THOUSANDS: [usize; 6] = [LARGEST, 300, 200, 100, 50, 25];

/// Makes the largest table of a group that indices of 16 bits hold.
fn within_16_bits(lab: &Lab, group: TriecGroup) -> Result<Option<Named<u128>>, Error> {
    for thousands in THOUSANDS {
        let table = table(lab, group, thousands)?;
        if Fib::build_from(lab.engines, "triec/nhi=16", &table.rib, Config::default()).is_ok() {
            return Ok(Some(table));
        }
    }
    Ok(None)
}

pub(super) fn figure_3(lab: &Lab) -> Result<Finding, Error> {
    let engines = FORMS.map(|(_, engine)| engine);
    let mut points = Vec::new();
    for group in GROUPS {
        let Some(table) = within_16_bits(lab, group)? else { continue };
        let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
        let rows = lab.speed(&table, &addresses, &engines, vec![1])?;
        for ((series, _), row) in FORMS.into_iter().zip(&rows) {
            let bytes = row.bytes as f64 / table.rib.len().max(1) as f64;
            let new = [
                Point::new(series, &table.name, "bytes a prefix", bytes),
                Point::new(series, &table.name, "Mlps", mlps(row)),
            ];
            points.extend(new.map(|point| point.on(&Facts::of(&table))));
        }
    }
    Ok(Finding::new("table", Plot::Bars, points)
        .note("The paper's index has 16 bits: pointers of 15 bits reach 32,768 nodes of a level, so the tables are the largest of 25K to 400K prefixes that it holds. `32-16` keeps 16 bits where an index only answers; the engine takes the narrowest that holds a table.")
        .note("The paper has this one width and no numbers for others. Its Hash16 has an entry for each /64, ours one for the 64 of a /58."))
}

pub(super) fn table_3(lab: &Lab) -> Result<Finding, Error> {
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let improvement = |fast: Span, slow: Span| {
        let times = fast / slow;
        let percent = |times: f64| 100.0 * (times - 1.0);
        Span { low: percent(times.low), value: percent(times.value), high: percent(times.high) }
    };
    let mut points = super::models::table_3(super::strides::counted_bits(&table.rib));
    for (engines, population, first) in TABLE_3 {
        let at = format!("{engines} microengines");
        points.push(Point::of_paper("POP_COUNT", &at, "Mlps", population));
        points.push(Point::of_paper("FFS", &at, "Mlps", first));
        let percent = improvement(population.into(), first.into()).value;
        let printed = Point::computed("improvement, the paper's rates", at, "%", percent);
        points.push(printed.beside(IMPROVEMENT[engines.ilog2() as usize]));
    }
    let traces = [("deepest", TraceKind::Deep(Some("triec".into()))), ("prefixes", TraceKind::Prefix)];
    for (trace, kind) in traces {
        let addresses = lab.trace(&kind, &table.rib)?;
        let rows = lab.speed(&table, &addresses, &COUNTS.map(|(_, engine)| engine), lab.threads())?;
        for threads in lab.threads() {
            let of = |engine: &str| {
                let row = rows.iter().find(|row| row.engine == engine && row.threads == threads as u64);
                row.map_or(Span::from(0.0), mlps)
            };
            let [population, first] = COUNTS.map(|(_, engine)| of(engine));
            let at = format!("{threads} threads");
            for ((name, _), speed) in COUNTS.into_iter().zip([population, first]) {
                points.push(Point::new(format!("{name}, {trace}"), &at, "Mlps", speed));
            }
            let paper = TABLE_3.into_iter().find(|(engines, ..)| *engines == threads as u64);
            let paper = paper.filter(|_| trace == "deepest");
            points.push(
                Point::new(format!("improvement, {trace}"), &at, "%", improvement(population, first))
                    .beside_any(
                        paper
                            .map(|(_, population, first)| improvement(population.into(), first.into()).value),
                    ),
            );
        }
    }
    Ok(Finding::new("column", Plot::None, points)
        .on(&table)
        .note("Whole lookups in C-400K, of the addresses for which the engine works most, as the paper's packets are its worst case, and of addresses drawn from the prefixes.")
        .note("A loop over FFS ends after as many iterations as bits are set. On a processor that predicts branches and runs several lookups at once, a short loop costs a misprediction, a long one its iterations; on the microengine every iteration costs."))
}
