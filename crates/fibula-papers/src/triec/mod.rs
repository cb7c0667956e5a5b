//! TrieC (Hu, Tang, Hua 2006): Tables 1 to 7, Figures 3 and 7 to 9.

mod counting;
mod memory;
mod models;
mod speed;
mod strides;
mod tables;
mod threads;

use crate::{Exhibit, Paper};

/// The paper and its exhibits.
pub(crate) static PAPER: Paper = Paper {
    name: "triec",
    citation: "Hu, Tang, Hua: High-performance IPv6 Forwarding Algorithm for Multi-core and Multithreaded Network Processor, PPoPP, 2006",
    machine: "Intel IXP2800 at 1.4 GHz in a cycle-accurate simulator: microengines (ME) of 8 threads, 4 SRAM channels, no caches",
    exhibits: &[
        Exhibit {
            id: "Table 1",
            title: "prefixes by length of groups A, B and C",
            reproduce: memory::table_1,
        },
        Exhibit {
            id: "Figure 2",
            title: "prefix expansion and its compression",
            reproduce: strides::figure_2,
        },
        Exhibit {
            id: "Figure 3",
            title: "next-hop indices of 16 bits beside wider ones",
            reproduce: counting::figure_3,
        },
        Exhibit { id: "Figure 7", title: "memory of the nine tables", reproduce: memory::figure_7 },
        Exhibit { id: "Figure 8", title: "memory accesses of a lookup", reproduce: memory::figure_8 },
        Exhibit { id: "Figure 9", title: "speed by threads and group", reproduce: speed::figure_9 },
        Exhibit { id: "Table 2", title: "threads that reach the line rate", reproduce: speed::table_2 },
        Exhibit { id: "Table 3", title: "POP_COUNT against loops of FFS", reproduce: counting::table_3 },
        Exhibit { id: "Table 4", title: "speed by data allocation", reproduce: strides::table_4 },
        Exhibit { id: "Table 5", title: "multi-processing against pipelining", reproduce: threads::table_5 },
        Exhibit { id: "Table 6", title: "latency hiding on and off", reproduce: speed::table_6 },
        Exhibit { id: "Table 7", title: "the price of packet order", reproduce: threads::table_7 },
    ],
};
