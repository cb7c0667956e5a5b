//! `fibula table map`: a table as a picture.
#![cfg_attr(not(feature = "map"), allow(dead_code, reason = "without the feature nothing is drawn"))]

#[cfg(not(feature = "map"))]
mod disabled;
#[cfg(feature = "map")]
mod enabled;

#[cfg(not(feature = "map"))]
use disabled::run;
#[cfg(feature = "map")]
use enabled::run;

use crate::exit::Verdict;
use crate::reading::{FamilyName, Reading};
use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use fibula::IpPrefix;
use std::path::PathBuf;

/// Draw a table as a map along the Hilbert curve, as PNG or SVG
///
/// Neighbours in the address space are neighbours on the map, and each prefix is one or two
/// squares. A pixel is a prefix too: of the whole IPv4 space at 1024 pixels a /20. It is background
/// where no route covers any of its addresses; otherwise it shows what most of those that have a
/// route are.
///
/// With --against a pixel shows what became of most of its addresses whose answer is another than
/// in OTHER: added, removed, or another value. Only where there is none it is the same.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    table: String,
    /// The file to write, or `-`; PNG or SVG by its name
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The format to write; by the name of FILE if not given
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<Image>,
    /// The addresses to show; 0.0.0.0/0 if not given, of IPv6 2000::/3, or ::/0 if the table has
    /// nothing there
    #[arg(long, value_name = "PREFIX")]
    block: Option<IpPrefix>,
    /// The family to show; IPv6 if not given and the table has no IPv4 routes
    #[arg(long, value_enum, value_name = "FAMILY", conflicts_with = "block")]
    family: Option<FamilyName>,
    /// What the colours say
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", conflicts_with = "against")]
    by: By,
    /// A table to compare with, a file or `-`: the colours say what changed since
    #[arg(long, value_name = "OTHER")]
    against: Option<String>,
    /// The pixels of the map's side; title and legend come on top
    #[arg(long, default_value = "1024", value_name = "PIXELS", value_parser = size_parser())]
    size: u32,
    #[command(flatten)]
    reading: Reading,
}

/// What the colours of a map say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// The length of the longest match
    #[default]
    Length,
    /// The value, of which the twelve with most addresses have a colour each
    Value,
    /// The number of routes that lie in the pixel
    Routes,
}

/// A format of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Image {
    /// Pixels
    Png,
    /// Text as text, and the map as rectangles where they are few
    Svg,
}

fn size_parser() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["256", "512", "1024", "2048", "4096"]).try_map(|size| size.parse::<u32>())
}

impl Arguments {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        run(self)
    }

    /// Returns the format: `--to`, else by the name of the file.
    fn image(&self) -> anyhow::Result<Image> {
        let ending = self.output.extension().unwrap_or_default();
        let named = || Image::from_str(ending.to_str()?, true).ok();
        let file = self.output.display();
        self.to
            .or_else(named)
            .with_context(|| format!("{file}: expected a name that ends in .png or .svg, or --to"))
    }
}
