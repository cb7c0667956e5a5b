//! [`NextHop`]: the answer of a lookup, and [`NextHops`]: what each answer stands for.

use crate::{Error, Limit};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The answer of a lookup: an index into [`NextHops`]. Index 0 is [`NextHop::NONE`], "no route".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct NextHop(pub u32);

impl NextHop {
    /// No route matches.
    pub const NONE: Self = Self(0);

    /// Whether this is an answer at all.
    #[must_use]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// What a next hop stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NextHopInfo {
    /// A router to send to: its address and, where known, the interface it is reached through.
    Gateway {
        /// The router's address; `None` for a directly connected network.
        address: Option<IpAddr>,
        /// The outgoing interface.
        interface: Option<Arc<str>>,
    },
    /// An autonomous system, as in tables that answer "who originates this".
    AutonomousSystem(u32),
    /// Anything else, kept as it was written.
    Label(Arc<str>),
}

impl NextHopInfo {
    /// Reads a value the way the text formats write it: a number (or `AS` and a number) is an autonomous
    /// system, an address a gateway, anything else a label.
    ///
    /// ```
    /// use fibula::NextHopInfo;
    /// assert_eq!(NextHopInfo::parse("AS64500"), NextHopInfo::AutonomousSystem(64500));
    /// assert_eq!(NextHopInfo::parse("192.0.2.1").to_string(), "192.0.2.1");
    /// assert_eq!(NextHopInfo::parse("blackhole").to_string(), "blackhole");
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let digits = text.strip_prefix("AS").unwrap_or(text);
        if digits.starts_with(|c: char| c.is_ascii_digit())
            && let Ok(number) = digits.parse()
        {
            return Self::AutonomousSystem(number);
        }
        match text.parse() {
            Ok(address) => Self::Gateway { address: Some(address), interface: None },
            Err(_) => Self::Label(text.into()),
        }
    }
}

impl fmt::Display for NextHopInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway { address: Some(address), interface: None } => write!(f, "{address}"),
            Self::Gateway { address: Some(address), interface: Some(interface) } => {
                write!(f, "{address} dev {interface}")
            }
            Self::Gateway { address: None, interface: Some(interface) } => write!(f, "dev {interface}"),
            Self::Gateway { address: None, interface: None } => f.write_str("connected"),
            Self::AutonomousSystem(number) => write!(f, "{number}"),
            Self::Label(label) => f.write_str(label),
        }
    }
}

/// The table of next hops: each distinct [`NextHopInfo`] once, numbered from 1 in order of arrival.
///
/// ```
/// use fibula::{NextHop, NextHopInfo, NextHops};
/// let mut next_hops = NextHops::new();
/// let a = next_hops.intern(NextHopInfo::parse("192.0.2.1"))?;
/// assert_eq!(a, NextHop(1));
/// assert_eq!(next_hops.intern(NextHopInfo::parse("192.0.2.1"))?, a);
/// assert_eq!(next_hops.get(a).unwrap().to_string(), "192.0.2.1");
/// assert_eq!(next_hops.get(NextHop::NONE), None);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextHops {
    infos: Vec<NextHopInfo>,
    indices: HashMap<NextHopInfo, NextHop>,
}

impl NextHops {
    /// The most entries a table can hold: every 32-bit index but 0.
    pub const MAX: u64 = u32::MAX as u64;

    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The index of an entry, added if it is new. O(1).
    ///
    /// # Errors
    /// If the table is full ([`NextHops::MAX`]).
    pub fn intern(&mut self, info: NextHopInfo) -> Result<NextHop, Error> {
        if let Some(&next_hop) = self.indices.get(&info) {
            return Ok(next_hop);
        }
        let had = self.infos.len() as u64 + 1;
        Limit::check("next hops", had, Self::MAX)?;
        let next_hop = NextHop(had as u32);
        self.infos.push(info.clone());
        self.indices.insert(info, next_hop);
        Ok(next_hop)
    }

    /// What an index stands for; `None` for [`NextHop::NONE`] and for an index never given out. O(1).
    #[must_use]
    pub fn get(&self, next_hop: NextHop) -> Option<&NextHopInfo> {
        self.infos.get((next_hop.0 as usize).checked_sub(1)?)
    }

    /// The index of an entry, if it is there. O(1).
    #[must_use]
    pub fn find(&self, info: &NextHopInfo) -> Option<NextHop> {
        self.indices.get(info).copied()
    }

    /// The number of entries, "no route" not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// All entries in index order.
    pub fn iter(&self) -> impl Iterator<Item = (NextHop, &NextHopInfo)> {
        self.infos.iter().enumerate().map(|(i, info)| (NextHop(i as u32 + 1), info))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_number_is_a_label() {
        assert_eq!(NextHopInfo::parse("+5"), NextHopInfo::Label("+5".into()));
        assert_eq!(NextHopInfo::parse("AS"), NextHopInfo::Label("AS".into()));
        assert_eq!(NextHopInfo::parse("4294967296"), NextHopInfo::Label("4294967296".into()));
    }
}
