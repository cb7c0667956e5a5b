//! DIR-24-8, Tree Bitmap and a hybrid on TILEPro64 (He, Guan, Xie, Salamatian 2012): Section III-B,
//! Tables III and IV, Figures 4 to 9.

mod bounds;
mod lazy;
mod models;
mod speed;
mod threads;
mod updates;

use crate::lab::on_each_table;
use crate::{Exhibit, Paper};

/// The two forms of Tree Bitmap: the paper's name of each, and ours.
const TREES: [(&str, &str); 2] =
    [("TBP 13-4-4-4-4-3", "tree-bitmap"), ("TBP 11-7-7-7", "tree-bitmap/strides=11-7-7-7")];

/// DIR-24-8: the paper's name, and ours.
const DIR: (&str, &str) = ("DIR-24-8-BASIC", "dir24-8");

/// The paper and its exhibits.
pub(crate) static PAPER: Paper = Paper {
    name: "tilepro",
    citation: "He, Guan, Xie, Salamatian: Evaluating and Optimizing IP Lookup on Many Core Processors, ICCCN, 2012",
    machine: "Tilera TILEPro64 at 700 MHz, 64 cores with 64 KB of L2 cache each",
    exhibits: &[
        Exhibit {
            id: "Section III-B",
            title: "time of a lookup with large pages",
            reproduce: speed::section_3_b,
        },
        Exhibit {
            id: "Section III-B, lazy checking",
            title: "time of a lookup with lazy checking and without",
            reproduce: lazy::section_3_b,
        },
        Exhibit {
            id: "Section IV",
            title: "nodes, accesses and answers that the text names",
            reproduce: |lab| on_each_table(lab, bounds::section_4),
        },
        Exhibit { id: "Table III", title: "unique addresses of the traces", reproduce: speed::table_3 },
        Exhibit { id: "Figure 4", title: "time of a lookup on one core", reproduce: speed::figure_4 },
        Exhibit { id: "Figure 5", title: "Tree Bitmap as a pipeline of cores", reproduce: threads::figure_5 },
        Exhibit {
            id: "Section V",
            title: "the worst update of DIR-24-8 and of the hybrid",
            reproduce: |lab| on_each_table(lab, bounds::section_5),
        },
        Exhibit {
            id: "Figure 6",
            title: "DIR-24-8 run to completion by cores",
            reproduce: threads::figure_6,
        },
        Exhibit {
            id: "Table IV",
            title: "what adding and deleting /8 to /16 writes",
            reproduce: |lab| on_each_table(lab, updates::table_4),
        },
        Exhibit {
            id: "Figure 7",
            title: "Tree Bitmap run to completion by cores",
            reproduce: threads::figure_7,
        },
        Exhibit { id: "Figure 9", title: "time of a lookup of the hybrid", reproduce: speed::figure_9 },
    ],
};
