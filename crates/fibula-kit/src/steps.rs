//! [`STEPS`]: every file of `docs/evidence`, how it is made, and of which sources it speaks.
//!
//! `fibula study all` runs them in this order, the pages name no other file, and a test compares
//! the commit of each file with later changes of its sources.

use std::fmt;

/// A file of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file, in the folder of evidence.
    pub file: &'static str,
    /// How it is made.
    pub way: Way,
    /// What it takes besides tables, and not every machine has.
    pub needs: Needs,
    /// About how many minutes it takes on two cores.
    pub minutes: u32,
    /// The files and folders of the tree that it speaks of: a change of one may change its rows.
    pub sources: &'static [&'static str],
}

/// What a file takes besides tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// That many cores.
    Cores(usize),
    /// Hardware, programs or features that the study itself looks for.
    Others(&'static str),
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::Cores(cores) => write!(f, "{cores} cores"),
            Self::Others(what) => f.write_str(what),
        }
    }
}

/// How a file of evidence is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By a study of the command line. A word that begins with [`TABLE`] is a file of tables.
    Study {
        /// What follows `fibula study`, without the file to write.
        full: &'static str,
        /// The same at the smallest size, of [`SMALL`] alone.
        quick: &'static str,
    },
    /// By judging the files of these papers in the same folder.
    Claims(&'static [&'static str]),
    /// By another command, in a checkout.
    Command(&'static str),
    /// By `fibula study page` with this page: a drawing.
    Page(&'static str),
}

impl Step {
    /// Returns the file's name without its ending.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.file.split('.').next().unwrap_or_default()
    }
}

/// The first character of a word that is a file of tables, changes or traffic.
pub const TABLE: char = '@';

/// The only table of the smallest size.
pub const SMALL: &str = "small";

/// Engines that `best` takes or is compared with, and what they are made of.
const OF_BEST: &[&str] = &["crates/fibula/src/engines", "crates/fibula/src/engine/choice.rs"];

/// All engines.
const OF_ALL: &[&str] = &["crates/fibula/src/engines", "crates/fibula-engines/src"];

/// Tables of other shapes than the Internet's.
macro_rules! shapes {
    () => {
        "-t @office4.txt -t @office4-30k.txt -t @datacentre4.txt -t @pairs4.txt -t @nested4.txt \
         -t @provider4.txt -t @edge4.txt -t @cloud4.txt -t @office6.txt -t @office6-30k.txt \
         -t @datacentre6.txt -t @racks6.txt -t @nested6.txt -t @provider6.txt -t @edge6.txt"
    };
}

/// Three real tables of each family, of different years.
macro_rules! three {
    () => {
        "-t @ipv4-20140513-routeviews-asn.tsv.gz -t @ipv4-20151023-pch-nexthop.tsv.gz \
         -t @ipv4-202401-tier1-joinedasn.tsv.gz -t @ipv6-20141225-linx-nexthop.tsv.gz \
         -t @ipv6-202401-tier1-joinedasn.tsv.gz -t @ipv6-20260511-ris-as3333-joinedasn.tsv.gz"
    };
}

/// What the exhibits of a paper are measured with. Those of one table take the first of a family.
macro_rules! paper {
    ($name:literal) => {
        concat!(
            $name,
            " ",
            three!(),
            " -t internet --addresses 1048576 --passes 3 --threads 2 -u @updates-ipv4-20141217-linx.tsv.gz \
             --traffic @trace-ipv4-ndpi-dst.txt.gz"
        )
    };
}

/// A paper at the smallest size.
macro_rules! quick_paper {
    ($name:literal) => {
        concat!($name, " -t @small --smaller 1000 --addresses 500 --passes 1")
    };
}

/// Returns a step that every machine makes.
const fn study(
    file: &'static str,
    minutes: u32,
    full: &'static str,
    quick: &'static str,
    sources: &'static [&'static str],
) -> Step {
    Step { file, way: Way::Study { full, quick }, needs: Needs::Nothing, minutes, sources }
}

/// Returns a drawing of a page.
const fn drawing(file: &'static str, page: &'static str) -> Step {
    Step { file, way: Way::Page(page), needs: Needs::Nothing, minutes: 0, sources: &[] }
}

/// Every file of `docs/evidence`, in the order in which they are made.
pub const STEPS: &[Step] = &[
    study(
        "engines.jsonl",
        6,
        "engines -t @ipv4-202401-tier1-joinedasn.tsv.gz -t @ipv6-20260511-ris-as3333-joinedasn.tsv.gz \
         -u made=100000 -e all",
        "engines -t @small -u made=50 -e radix,poptrie --addresses 2048 --passes 5",
        OF_ALL,
    ),
    study(
        "best.jsonl",
        5,
        concat!("best ", shapes!(), " --passes 5"),
        "best -t @small --addresses 2048 --passes 5",
        OF_BEST,
    ),
    Step {
        needs: Needs::Others("the feature `peers`"),
        ..study(
            "compare.jsonl",
            8,
            concat!(
                "compare -e best --against peer:dpdk-fib,peer:dpdk-fib6,peer:treebitmap,peer:bart,sail-l,\
                 poptrie,dxr,planb,mosaic-runs --next-hops near=200 --passes 5 --addresses 2097152 \
                 -t @ipv4-202401-tier1-joinedasn.tsv.gz -t @ipv4-20140513-routeviews-asn.tsv.gz \
                 -t @ipv4-20151023-pch-nexthop.tsv.gz -t @ipv6-202401-tier1-joinedasn.tsv.gz \
                 -t @ipv6-20260511-ris-as3333-joinedasn.tsv.gz ",
                shapes!()
            ),
            "compare -t @small -e best --against peer:treebitmap --next-hops near=20 --addresses 2048 --passes 5",
            OF_BEST,
        )
    },
    Step {
        needs: Needs::Others("the feature `peers`"),
        ..study(
            "calls.jsonl",
            9,
            "compare -e best --against peer:dpdk-fib,peer:dpdk-lpm,peer:dpdk-fib6,peer:bart,\
             peer:prefix-trie --next-hops near=200 --batch 1,8,32,256,16384 --passes 5 --trace prefix,zipf \
             --addresses 2097152 -t @office4-3.txt -t @office4-30.txt -t @office4-500.txt -t @office4.txt \
             -t @office4-30k.txt -t @datacentre4.txt -t @ipv4-202401-tier1-joinedasn.tsv.gz -t @office6.txt \
             -t @ipv6-202401-tier1-joinedasn.tsv.gz",
            "compare -t @small -e best --against peer:treebitmap --next-hops near=20 --batch 1,8 \
             --trace prefix --addresses 2048 --passes 5",
            OF_BEST,
        )
    },
    study(
        "worst.jsonl",
        4,
        concat!(
            "worst -t worst ",
            shapes!(),
            " -t @ipv4-20151023-pch-nexthop.tsv.gz -t @ipv6-20260511-ris-as3333-joinedasn.tsv.gz -e best,all \
             --sample 500 --kind-ms 100"
        ),
        "worst -t @small -e radix,poptrie --sample 5 --kind-ms 5",
        OF_BEST,
    ),
    study(
        "growth.jsonl",
        2,
        concat!("growth -e best,poptrie ", shapes!()),
        "growth -e poptrie -t @small --ipv4 2000 --ipv6 1000 --hosts 500 --private 100 --many near=40 \
         --updates 50 --addresses 2048 --passes 5",
        OF_BEST,
    ),
    study("triec.jsonl", 3, paper!("triec"), quick_paper!("triec"), &["crates/fibula-engines/src/triec"]),
    study("dxr.jsonl", 1, paper!("dxr"), quick_paper!("dxr"), &["crates/fibula-engines/src/dxr"]),
    study(
        "tilepro.jsonl",
        1,
        paper!("tilepro"),
        quick_paper!("tilepro"),
        &[
            "crates/fibula/src/engines/dir24_8",
            "crates/fibula-engines/src/tree_bitmap",
            "crates/fibula-engines/src/hybrid",
        ],
    ),
    study(
        "sail.jsonl",
        3,
        paper!("sail"),
        quick_paper!("sail"),
        &[
            "crates/fibula-engines/src/sail_b",
            "crates/fibula-engines/src/sail_l",
            "crates/fibula-engines/src/sail_l6",
            "crates/fibula-engines/src/sail_m",
            "crates/fibula-engines/src/sail_u",
        ],
    ),
    study(
        "poptrie.jsonl",
        1,
        concat!(
            "poptrie ",
            three!(),
            " --addresses 1048576 --passes 5 --threads 2 --traffic @trace-ipv4-ndpi-dst.txt.gz"
        ),
        quick_paper!("poptrie"),
        &["crates/fibula/src/engines/poptrie"],
    ),
    study(
        "bloom.jsonl",
        3,
        paper!("bloom"),
        quick_paper!("bloom"),
        &[
            "crates/fibula-engines/src/bloom",
            "crates/fibula-engines/src/bloom6",
            "crates/fibula-engines/src/bloom_naive.rs",
            "crates/fibula-engines/src/miht",
        ],
    ),
    study(
        "cram.jsonl",
        1,
        concat!("cram ", three!(), " --addresses 1048576 --passes 1"),
        quick_paper!("cram"),
        &["crates/fibula-papers/src/cram"],
    ),
    study(
        "planb.jsonl",
        1,
        "planb -t @ipv6-20141225-linx-nexthop.tsv.gz -t @ipv6-202401-tier1-joinedasn.tsv.gz \
         -t @ipv6-20260511-ris-as3333-joinedasn.tsv.gz --addresses 1048576 --passes 5 --threads 2",
        quick_paper!("planb"),
        &["crates/fibula-engines/src/planb"],
    ),
    Step {
        file: "claims.jsonl",
        way: Way::Claims(&["triec", "dxr", "tilepro", "sail", "poptrie", "bloom", "cram", "planb"]),
        needs: Needs::Nothing,
        minutes: 0,
        sources: &[],
    },
    Step {
        needs: Needs::Cores(16),
        ..study(
            "parallel.jsonl",
            10,
            "parallel -t @ipv4-202401-ipv6-202605.tsv.gz --threads 2,4,8,16 --addresses 2097152 --passes 5",
            "parallel -t @small -e dir24-8,tree-bitmap --threads 2 --chunk 64 --addresses 2048 --passes 1",
            &["crates/fibula-engines/src/parallel"],
        )
    },
    Step {
        needs: Needs::Others("Linux, root and the feature `router`"),
        ..study(
            "router.jsonl",
            2,
            "router -t @ipv4-202401-tier1-joinedasn.tsv.gz -t @ipv6-20260511-ris-as3333-joinedasn.tsv.gz \
             --next-hops 200 --addresses 1048576 --rounds 11 --packets 131072",
            "router -t @small --next-hops 8 --addresses 1024 --rounds 1 --packets 256",
            &["crates/fibula-router/bpf", "crates/fibula-router/src/plane/xdp", "crates/fibula-image"],
        )
    },
    Step {
        needs: Needs::Others("a CUDA card and the feature `gpu`"),
        ..study(
            "gpu.jsonl",
            10,
            "gpu -t @ipv4-201510-ipv6-202605.tsv.gz -e all --addresses 4194304 -u @updates-both.tsv.gz",
            "gpu -t @small --addresses 4096 -u made=50",
            &["crates/fibula-gpu/src", "crates/fibula-image"],
        )
    },
    Step {
        needs: Needs::Others("a CUDA card and the feature `gpu`"),
        ..study(
            "vrf.jsonl",
            2,
            "vrf -t @ipv4-20151023-pch-nexthop.tsv.gz --device gpu --engine gpu-mosaic,gpu-sail-l \
             --tables 1,16,256,1024 --full 8 --addresses 4194304",
            "vrf -t @small --device gpu --engine gpu-mosaic --tables 1 --full 0 --addresses 4096",
            &["crates/fibula-gpu/src", "crates/fibula-image"],
        )
    },
    Step {
        file: "hdl.jsonl",
        way: Way::Command("cargo xtask hdl"),
        needs: Needs::Others("Verilator, yosys and nextpnr, which it installs"),
        minutes: 30,
        sources: &["hdl/rtl", "hdl/synthesis", "crates/fibula-hdl/src"],
    },
    drawing("growth-ipv4-bytes.svg", "docs/growth.md"),
    drawing("growth-ipv4-mlps.svg", "docs/growth.md"),
    drawing("growth-ipv6-bytes.svg", "docs/growth.md"),
    drawing("growth-ipv6-mlps.svg", "docs/growth.md"),
    drawing("dxr-figure-2.svg", "docs/papers/dxr.md"),
    drawing("dxr-figure-6.svg", "docs/papers/dxr.md"),
];
