//! Draws what was asked for.

use super::{Arguments, By, Image};
use crate::commands::table::diff::share_next_hops;
use crate::exit::Verdict;
use crate::operand::check_standard_input;
use crate::reading::{FamilyName, verdict};
use crate::writing::write_text;
use fibula::{Address, IpPrefix, NextHops, Prefix, Rib};
use fibula_io::Source;
use fibula_io::table::Tables;
use fibula_map::{Figure, Map, View, unicast_block};
use indicatif::HumanCount;
use std::path::Path;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let image = arguments.image()?;
    let source = Source::from(arguments.table.as_str());
    let other = arguments.against.as_deref().map(Source::from);
    check_standard_input([Some(&source), other.as_ref()].into_iter().flatten())?;
    arguments.reading.of_tables(1 + usize::from(other.is_some()))?;
    let loaded = arguments.reading.read(&source)?;
    let mut whole = verdict(&loaded) == Verdict::Good;
    let mut tables = loaded.tables;
    let mut name = short_name(&source);
    let mut before = None;
    if let Some(other) = other {
        let loaded = arguments.reading.read(&other)?;
        whole &= verdict(&loaded) == Verdict::Good;
        let next_hops = share_next_hops(loaded.tables.next_hops.clone(), &mut tables)?;
        tables.next_hops = next_hops;
        name = format!("{name} against {}", short_name(&other));
        before = Some(loaded.tables);
    }
    let wanted = Wanted { arguments, image, name, next_hops: &tables.next_hops };
    match block(arguments, &tables) {
        IpPrefix::V4(block) => {
            wanted.write(block, &tables.ipv4, before.as_ref().map(|tables| &tables.ipv4))?;
        }
        IpPrefix::V6(block) => {
            wanted.write(block, &tables.ipv6, before.as_ref().map(|tables| &tables.ipv6))?;
        }
    }
    Ok(Verdict::good_if(whole))
}

/// Returns the block to show.
fn block(arguments: &Arguments, tables: &Tables) -> IpPrefix {
    if let Some(block) = arguments.block {
        return block;
    }
    let is_ipv6 = tables.ipv4.is_empty() && !tables.ipv6.is_empty();
    match arguments.family.unwrap_or(if is_ipv6 { FamilyName::Ipv6 } else { FamilyName::Ipv4 }) {
        FamilyName::Ipv4 => Prefix::<u32>::ALL.into(),
        FamilyName::Ipv6 => unicast_block(&tables.ipv6).into(),
    }
}

/// Returns the name of a table without its folder.
fn short_name(source: &Source) -> String {
    let name = source.to_string();
    Path::new(&name).file_name().map_or(name.clone(), |file| file.to_string_lossy().into_owned())
}

/// What is the same for both families.
struct Wanted<'m> {
    arguments: &'m Arguments,
    image: Image,
    name: String,
    next_hops: &'m NextHops,
}

impl Wanted<'_> {
    fn write<A: Address>(
        &self,
        block: Prefix<A>,
        rib: &Rib<A>,
        before: Option<&Rib<A>>,
    ) -> anyhow::Result<()> {
        let view = View::new(block, self.arguments.size)?;
        let map = match (before, self.arguments.by) {
            (Some(before), _) => Map::changes(before, rib, block),
            (None, By::Length) => Map::lengths(rib, block),
            (None, By::Value) => Map::values(rib, self.next_hops, block),
            (None, By::Routes) => Map::routes(rib, block),
        };
        let raster = map.draw(&view)?;
        let routes = rib.covered(block).count();
        let plural = if routes == 1 { "" } else { "s" };
        let title = format!("{}, {} route{plural}", self.name, HumanCount(routes as u64));
        let figure = Figure::new(&view, &raster, map.palette(), &title);
        write_text(&self.arguments.output, |out| match self.image {
            Image::Png => figure.write_png(out),
            Image::Svg => figure.write_svg(out),
        })
    }
}
