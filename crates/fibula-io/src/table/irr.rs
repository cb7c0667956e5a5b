//! Route objects of the routing registries (RPSL, RFC 2622 section 4 and RFC 4012 section 3).
//!
//! ```text
//! route:          192.0.2.0/24
//! origin:         AS64500
//!
//! route6:         2001:db8::/32
//! origin:         AS64501
//! ```
//!
//! The value is the origin, or a list of the origins of all objects with the prefix. Objects of
//! other classes are left out and counted.

use super::ReadOptions;
use super::builder::{Builder, Lists};
use super::layouts::{Layout, Lines, Looks, Reader};
use crate::mrt::as_number;
use crate::scan::{self, quoted};
use crate::{Damage, Place};
use fibula::IpPrefix;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| line.starts_with(b"route:") || line.starts_with(b"route6:")),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// Attributes that begin an object and are of none.
#[rustfmt::skip]
const CLASSES: [&str; 14] = [
    "route", "route6", "aut-num", "as-set", "route-set", "inetnum", "inet6num", "mntner", "person",
    "role", "filter-set", "peering-set", "rtr-set", "inet-rtr",
];

/// The object that is being read.
#[derive(Default)]
struct Object {
    line: u64,
    prefix: Option<IpPrefix>,
    origin: Option<String>,
    is_other: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut lists = Lists::default();
    let mut object = Object::default();
    builder.each_line(blocks, |number, line, builder| {
        if line.trim().is_empty() {
            return Ok(end(std::mem::take(&mut object), &mut lists, builder)?);
        }
        // Remarks of the server, and lines that continue an attribute.
        if line.starts_with(['%', '#', ' ', '\t', '+']) {
            return Ok(());
        }
        let (name, value) = line
            .split_once(':')
            .filter(|(name, _)| !name.contains(' '))
            .ok_or_else(|| format!("expected an attribute, found {}", quoted(line)))?;
        let value = value.split('#').next().unwrap_or_default().trim();
        // A class begins an object, also where no blank line is before it.
        if object.line > 0 && CLASSES.contains(&name) && (object.origin.is_some() || object.is_other) {
            end(std::mem::take(&mut object), &mut lists, builder)?;
        }
        let begins = object.line == 0;
        object.line = number;
        match name {
            "route" | "route6" if !begins => {
                return Err(format!("expected a blank line before {}", quoted(line)).into());
            }
            "route" | "route6" => {
                object.prefix = Some(scan::prefix(value.as_bytes(), options.mask_host_bits)?);
            }
            "origin" if object.origin.is_some() => {
                return Err(format!("expected one origin of an object, found {}", quoted(line)).into());
            }
            "origin" if !object.is_other => {
                let number = Some(value).filter(|value| value.to_ascii_uppercase().starts_with("AS"));
                let number = number.and_then(|value| as_number(value).ok());
                let number = number.ok_or_else(|| format!("{} is no AS number", quoted(value)))?;
                object.origin = Some(number.to_string());
            }
            _ => object.is_other |= begins,
        }
        Ok(())
    })?;
    end(object, &mut lists, builder)?;
    lists.finish(builder, true)
}

/// Adds an object that is whole.
fn end(object: Object, lists: &mut Lists, builder: &mut Builder) -> Result<(), Damage> {
    let Object { line, prefix, origin, is_other } = object;
    match (prefix, origin) {
        _ if line == 0 => Ok(()),
        _ if is_other => builder.left_out(Place::Line(line), "object that is no route"),
        (Some(prefix), Some(origin)) => {
            lists.push(Place::Line(line), prefix, &origin);
            builder.beside(Place::Line(line), lists.bytes())
        }
        _ => builder.damaged(Damage::line(line, "the object ends without a route and its origin")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn the_origins_of_all_objects() {
        let text = b"% note\n\nroute:  192.0.2.0/24\ndescr:  x\n        y: z\norigin: AS64500\n\n\
            route6: 2001:db8::/32\norigin: as64501 # one\nsource: TEST\n\n\
            aut-num: AS64500\nas-name: X\n\nroute: 192.0.2.0/24\norigin: AS64502\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Irr);
        assert_eq!(routes(&loaded), ["192.0.2.0/24 [64500,64502]", "2001:db8::/32 64501"]);
        assert_eq!(loaded.report.notes[0].count, 1);
    }

    #[test]
    fn an_object_ends_where_the_next_begins() {
        let text = b"route: 203.0.113.0/24\norigin: AS64503\nsource: TEST\n# x\nroute: 198.51.100.0/24\n\
            origin: AS64504\naut-num: AS64500\nas-name: X\n\nroute: 192.0.2.0/24\norigin: AS64500\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        let expected = ["192.0.2.0/24 64500", "198.51.100.0/24 64504", "203.0.113.0/24 64503"];
        assert_eq!(routes(&loaded), expected);
        let error = testing::error(Format::Irr, "route: 192.0.2.0/24\nroute: 198.51.100.0/24\norigin: AS1\n");
        assert_eq!(error, "memory, line 2: expected a blank line before \"route: 198.51.100.0/24\"");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Irr, text);
        assert_eq!(error("route: 192.0.2.0/24\norigin: 7\n"), "memory, line 2: \"7\" is no AS number");
        let without = "memory, line 1: the object ends without a route and its origin";
        assert_eq!(error("route: 192.0.2.0/24\n\n"), without);
        assert_eq!(error("route: 192.0.2.0/24\nx\n"), "memory, line 2: expected an attribute, found \"x\"");
    }
}
