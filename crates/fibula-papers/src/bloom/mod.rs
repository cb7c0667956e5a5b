//! Bloom filters on many cores (Lucchesi, Drummond, Teodoro 2018): Tables 3 to 5, sections 6.2 to
//! 6.7.

mod bounds;
mod cooperative;
mod speed;
mod tables;

use crate::lab::on_each_table;
use crate::{Exhibit, Paper};

/// The paper and its exhibits. Its text names few figures; the others go by their sections.
pub(crate) static PAPER: Paper = Paper {
    name: "bloom",
    citation: "Lucchesi, Drummond, Teodoro: High-performance IP lookup using Intel Xeon Phi: a Bloom filters based approach, JISA 9, 2018",
    machine: "two Intel Xeon E5-2640v3, 16 cores; Intel Xeon Phi 7120P, 61 cores, and 7250, 68 cores",
    exhibits: &[
        Exhibit {
            id: "Section 3",
            title: "structures and accesses that the text bounds",
            reproduce: |lab| on_each_table(lab, bounds::section_3),
        },
        Exhibit {
            id: "Table 3",
            title: "IPv4 prefixes before and after expansion",
            reproduce: tables::table_3,
        },
        Exhibit {
            id: "Table 4",
            title: "IPv6 levels by DPCPE, prefixes estimated and actual",
            reproduce: tables::table_4,
        },
        Exhibit {
            id: "Table 5",
            title: "parameters of the filters by false-positive ratio",
            reproduce: tables::table_5,
        },
        Exhibit {
            id: "Section 6.2",
            title: "time by the hashes of filter and table and by false-positive ratio",
            reproduce: speed::section_6_2,
        },
        Exhibit {
            id: "Section 6.3",
            title: "speed by threads, beside Baseline and MIHT",
            reproduce: speed::section_6_3,
        },
        Exhibit {
            id: "Figure 3",
            title: "speed by matching ratio (section 6.4)",
            reproduce: speed::figure_3,
        },
        Exhibit { id: "Section 6.5", title: "speed by table size", reproduce: speed::section_6_5 },
        Exhibit {
            id: "Section 6.6",
            title: "speed for IPv6 by levels, beside MIHT",
            reproduce: speed::section_6_6,
        },
        Exhibit {
            id: "Figure 9",
            title: "cooperative execution by buffer size (section 6.7)",
            reproduce: cooperative::figure_9,
        },
    ],
};
