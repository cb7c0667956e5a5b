//! [`Picture`]: a map of one family as tiles, and what its colours mean.

use crate::{Query, Shown};
use fibula::{Address, Family, NextHop, NextHops, Prefix, Rib};
use fibula_map::{Map, View, unicast_block};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// All.
    pub const ALL: [Self; 3] = [Self::Length, Self::Value, Self::Routes];

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
    fn tile(&self, zoom: u8, x: u64, y: u64) -> Option<Vec<u8>>;
}

/// A map of the addresses of one family: all of IPv4; of IPv6 2000::/3, or all if the table has
/// nothing there.
#[derive(Debug)]
pub struct Picture(Box<dyn Drawn>);

impl Picture {
    /// Maps a table of IPv4. O(n).
    #[must_use]
    pub fn ipv4(by: By, rib: &Rib<u32>, next_hops: &NextHops) -> Self {
        Self::of(by, rib, next_hops, Prefix::ALL)
    }

    /// Maps a table of IPv6. O(n).
    #[must_use]
    pub fn ipv6(by: By, rib: &Rib<u128>, next_hops: &NextHops) -> Self {
        Self::of(by, rib, next_hops, unicast_block(rib))
    }

    fn of<A: Address>(by: By, rib: &Rib<A>, next_hops: &NextHops, block: Prefix<A>) -> Self {
        let map = match by {
            By::Length => Map::lengths(rib, block),
            By::Value => Map::values(rib, next_hops, block),
            By::Routes => Map::routes(rib, block),
        };
        Self(Box::new(Tiled { map, block }))
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
                Self(Box::new(Tiled { map: Map::changes(&before, &after, block), block }))
            }
            Family::Ipv6 => {
                let (before, after) = (before.ipv6(number), after.ipv6(Some));
                let block = unicast_block(if after.is_empty() { &before } else { &after });
                Self(Box::new(Tiled { map: Map::changes(&before, &after, block), block }))
            }
        }
    }

    /// Returns what the colours mean, the block, and how deep tiles go.
    #[must_use]
    pub fn legend(&self) -> Value {
        self.0.legend()
    }

    /// Returns a tile of 256 pixels a side as PNG. There are 2^`zoom` of them a side.
    ///
    /// # Errors
    /// If there is no such tile.
    pub fn tile(&self, query: &Query<'_>) -> Result<Vec<u8>, String> {
        let zoom = query.number("zoom")?.unwrap_or(0);
        let (x, y) = (query.number("x")?.unwrap_or(0), query.number("y")?.unwrap_or(0));
        self.0.tile(zoom, x, y).ok_or_else(|| format!("no tile {x}, {y} at zoom {zoom}"))
    }
}

/// The comparisons that were asked for last.
#[derive(Debug, Default)]
pub struct Comparisons(Mutex<VecDeque<(Compared, Arc<Picture>)>>);

/// What is compared: two tables by name and generation, in a family.
type Compared = ([(String, u64); 2], Family);

impl Comparisons {
    /// The comparisons that are kept.
    const KEPT: usize = 4;

    /// Returns the map of what became of the answers of one table in another. Whoever asks at the
    /// same time waits. O(n + m) for the first time.
    pub fn of(&self, before: &Shown, after: &Shown, family: Family) -> Arc<Picture> {
        let key = ([before, after].map(|shown| (shown.name.clone(), shown.generation)), family);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, picture)) = kept.iter().find(|(known, _)| *known == key) {
            return Arc::clone(picture);
        }
        kept.truncate(Self::KEPT - 1);
        let picture = Arc::new(Picture::changes(before, after, family));
        kept.push_front((key, Arc::clone(&picture)));
        picture
    }
}

/// A map, and the block that tiles are parts of.
#[derive(Debug)]
struct Tiled<A: Address> {
    map: Map<A>,
    block: Prefix<A>,
}

impl<A: Address> Tiled<A> {
    fn deepest(&self) -> u8 {
        DEEPEST.min((A::BITS - self.block.len()) / 2 - 4)
    }

    fn view(&self, zoom: u8, x: u64, y: u64) -> Option<View<A>> {
        View::new(self.block, TILE).ok()?.tile(zoom, x, y)
    }
}

impl<A: Address> Drawn for Tiled<A> {
    fn legend(&self) -> Value {
        let whole = self.view(0, 0, 0).and_then(|view| self.map.draw(&view).ok());
        let palette = self.map.palette();
        let entries = palette.entries().iter().map(|entry| {
            let share = whole.as_ref().filter(|_| palette.has_shares()).map(|whole| whole.share(entry));
            json!({ "colour": palette.colour(entry.class).to_string(), "text": entry.text, "share": share })
        });
        json!({
            "title": palette.title(),
            "block": self.block.to_string(),
            "bits": A::BITS,
            "zooms": self.deepest(),
            "covered": whole.as_ref().map(fibula_map::Raster::covered),
            "entries": entries.collect::<Vec<_>>(),
        })
    }

    fn tile(&self, zoom: u8, x: u64, y: u64) -> Option<Vec<u8>> {
        let view = self.view(zoom, x, y).filter(|_| zoom <= self.deepest())?;
        let raster = self.map.draw(&view).ok()?;
        let mut png = Vec::new();
        raster.write_png(self.map.palette(), &mut png).ok()?;
        Some(png)
    }
}
