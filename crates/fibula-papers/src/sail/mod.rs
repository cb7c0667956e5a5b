//! SAIL (Yang et al. 2014): Figures 6 to 15, Table 2, section 7.

mod bounds;
mod card;
mod memory;
mod speed;
mod tables;
mod updates;

use crate::lab::{narrow, on_each_table};
use crate::{Error, Exhibit, Lab, Named, Paper};

/// The most next hops of a table whose figures depend on them: those that 8 bits hold beside
/// "none".
const NEXT_HOPS: u32 = 200;

/// Returns the table of exhibits of one table, with next hops of 8 bits as the paper has them.
fn table(lab: &Lab) -> Result<Named<u32>, Error> {
    Ok(narrow(lab.table()?, NEXT_HOPS))
}

/// The paper and its exhibits.
pub(crate) static PAPER: Paper = Paper {
    name: "sail",
    citation: "Yang, Xie, Li, Fu, Liu, Li, Mathy: Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM, 2014",
    machine: "Intel Core i7-3520M at 2.82 GHz, 4 MB of L3 cache; NVIDIA Tesla C2075; Tilera TLR4-03680; Xilinx Virtex 7",
    exhibits: &[
        Exhibit {
            id: "Section 4",
            title: "accesses and memory that sections 1 to 4 bound",
            reproduce: |lab| on_each_table(lab, bounds::section_4),
        },
        Exhibit { id: "Table 2", title: "the cost of a lookup by level", reproduce: speed::table_2 },
        Exhibit {
            id: "Section 6.1",
            title: "answers of all algorithms beside the oracle's",
            reproduce: bounds::section_6_1,
        },
        Exhibit { id: "Section 6.2", title: "SAIL_L beside PBF", reproduce: bounds::section_6_2 },
        Exhibit {
            id: "Section 6.3",
            title: "what the ratios of the text come to",
            reproduce: speed::section_6_3,
        },
        Exhibit { id: "Figure 6", title: "on-chip memory as tables grow", reproduce: memory::figure_6 },
        Exhibit { id: "Figure 7", title: "on-chip memory by table", reproduce: memory::figure_7 },
        Exhibit { id: "Figure 8", title: "speed with real traffic", reproduce: speed::figure_8 },
        Exhibit { id: "Figure 9", title: "speed with prefix-based traffic", reproduce: speed::figure_9 },
        Exhibit { id: "Figure 10", title: "speed with random traffic", reproduce: speed::figure_10 },
        Exhibit {
            id: "Figure 11",
            title: "memory accesses of an update",
            reproduce: |lab| on_each_table(lab, updates::figure_11),
        },
        Exhibit {
            id: "Figure 12",
            title: "speed of SAIL_M by number of tables",
            reproduce: tables::figure_12,
        },
        Exhibit { id: "Figure 13", title: "speed on a graphics card by batch", reproduce: card::figure_13 },
        Exhibit { id: "Figure 14", title: "latency on a graphics card by batch", reproduce: card::figure_14 },
        Exhibit { id: "Figure 15", title: "speed by cores", reproduce: speed::figure_15 },
        Exhibit { id: "Section 7", title: "on-chip memory of IPv6 tables", reproduce: memory::section_7 },
    ],
};
