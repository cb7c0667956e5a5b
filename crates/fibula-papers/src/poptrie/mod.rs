//! Poptrie (Asai, Ohara 2015): speed beside Tree Bitmap, DXR and SAIL, memory, and the reference
//! code's bounds.
//!
//! The paper's full text was not at hand. Claims are of its abstract, of the authors' talk, of the
//! first author's notes and of the reference code; each line of the ledger says which.

mod memory;
mod speed;

pub(crate) use speed::{compared, one_by_one};

use crate::lab::narrow;
use crate::{Error, Exhibit, Lab, Named, Paper};
use fibula::engine::Config;
use fibula::{Address, Fib, Rib};

/// The algorithms that the abstract compares: its name of each, and our engine. Poptrie is first.
const ENGINES: [(&str, &str); 5] = [
    ("Poptrie", "poptrie"),
    ("Tree BitMap", "tree-bitmap"),
    ("D16R", "dxr16"),
    ("D18R", "dxr18"),
    ("SAIL", "sail-l"),
];

/// The most next hops that the reference code's leaves of 16 bits tell apart.
const NEXT_HOPS: u32 = 65_534;

/// The paper and what of it can be made again.
pub(crate) static PAPER: Paper = Paper {
    name: "poptrie",
    citation: "Asai, Ohara: Poptrie: A Compressed Trie with Population Count for Fast and Scalable Software IP Routing Table Lookup, ACM SIGCOMM 2015",
    machine: "a single core; the sources at hand do not name the processor",
    exhibits: &[
        Exhibit {
            id: "Speed",
            title: "lookups beside Tree BitMap, DXR and SAIL, random and real destinations",
            reproduce: speed::speed,
        },
        Exhibit {
            id: "Longer prefixes",
            title: "lookups of addresses in prefixes longer than /24",
            reproduce: speed::longer_prefixes,
        },
        Exhibit { id: "IPv6", title: "lookups in IPv6 tables", reproduce: speed::ipv6 },
        Exhibit {
            id: "Memory",
            title: "memory beside the others', and what leafvec saves",
            reproduce: memory::memory,
        },
        Exhibit {
            id: "Reference code",
            title: "the sizes that the reference code states, and whether answers are right",
            reproduce: memory::reference_code,
        },
    ],
};

/// Returns the IPv4 tables with at most the next hops of leaves of 16 bits.
fn tables(lab: &Lab) -> Result<Vec<Named<u32>>, Error> {
    lab.table()?;
    Ok(lab.ipv4.iter().map(|table| narrow(table, NEXT_HOPS)).collect())
}

/// Compiles a table.
fn build<A: Address>(lab: &Lab, engine: &str, rib: &Rib<A>) -> Result<Fib<A>, Error> {
    Ok(Fib::build_from(lab.engines, engine, rib, Config::default())?)
}
