//! DXR (Zec, Rizzo, Mikuc 2012): Tables 1 and 2, Figures 2 to 6.

mod example;
mod locked;
mod sizes;
mod speed;
mod steps;
mod updates;

use crate::lab::narrow;
use crate::{Error, Exhibit, Lab, Named, Paper};
use fibula::Rib;
use fibula::engine::{Config, Engine};
use fibula_engines::dxr::{Dxr, Statistics};

/// An engine of the paper.
#[derive(Clone, Copy)]
struct Scheme {
    /// The paper's name of it.
    name: &'static str,
    /// Ours.
    engine: &'static str,
    /// The bits that its direct table resolves.
    direct_bits: u8,
}

/// The engines of the paper.
const SCHEMES: [Scheme; 2] = [
    Scheme { name: "D16R", engine: "dxr16", direct_bits: 16 },
    Scheme { name: "D18R", engine: "dxr18", direct_bits: 18 },
];

/// What of the paper is not the engine's default, by parameters.
const PRINTED: [(&str, &str); 3] = [
    ("one range table", "/tables=one"),
    ("ending at a hit", "/search=hit"),
    ("as printed", "/tables=one/search=hit"),
];

/// The next hops of the paper's LINX snapshot. 8 bits tell them apart, which decides how ranges are
/// stored.
const NEXT_HOPS: u32 = 213;

/// Returns the table of exhibits of one table, with at most the paper's next hops.
fn table(lab: &Lab) -> Result<Named<u32>, Error> {
    Ok(narrow(lab.table()?, NEXT_HOPS))
}

/// The paper and its exhibits.
pub(crate) static PAPER: Paper = Paper {
    name: "dxr",
    citation: "Zec, Rizzo, Mikuc: DXR: Towards a Billion Routing Lookups per Second in Software, ACM SIGCOMM CCR 42(5), 2012",
    machine: "AMD FX-8150 at 3.6 GHz, 8 cores in pairs with 2 MB of L2 cache each, 8 MB of L3 cache",
    exhibits: &[
        Exhibit {
            id: "Section 3",
            title: "the example, the bounds that the text names, and other structures",
            reproduce: example::section_3,
        },
        Exhibit {
            id: "Table 1",
            title: "sizes of the data structures, and the time to build them",
            reproduce: sizes::table_1,
        },
        Exhibit { id: "Figure 2", title: "prefixes by length", reproduce: sizes::figure_2 },
        Exhibit {
            id: "Section 4",
            title: "answers beside those of all others",
            reproduce: example::section_4,
        },
        Exhibit {
            id: "Figure 3",
            title: "speed by threads, random and repeated keys",
            reproduce: speed::figure_3,
        },
        Exhibit {
            id: "Table 2",
            title: "share of addresses by iterations of the binary search",
            reproduce: steps::table_2,
        },
        Exhibit {
            id: "Figure 4",
            title: "time of a lookup by steps of the binary search",
            reproduce: speed::figure_4,
        },
        Exhibit {
            id: "Figure 5",
            title: "speed of a BSD radix tree with locks and reference counts",
            reproduce: speed::figure_5,
        },
        Exhibit { id: "Figure 6", title: "time of an update by prefix length", reproduce: updates::figure_6 },
    ],
};

impl Scheme {
    /// Returns the figures of a table as the engine compiles it with one more parameter.
    fn statistics(self, rib: &Rib<u32>, name: &str, value: &str) -> Result<Statistics, fibula::Error> {
        let config = Config::default().with("k", self.direct_bits.to_string()).with(name, value);
        Ok(Dxr::<u32>::build(rib, &config)?.statistics())
    }
}

/// Says which layout each scheme has for a table: the widths of entries, the ranges of a granule.
pub(crate) fn layouts(rib: &Rib<u32>) -> Result<String, Error> {
    let mut layouts = Vec::new();
    for scheme in SCHEMES {
        let figures = scheme.statistics(rib, "tables", "two")?;
        layouts.push(format!(
            "{} has the layout \"{}\" with granules of {}",
            scheme.name, figures.layout, figures.granule
        ));
    }
    Ok(format!("{}.", layouts.join(", ")))
}
