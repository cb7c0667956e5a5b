//! What is not the same in two tables.

use crate::{Shown, write_prefix};
use fibula::{IpPrefix, NextHop};

/// A prefix whose value is another one, or that only one of two tables has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The prefix.
    pub prefix: IpPrefix,
    /// The number of its value in the first table, if it is there.
    pub before: Option<NextHop>,
    /// The number of its value in the second table, if it is there.
    pub after: Option<NextHop>,
}

impl Difference {
    /// Returns what happened, as `fibula table diff` calls it.
    #[must_use]
    pub fn change(self) -> &'static str {
        match (self.before.is_some(), self.after.is_some()) {
            (false, _) => "added",
            (true, false) => "removed",
            (true, true) => "changed",
        }
    }

    /// Writes it as an object, with the keys of `fibula table diff`.
    pub fn write(self, out: &mut Vec<u8>, from: &Shown, to: &Shown) {
        out.extend_from_slice(b"{\"change\":\"");
        out.extend_from_slice(self.change().as_bytes());
        out.extend_from_slice(b"\",\"prefix\":\"");
        write_prefix(out, self.prefix);
        out.extend_from_slice(b"\",\"before\":");
        out.extend_from_slice(from.json(self.before.unwrap_or_default()).as_bytes());
        out.extend_from_slice(b",\"after\":");
        out.extend_from_slice(to.json(self.after.unwrap_or_default()).as_bytes());
        out.push(b'}');
    }
}

/// Returns the differences in the order of prefixes, IPv4 first. Values are compared by what they
/// stand for. O(n) in the routes of both.
pub fn differences<'s>(from: &'s Shown, to: &'s Shown) -> impl Iterator<Item = Difference> + use<'s> {
    let same = from.next_hops.iter().map(|(_, info)| to.next_hops.find(info));
    let same: Vec<Option<NextHop>> = std::iter::once(None).chain(same).collect();
    from.table.union(&to.table).filter_map(move |(prefix, before, after)| {
        let (before, after) = (before.copied(), after.copied());
        let is_same = match (before, after) {
            (Some(before), Some(_)) => same[before.0 as usize] == after,
            _ => false,
        };
        (!is_same).then_some(Difference { prefix, before, after })
    })
}
