//! Prints what maps of a table cost: `cargo run --release -p fibula-map --example time_maps TABLE`.
//!
//! Milliseconds, the median of 5. Of tiles of 256 pixels it prints the slowest of each depth.

use fibula::{Address, NextHops, Prefix, Rib};
use fibula_io::Source;
use fibula_io::table::{self, ReadOptions};
use fibula_map::{Figure, Map, View};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let tables = table::read(&Source::from(path.as_str()), &ReadOptions::default())?.tables;
        println!("{path}: read in {} ms", start.elapsed().as_millis());
        print(&tables.ipv4, &tables.next_hops, Prefix::ALL)?;
        print(&tables.ipv6, &tables.next_hops, "2000::/3".parse()?)?;
    }
    Ok(())
}

/// Returns the median of 5 times, in milliseconds, and what was made.
fn timed<T>(mut make: impl FnMut() -> T) -> (f64, T) {
    let mut times: Vec<(f64, T)> = (0..5)
        .map(|_| {
            let start = Instant::now();
            let made = make();
            (start.elapsed().as_secs_f64() * 1000.0, made)
        })
        .collect();
    times.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    times.swap_remove(2)
}

fn print<A: Address>(rib: &Rib<A>, names: &NextHops, block: Prefix<A>) -> Result<(), Box<dyn Error>> {
    if rib.is_empty() {
        return Ok(());
    }
    println!("{}: {} routes", A::FAMILY, rib.len());
    let maps = [
        ("length", timed(|| Map::lengths(rib, block))),
        ("value", timed(|| Map::values(rib, names, block))),
        ("routes", timed(|| Map::routes(rib, block))),
    ];
    for (what, (made, map)) in &maps {
        println!("  {what}: made in {made:.1}");
        for size in [1024, 4096] {
            let view = View::new(block, size)?;
            let (drawn, raster) = timed(|| map.draw(&view));
            let raster = raster?;
            let (written, png) = timed(|| {
                let mut png = Vec::new();
                let figure = Figure::new(&view, &raster, map.palette(), "table");
                figure.write_png(&mut png).map(|()| png.len())
            });
            println!("  {what}: {size} pixels: drawn {drawn:.1}, written {written:.1}, {} bytes", png?);
        }
        let whole = View::new(block, 256)?;
        for zoom in 0..=4 {
            let mut slowest: (f64, usize) = (0.0, 0);
            for (x, y) in (0..1 << zoom).flat_map(|x| (0..1 << zoom).map(move |y| (x, y))) {
                let Some(view) = whole.tile(zoom, x, y) else { continue };
                let (time, png) = timed(|| -> Result<usize, Box<dyn Error>> {
                    let mut png = Vec::new();
                    map.draw(&view)?.write_png(map.palette(), &mut png)?;
                    Ok(png.len())
                });
                let bytes = png?;
                slowest = if time > slowest.0 { (time, bytes) } else { slowest };
            }
            println!("  {what}: tiles of depth {zoom}: {:.1}, {} bytes", slowest.0, slowest.1);
        }
    }
    Ok(())
}
