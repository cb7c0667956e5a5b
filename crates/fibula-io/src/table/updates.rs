//! Updates as text, applied to a table that is empty at first; see [`update`](crate::update).

use super::ReadOptions;
use super::builder::{Builder, Trouble};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::rows::read_value;
use crate::update::text_line;
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHop};
use std::collections::HashMap;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| matches!(text_line(line, true), Ok(Some(_)))),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

fn read(lines: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    // A prefix that was withdrawn has no next hop: it may come again, and takes room.
    let mut routes: HashMap<IpPrefix, Option<NextHop>> = HashMap::new();
    let mut end = 0;
    builder.each_line(lines, |number, line, builder| {
        end = number;
        let place = Place::Line(number);
        let Some(line) = text_line(line.as_bytes(), options.mask_host_bits)? else { return Ok(()) };
        let known = routes.entry(line.prefix).or_default();
        if !line.announce {
            *known = None;
        } else if line.next_hop != b"-" || known.is_none() {
            *known = Some(builder.intern(place, read_value(line.next_hop, options.value)?)?);
        }
        let bytes = routes.len() * 2 * size_of::<(IpPrefix, Option<NextHop>)>();
        builder.beside(place, bytes as u64).map_err(Trouble::Stop)
    })?;
    let place = Place::Line(end);
    let mut routes: Vec<(IpPrefix, NextHop)> =
        routes.into_iter().filter_map(|(prefix, next_hop)| Some((prefix, next_hop?))).collect();
    routes.sort_unstable_by_key(|(prefix, _)| *prefix);
    routes.into_iter().try_for_each(|(prefix, next_hop)| builder.push(place, prefix, next_hop))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn the_last_update_of_a_prefix_counts() {
        let text = b"# one day\nA 10.0.0.0/8 192.0.2.1 5\nA\t10.1.0.0/16\t192.0.2.2\t6\nW 10.0.0.0/8\n\
            A 10.1.0.0/16 - 7\nA 2001:db8::/32\nW 192.0.2.0/24\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Updates);
        assert_eq!(routes(&loaded), ["10.1.0.0/16 192.0.2.2", "2001:db8::/32 -"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let what = "memory, line 2: expected A or W, a prefix, a next hop and a time, found \"B 10.0.0.0/8\"";
        assert_eq!(testing::error(Format::Updates, "W 10.0.0.0/8\nB 10.0.0.0/8\n"), what);
    }
}
