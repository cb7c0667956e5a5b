//! Draws routing tables as maps: a block of addresses along the Hilbert curve, on which neighbours
//! in the address space are neighbours in the picture, and every prefix is one or two squares.
//!
//! ```text
//! Rib ─▶ Map: intervals, colours ──draw──▶ Raster: an index a pixel ──┬─ write_png ─▶ a tile
//!               View: block, size ───▲                                 └─ Figure ────▶ PNG or SVG
//!                                                                     with title, legend, labels
//! ```
//!
//! ```
//! use fibula::{NextHop, Prefix, Rib};
//! use fibula_map::{Figure, Map, View};
//!
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("10.0.0.0/8".parse()?, NextHop(1));
//! let map = Map::lengths(&rib, Prefix::ALL);
//! let view = View::new(Prefix::ALL, 256)?;
//! let raster = map.draw(&view)?;
//! assert_eq!(raster.covered(), 1.0 / 256.0);
//!
//! let mut tile = Vec::new();
//! raster.write_png(map.palette(), &mut tile)?;
//! let mut image = Vec::new();
//! Figure::new(&view, &raster, map.palette(), "a table, 1 route").write_png(&mut image)?;
//! assert!(tile.starts_with(b"\x89PNG") && image.starts_with(b"\x89PNG"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod figure;
mod hilbert;
mod labels;
mod map;
mod palette;
mod png;
mod raster;
mod svg;
mod text;
mod view;

pub use error::Error;
pub use figure::Figure;
pub use map::Map;
pub use palette::{Entry, Palette, Rgb};
pub use raster::Raster;
pub use view::{SIZES, View, unicast_block};
