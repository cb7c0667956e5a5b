//! Maps beside a naive one, whose pixels are each worked out by definition.
//!
//! ```text
//!   random routes ──▶ Rib ──▶ Map::draw ──▶ class of a pixel ──▶ its entry in the legend
//!         └──▶ of each pixel: the intervals between the ends of routes, each matched by a scan
//!              of all routes ──▶ what most addresses have ──▶ must be the same words
//! ```

use fastrand::Rng;
use fibula::{Address, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use fibula_map::{Map, Palette, View};

/// The words for a pixel without a route, and for one of a value that has no colour of its own.
const UNROUTED: &str = "no route";
const OTHER: &str = "other";

/// Returns the words that a legend has for a class.
fn meaning(palette: &Palette, class: u8) -> String {
    let entry = palette.entries().iter().find(|entry| entry.class == class);
    match entry {
        None if class == 0 => UNROUTED.into(),
        None => OTHER.into(), // one of several greys
        Some(entry) if entry.text.ends_with(OTHER) || entry.text.ends_with("others") => OTHER.into(),
        Some(entry) => entry.text.clone(),
    }
}

/// Returns the route that an address matches.
fn longest_match<A: Address>(routes: &[Route<A>], address: A) -> Option<Route<A>> {
    let covers = routes.iter().filter(|route| route.prefix.contains(address));
    covers.max_by_key(|route| route.prefix.len()).copied()
}

/// Returns the intervals of a pixel inside which no route begins or ends: the first address of
/// each, and the number of addresses.
fn intervals<A: Address>(pixel: Prefix<A>, routes: &[Route<A>]) -> Vec<(A, u128)> {
    let inside = routes.iter().filter(|route| pixel.covers(route.prefix));
    let ends = inside.flat_map(|route| [Some(route.prefix.first()), route.prefix.last().next()]);
    let mut starts: Vec<A> = ends.flatten().chain([pixel.first()]).filter(|&at| pixel.contains(at)).collect();
    starts.sort_unstable();
    starts.dedup();
    let ends: Vec<A> = starts[1..].iter().filter_map(|&next| next.previous()).chain([pixel.last()]).collect();
    let count = |(first, last): (A, A)| (first, (last.to_u128() - first.to_u128()).saturating_add(1));
    starts.into_iter().zip(ends).map(count).collect()
}

/// Returns the words that most addresses have, and of those that come first in a tie; `None` if no
/// words are given.
fn most(words: impl Iterator<Item = (String, u128)>) -> Option<String> {
    let mut sums: Vec<(String, u128)> = Vec::new();
    for (word, count) in words {
        match sums.iter_mut().find(|(known, _)| *known == word) {
            Some((_, sum)) => *sum += count,
            None => sums.push((word, count)),
        }
    }
    let most = sums.iter().map(|(_, sum)| *sum).max()?;
    sums.into_iter().find(|(_, sum)| *sum == most).map(|(word, _)| word)
}

/// A random table of a block, and some routes around and beside it.
fn table<A: Address>(rng: &mut Rng, block: Prefix<A>, deepest: u8, values: u32) -> Vec<Route<A>> {
    let address = |rng: &mut Rng| A::from_bits(rng.u64(..), 0, 64) | A::from_bits(rng.u64(..), 64, 64);
    let mut rib = Rib::new();
    for _ in 0..rng.usize(0..40) {
        let inside = block.first() | (address(rng) & !A::mask(block.len()));
        let address = if rng.u8(..10) == 0 { address(rng) } else { inside };
        let shortest = block.len().saturating_sub(u8::from(rng.u8(..8) == 0) * 4);
        rib.insert(Prefix::containing(address, rng.u8(shortest..=deepest)), NextHop(rng.u32(1..=values)));
    }
    rib.iter().collect()
}

/// Random blocks with their views and tables, some of them much larger and some smaller than a
/// pixel a prefix allows.
fn each<A: Address>(mut check: impl FnMut(&View<A>, &mut dyn FnMut() -> Vec<Route<A>>)) {
    for seed in 0..150 {
        let mut rng = Rng::with_seed(seed);
        let size = 1 << rng.u32(0..=5);
        let len = if rng.bool() { rng.u8(0..=A::BITS) } else { A::BITS - rng.u8(0..=11) };
        let address = A::from_bits(rng.u64(..), 0, 64) | A::from_bits(rng.u64(..), 64, 64);
        let view = View::new(Prefix::containing(address, len), size).unwrap();
        let deepest = view.cell_len().saturating_add(7).min(A::BITS);
        check(&view, &mut || table(&mut rng, view.block(), deepest, 20));
    }
}

/// Compares every pixel with the words that it should have.
fn compare<A: Address>(view: &View<A>, map: &Map<A>, expected: impl Fn(Prefix<A>) -> String) {
    let (raster, palette) = (map.draw(view).unwrap(), map.palette());
    for (at, &class) in raster.pixels().iter().enumerate() {
        let (x, y) = (at as u32 % view.size(), at as u32 / view.size());
        let pixel = view.prefix_at(x, y).unwrap();
        let found = meaning(palette, class);
        assert_eq!(found, expected(pixel), "{pixel} at {x},{y} of {view:?}, {}", palette.title());
    }
}

fn names() -> NextHops {
    let mut names = NextHops::new();
    for value in 64_501..=64_520 {
        names.intern(NextHopInfo::AutonomousSystem(value)).unwrap();
    }
    names
}

fn lengths<A: Address>() {
    each::<A>(|view, table| {
        let routes = table();
        let rib: Rib<A> = routes.iter().copied().collect();
        // Of the block alone, and of a larger one.
        let map = Map::lengths(&rib, if routes.len() % 2 == 0 { view.block() } else { Prefix::ALL });
        let raster = map.draw(view).unwrap();
        compare(view, &map, |pixel| {
            let words = intervals(pixel, &routes).into_iter().filter_map(|(first, count)| {
                longest_match(&routes, first).map(|route| (format!("/{}", route.prefix.len()), count))
            });
            most(words).unwrap_or(UNROUTED.into())
        });
        let routed = intervals(view.block(), &routes).into_iter();
        let routed = routed.filter(|&(first, _)| longest_match(&routes, first).is_some());
        let block = (view.block().last().to_u128() - view.block().first().to_u128()) as f64 + 1.0;
        let share = routed.map(|(_, count)| count as f64).sum::<f64>() / block;
        assert!((raster.covered() - share).abs() < 1e-9, "{view:?}: {} and {share}", raster.covered());
    });
}

fn values<A: Address>() {
    let names = names();
    each::<A>(|view, table| {
        let routes = table();
        let rib: Rib<A> = routes.iter().copied().collect();
        let map = Map::values(&rib, &names, if routes.len() % 2 == 0 { view.block() } else { Prefix::ALL });
        let texts: Vec<_> = map.palette().entries().iter().map(|entry| entry.text.clone()).collect();
        compare(view, &map, |pixel| {
            let words = intervals(pixel, &routes).into_iter().filter_map(|(first, count)| {
                longest_match(&routes, first)
                    .map(|route| (names.get(route.next_hop).unwrap().to_string(), count))
            });
            let value = most(words).unwrap_or(UNROUTED.into());
            if value == UNROUTED || texts.contains(&value) { value } else { OTHER.into() }
        });
    });
}

fn counts<A: Address>() {
    each::<A>(|view, table| {
        let routes: Vec<_> = (0..3).flat_map(|_| table()).collect();
        let rib: Rib<A> = routes.into_iter().collect();
        let routes: Vec<_> = rib.iter().collect();
        let map = Map::routes(&rib, if routes.len() % 2 == 0 { view.block() } else { Prefix::ALL });
        compare(view, &map, |pixel| match routes.iter().filter(|route| pixel.covers(route.prefix)).count() {
            0 if longest_match(&routes, pixel.first()).is_none() => UNROUTED.into(),
            0 => "none, covered".into(),
            count @ 1..=2 => count.to_string(),
            count @ 3..=256 => {
                let most = count.next_power_of_two();
                format!("{} to {most}", most / 2 + 1)
            }
            _ => "more than 256".into(),
        });
    });
}

fn changes<A: Address>() {
    each::<A>(|view, table| {
        let before = table();
        // Some routes are the same in both.
        let after: Rib<A> = before.iter().copied().step_by(2).chain(table()).collect();
        let after: Vec<_> = after.iter().collect();
        let both: Vec<_> = before.iter().chain(&after).copied().collect();
        let rib = |routes: &[Route<A>]| routes.iter().copied().collect::<Rib<A>>();
        let map = Map::changes(&rib(&before), &rib(&after), view.block());
        compare(view, &map, |pixel| {
            let next_hop = |routes, first| longest_match(routes, first).map(|route: Route<A>| route.next_hop);
            let words: Vec<(String, u128)> = intervals(pixel, &both)
                .into_iter()
                .filter_map(|(first, count)| {
                    let word = match (next_hop(&before, first), next_hop(&after, first)) {
                        (None, None) => return None,
                        (before, after) if before == after => "same",
                        (None, _) => "added",
                        (_, None) => "removed",
                        _ => "other value",
                    };
                    Some((word.to_owned(), count))
                })
                .collect();
            let changed = most(words.iter().filter(|(word, _)| word != "same").cloned());
            changed.or(most(words.into_iter())).unwrap_or(UNROUTED.into())
        });
    });
}

#[test]
fn a_pixel_has_the_length_that_most_of_its_addresses_match() {
    lengths::<u32>();
    lengths::<u128>();
}

#[test]
fn a_pixel_has_the_value_of_most_of_its_addresses() {
    values::<u32>();
    values::<u128>();
}

#[test]
fn a_pixel_counts_the_routes_that_lie_in_it() {
    counts::<u32>();
    counts::<u128>();
}

#[test]
fn a_pixel_has_the_change_of_most_of_its_changed_addresses() {
    changes::<u32>();
    changes::<u128>();
}

fn tiles_together<A: Address>() {
    each::<A>(|view, table| {
        let rib: Rib<A> = table().into_iter().collect();
        let lengths = Map::lengths(&rib, view.block());
        for zoom in 0..=2_u8 {
            let whole = View::new(view.block(), view.size() << zoom).unwrap();
            let size = u64::from(view.size());
            let map = lengths.draw(&whole).unwrap();
            for (tile_x, tile_y) in (0..1 << zoom).flat_map(|y| (0..1 << zoom).map(move |x| (x, y))) {
                let Some(tile) = view.tile(zoom, tile_x, tile_y) else {
                    // Each address of the block has more pixels than a tile then.
                    assert!(whole.cell_len() < view.block().len() + 2 * zoom);
                    continue;
                };
                let part = lengths.draw(&tile).unwrap();
                for (row, pixels) in part.pixels().chunks(view.size() as usize).enumerate() {
                    let at = (tile_y * size + row as u64) * u64::from(whole.size()) + tile_x * size;
                    let there = &map.pixels()[at as usize..][..pixels.len()];
                    assert_eq!(pixels, there, "{view:?}, tile {tile_x},{tile_y} of zoom {zoom}, row {row}");
                }
            }
        }
    });
}

#[test]
fn tiles_are_the_parts_of_a_larger_map() {
    tiles_together::<u32>();
    tiles_together::<u128>();
}

#[test]
fn sizes_that_are_no_power_of_two_are_refused() {
    for (size, is_good) in [(0, false), (1, true), (3, false), (256, true), (4096, true), (8192, false)] {
        assert_eq!(View::new(Prefix::<u32>::ALL, size).is_ok(), is_good, "{size}");
    }
}

#[test]
fn only_parts_of_a_map_are_drawn() {
    let map = Map::lengths(&Rib::<u32>::new(), "10.0.0.0/8".parse().unwrap());
    for (block, is_good) in
        [("10.0.0.0/8", true), ("10.255.0.0/16", true), ("11.0.0.0/8", false), ("0.0.0.0/0", false)]
    {
        let view = View::new(block.parse().unwrap(), 16).unwrap();
        assert_eq!(map.draw(&view).is_ok(), is_good, "{block}");
    }
}

#[test]
fn the_default_route_of_ipv6_is_all_of_the_largest_space() {
    let rib: Rib<u128> = [Route { prefix: Prefix::ALL, next_hop: NextHop(1) }].into_iter().collect();
    let view = View::new(Prefix::ALL, 16).unwrap();
    let map = Map::values(&rib, &names(), Prefix::ALL);
    let raster = map.draw(&view).unwrap();
    assert!((raster.covered() - 1.0).abs() < 1e-9);
    assert!(raster.pixels().iter().all(|&class| meaning(map.palette(), class) == "64501"));
}
