//! PlanB (Zhang and others 2026): speed beside Poptrie, the tree's size, and the time of a rebuild.
//!
//! The paper's full text was not at hand. Claims are of its abstract and introduction, and of what
//! an independent implementation tells of the paper's evaluation; each line of the ledger says
//! which.

mod speed;
mod structure;

use crate::{Error, Exhibit, Lab, Named, Paper};

/// The algorithms that are compared: the abstract's name of each, and our engine. PlanB is first.
/// The others of the abstract (CP-Trie, Neurotrie, HBS) are no engines.
const ENGINES: [(&str, &str); 3] =
    [("PlanB", "planb"), ("PopTrie", "poptrie"), ("Tree Bitmap", "tree-bitmap")];

/// The paper and what of it can be made again.
pub(crate) static PAPER: Paper = Paper {
    name: "planb",
    citation: "Zhang, Liu, Chen, Li, Shu, Hsu, Zhang: PlanB: Efficient Software IPv6 Lookup with Linearized B+-Tree, NSDI 2026",
    machine: "an AMD processor, 12 cores (the abstract)",
    exhibits: &[
        Exhibit { id: "Speed", title: "lookups beside PopTrie's", reproduce: speed::speed },
        Exhibit {
            id: "Ways",
            title: "what vectors and batches are worth, and several threads",
            reproduce: speed::ways,
        },
        Exhibit {
            id: "Structure",
            title: "intervals, levels and memory beside PopTrie's",
            reproduce: structure::structure,
        },
        Exhibit { id: "Rebuild", title: "the time of a build", reproduce: structure::rebuild },
        Exhibit { id: "Answers", title: "whether answers are right", reproduce: structure::answers },
    ],
};

/// Returns the IPv6 tables.
fn tables(lab: &Lab) -> Result<&[Named<u128>], Error> {
    lab.table6()?;
    Ok(&lab.ipv6)
}
