//! [`Picture`]: a map of one family as tiles, and what its colours mean.

use crate::{Query, Shown};
use fibula::{Address, Family, IpPrefix, NextHop, NextHops, Prefix, Rib};
use fibula_map::{Map, View, unicast_block};
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The pixels of a tile's side.
const TILE: u32 = 256;

/// The deepest tiles: those in which an address of IPv4 is 16 pixels wide, and a /64 of 2000::/3
/// some.
const DEEPEST: u8 = 28;

/// What the colours of a map say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The length of the longest match.
    Length,
    /// The value.
    Value,
    /// The number of routes that lie in a pixel.
    Routes,
}

impl By {
    /// Reads it from a question; the length if it says nothing.
    ///
    /// # Errors
    /// If it is something else.
    pub fn asked(query: &Query<'_>) -> Result<Self, String> {
        match query.get("by") {
            None | Some("length") => Ok(Self::Length),
            Some("value") => Ok(Self::Value),
            Some("routes") => Ok(Self::Routes),
            Some(_) => Err("by: expected length, value or routes".into()),
        }
    }
}

/// Reads the family that a question is about; IPv4 if it says nothing.
///
/// # Errors
/// If it is something else.
pub fn family(query: &Query<'_>) -> Result<Family, String> {
    match query.get("family") {
        None | Some("4") => Ok(Family::Ipv4),
        Some("6") => Ok(Family::Ipv6),
        Some(_) => Err("family: expected 4 or 6".into()),
    }
}

/// What a map of either family does.
trait Drawn: std::fmt::Debug + Send + Sync {
    fn legend(&self) -> Value;
    fn tile(&self, block: Option<IpPrefix>, zoom: u8, x: u64, y: u64) -> Option<Vec<u8>>;
}

/// A map of the addresses of one family: all of IPv4; of IPv6 2000::/3, or all if the table has
/// nothing there. Of 2000::/3 most is not allocated, so it has blocks of its own for tiles.
#[derive(Debug)]
pub struct Picture(Box<dyn Drawn>);

impl Picture {
    /// Maps a table of IPv4. O(n).
    fn ipv4(by: By, rib: &Rib<u32>, next_hops: &NextHops) -> Self {
        Self::of(by, rib, next_hops, Prefix::ALL, vec![Prefix::ALL])
    }

    /// Maps a table of IPv6. O(n).
    fn ipv6(by: By, rib: &Rib<u128>, next_hops: &NextHops) -> Self {
        let block = unicast_block(rib);
        Self::of(by, rib, next_hops, block, blocks(block, [rib]))
    }

    fn of<A: Address>(
        by: By,
        rib: &Rib<A>,
        next_hops: &NextHops,
        block: Prefix<A>,
        blocks: Vec<Prefix<A>>,
    ) -> Self
    where
        Prefix<A>: Into<IpPrefix>,
    {
        let map = match by {
            By::Length => Map::lengths(rib, block),
            By::Value => Map::values(rib, next_hops, block),
            By::Routes => Map::routes(rib, block),
        };
        Self(Box::new(Tiled { map, block, blocks }))
    }

    /// Maps what became of the answers of one table in another. O(n + m).
    fn changes(before: &Shown, after: &Shown, family: Family) -> Self {
        // The values of the first by the numbers of the second, and further ones for the others.
        let mut unknown = after.next_hops.len() as u32;
        let shared = before.next_hops.iter().map(|(_, info)| {
            after.next_hops.find(info).unwrap_or_else(|| {
                unknown += 1;
                NextHop(unknown)
            })
        });
        let shared: Vec<NextHop> = std::iter::once(NextHop::NONE).chain(shared).collect();
        let number = |next_hop: NextHop| shared.get(next_hop.0 as usize).copied();
        match family {
            Family::Ipv4 => {
                let (before, after) = (before.ipv4(number), after.ipv4(Some));
                let block = Prefix::ALL;
                let map = Map::changes(&before, &after, block);
                Self(Box::new(Tiled { map, block, blocks: vec![block] }))
            }
            Family::Ipv6 => {
                let (before, after) = (before.ipv6(number), after.ipv6(Some));
                let block = unicast_block(if after.is_empty() { &before } else { &after });
                let map = Map::changes(&before, &after, block);
                Self(Box::new(Tiled { map, block, blocks: blocks(block, [&before, &after]) }))
            }
        }
    }

    /// Returns what the colours mean, the block, and how deep tiles go.
    #[must_use]
    pub fn legend(&self) -> Value {
        self.0.legend()
    }

    /// Returns a tile of 256 pixels a side as PNG, of the whole map or of one of its blocks. There
    /// are 2^`zoom` of them a side.
    ///
    /// # Errors
    /// If there is no such tile.
    pub fn tile(&self, query: &Query<'_>) -> Result<Vec<u8>, String> {
        let zoom = query.number("zoom")?.unwrap_or(0);
        let (x, y) = (query.number("x")?.unwrap_or(0), query.number("y")?.unwrap_or(0));
        let block = query.prefix("block")?;
        self.0.tile(block, zoom, x, y).ok_or_else(|| match block {
            Some(block) => format!("no tile {x}, {y} at zoom {zoom} of {block}"),
            None => format!("no tile {x}, {y} at zoom {zoom}"),
        })
    }
}

/// The maps that were asked for last.
#[derive(Debug, Default)]
pub struct Pictures(Mutex<VecDeque<Kept>>);

/// A map that is kept.
#[derive(Debug)]
struct Kept {
    /// The names of the table and of the one that it is compared with, the family and the colours.
    of: (String, Option<String>, Family, By),
    /// The states that it shows.
    ids: [Option<u64>; 2],
    made: Instant,
    picture: Arc<OnceLock<Picture>>,
}

/// Which map.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'s> {
    /// Of this table.
    pub shown: &'s Shown,
    /// What became of the answers of another one, instead of what [`by`](Self::by) says.
    pub before: Option<&'s Shown>,
    /// Of these addresses.
    pub family: Family,
    /// With these colours.
    pub by: By,
}

impl Pictures {
    /// The maps that are kept.
    const KEPT: usize = 12;

    /// How old a map of a table may be that changes. So its tiles fit together, and a table that
    /// always changes is not always mapped.
    const FRESH: Duration = Duration::from_secs(2);

    /// Calls `what` with a map. O(n) for the first time; whoever asks for the same one meanwhile
    /// waits.
    pub fn with<T>(&self, asked: Asked<'_>, what: impl FnOnce(&Picture) -> T) -> T {
        let Asked { shown, before, family, by } = asked;
        let of = (shown.name.clone(), before.map(|before| before.name.clone()), family, by);
        let ids = [Some(shown.id), before.map(|before| before.id)];
        let is_live = shown.is_live || before.is_some_and(|before| before.is_live);
        let picture = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_good = |kept: &Kept| kept.ids == ids || is_live && kept.made.elapsed() < Self::FRESH;
            match kept.iter().position(|kept| kept.of == of) {
                Some(at) if is_good(&kept[at]) => Arc::clone(&kept[at].picture),
                at => {
                    at.map(|at| kept.remove(at));
                    kept.truncate(Self::KEPT - 1);
                    let picture = Arc::default();
                    kept.push_front(Kept { of, ids, made: Instant::now(), picture: Arc::clone(&picture) });
                    picture
                }
            }
        };
        what(picture.get_or_init(|| match (before, family) {
            (Some(before), _) => Picture::changes(before, shown, family),
            (None, Family::Ipv4) => Picture::ipv4(by, &shown.ipv4(Some), &shown.next_hops),
            (None, Family::Ipv6) => Picture::ipv6(by, &shown.ipv6(Some), &shown.next_hops),
        }))
    }
}

/// The length of the blocks that a map of IPv6 has side by side: that of the largest that IANA has
/// allocated.
const ALLOCATED: u8 = 12;

/// The most blocks side by side.
const BLOCKS: usize = 64;

/// Returns the blocks within `block` that have routes of their own, in order; `block` itself where
/// there are none, or too many. O(n).
fn blocks<'r>(block: Prefix<u128>, ribs: impl IntoIterator<Item = &'r Rib<u128>>) -> Vec<Prefix<u128>> {
    let routes = ribs.into_iter().flat_map(|rib| rib.covered(block).map(|route| route.prefix));
    let inside = routes.filter(|prefix| prefix.len() >= ALLOCATED);
    let found: BTreeSet<u128> =
        inside.map(|prefix| prefix.first() >> (u128::BITS - u32::from(ALLOCATED))).collect();
    if found.is_empty() || found.len() > BLOCKS || block.len() >= ALLOCATED {
        return vec![block];
    }
    let first = |at: u128| at << (u128::BITS - u32::from(ALLOCATED));
    found.into_iter().map(|at| Prefix::containing(first(at), ALLOCATED)).collect()
}

/// A map, and the blocks that tiles are parts of: the whole, and those that have routes.
#[derive(Debug)]
struct Tiled<A: Address> {
    map: Map<A>,
    block: Prefix<A>,
    blocks: Vec<Prefix<A>>,
}

impl<A: Address> Tiled<A> {
    fn deepest(block: Prefix<A>) -> u8 {
        DEEPEST.min((A::BITS - block.len()) / 2 - 4)
    }

    fn view(block: Prefix<A>, zoom: u8, x: u64, y: u64) -> Option<View<A>> {
        View::new(block, TILE).ok()?.tile(zoom, x, y).filter(|_| zoom <= Self::deepest(block))
    }
}

impl<A: Address> Drawn for Tiled<A>
where
    Prefix<A>: Into<IpPrefix>,
{
    fn legend(&self) -> Value {
        let whole = Self::view(self.block, 0, 0, 0).and_then(|view| self.map.draw(&view).ok());
        let palette = self.map.palette();
        let entries = palette.entries().iter().map(|entry| {
            let share = whole.as_ref().filter(|_| palette.has_shares()).map(|whole| whole.share(entry));
            json!({ "colour": palette.colour(entry.class).to_string(), "text": entry.text, "share": share })
        });
        json!({
            "title": palette.title(),
            "block": self.block.to_string(),
            "bits": A::BITS,
            "blocks": self.blocks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "zooms": self.blocks.iter().map(|&block| Self::deepest(block)).min(),
            "covered": whole.as_ref().map(fibula_map::Raster::covered),
            "entries": entries.collect::<Vec<_>>(),
        })
    }

    fn tile(&self, block: Option<IpPrefix>, zoom: u8, x: u64, y: u64) -> Option<Vec<u8>> {
        let mut all = self.blocks.iter().chain([&self.block]);
        let block = match block {
            Some(asked) => *all.find(|&&block| block.into() == asked)?,
            None => self.block,
        };
        let view = Self::view(block, zoom, x, y)?;
        let raster = self.map.draw(&view).ok()?;
        let mut png = Vec::new();
        raster.write_png(self.map.palette(), &mut png).ok()?;
        Some(png)
    }
}
