//! What `gobgp global rib` has after a next hop.

use super::super::router::marks::unknown;
use super::super::router::words::{self, Words};
use crate::mrt::AsPath;

/// Attributes of GoBGP with a value of any form.
#[rustfmt::skip]
const GOBGP_ATTRIBUTES: [&str; 10] = [
    "Communities", "ClusterList", "Aggregate", "Extcomms", "LargeCommunity", "LargeCommunities", "Aigp", "Nexthop",
    "PrefixSID", "Unknown",
];

/// Reads the path, the age and the attributes of GoBGP: `65001 {65002,65003} 1d 02:03:04 [{Origin:
/// i}]`. A path that is empty leaves no word.
pub(super) fn path_before_age(words: Words<'_>) -> Result<AsPath, String> {
    let rest = words.rest();
    let (before, attributes) = rest.split_once(" [").ok_or_else(|| unknown(rest))?;
    check_attributes(attributes)?;
    let before = before.trim_end();
    let (path, age) = before.rsplit_once(' ').unwrap_or(("", before));
    let is_time =
        age.split(':').count() == 3 && age.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    if !is_time {
        return Err(unknown(age));
    }
    let path = path.trim();
    let (without, last) = path.rsplit_once(' ').unwrap_or(("", path));
    let days = last.strip_suffix('d').filter(|days| days.parse::<u32>().is_ok());
    AsPath::parse(days.map_or(path, |_| without.trim()))
}

/// Checks what GoBGP has between brackets: each attribute in braces. None decides for which packets
/// a route holds.
fn check_attributes(text: &str) -> Result<(), String> {
    let mut rest = text.trim_end().strip_suffix(']').ok_or_else(|| unknown(text))?.trim();
    while !rest.is_empty() {
        let group = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (group, after) = group.ok_or_else(|| unknown(rest))?;
        let (name, value) = group.split_once(": ").unwrap_or((group, ""));
        let is_known = match name {
            "Origin" => matches!(value, "i" | "e" | "?"),
            "Med" | "LocalPref" => value.parse::<u32>().is_ok(),
            "Originator" => words::address(value).is_some(),
            "AtomicAggregate" => value.is_empty(),
            _ => GOBGP_ATTRIBUTES.contains(&name),
        };
        if !is_known {
            return Err(unknown(group));
        }
        rest = after.trim_start();
    }
    Ok(())
}
