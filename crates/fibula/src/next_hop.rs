//! [`NextHop`]: the answer of a lookup, and [`NextHops`]: the description of each answer.

use crate::{Error, Limit};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;

/// The answer of a lookup: an index into [`NextHops`]. Index 0 is [`NextHop::NONE`], "no route".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct NextHop(pub u32);

impl NextHop {
    /// No route matches.
    pub const NONE: Self = Self(0);

    /// Returns whether this is an answer, and not [`NextHop::NONE`].
    #[must_use]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// The description of a next hop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NextHopInfo {
    /// A router to send to: its address and, if known, its interface.
    Gateway {
        /// The router's address; `None` for a directly connected network.
        address: Option<IpAddr>,
        /// The outgoing interface.
        interface: Option<Arc<str>>,
    },
    /// An autonomous system, as in tables that answer "who originates this".
    AutonomousSystem(u32),
    /// Anything else, stored verbatim.
    Label(Arc<str>),
}

impl NextHopInfo {
    /// Parses a value as the text formats write it. The inverse of the `Display` of autonomous
    /// systems and gateways.
    ///
    /// - A number without zeros before it is an autonomous system. `AS64500` is a label, which
    ///   keeps its text: [`parse_origin`](Self::parse_origin) reads it as a number.
    /// - An address, `ADDRESS dev INTERFACE`, `dev INTERFACE` or `connected` is a gateway.
    /// - Anything else is a label.
    ///
    /// ```
    /// use fibula::NextHopInfo;
    /// assert_eq!(NextHopInfo::parse("64500"), NextHopInfo::AutonomousSystem(64500));
    /// assert_eq!(NextHopInfo::parse("192.0.2.1").to_string(), "192.0.2.1");
    /// assert_eq!(NextHopInfo::parse("blackhole").to_string(), "blackhole");
    /// assert_eq!(NextHopInfo::parse("01234").to_string(), "01234");
    /// let connected = NextHopInfo::Gateway { address: None, interface: Some("eth0".into()) };
    /// assert_eq!(NextHopInfo::parse("dev eth0"), connected);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        // Digits after a zero are a code, such as that of a post office.
        if text.starts_with(|c: char| c.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'))
            && let Ok(number) = text.parse()
        {
            return Self::AutonomousSystem(number);
        }
        let (address, interface) = match (text.strip_prefix("dev "), text.split_once(" dev ")) {
            (Some(interface), _) => ("", Some(interface)),
            (None, Some((address, interface))) => (address, Some(interface)),
            (None, None) => (text, None),
        };
        if interface.is_some_and(|name| name.is_empty() || name.contains(char::is_whitespace)) {
            return Self::Label(text.into());
        }
        let interface = interface.map(Into::into);
        match address.parse() {
            Ok(address) => Self::Gateway { address: Some(address), interface },
            Err(_) if address.is_empty() && interface.is_some() => Self::Gateway { address: None, interface },
            Err(_) if text == "connected" => Self::Gateway { address: None, interface: None },
            Err(_) => Self::Label(text.into()),
        }
    }

    /// Parses the origin of a route: as [`parse`](Self::parse), but `AS` and a number is an
    /// autonomous system too.
    ///
    /// ```
    /// use fibula::NextHopInfo;
    /// assert_eq!(NextHopInfo::parse_origin("AS64500"), NextHopInfo::AutonomousSystem(64500));
    /// assert_eq!(NextHopInfo::parse_origin("AS064500").to_string(), "AS064500");
    /// ```
    #[must_use]
    pub fn parse_origin(text: &str) -> Self {
        match text.strip_prefix("AS").map(Self::parse) {
            Some(origin @ Self::AutonomousSystem(_)) => origin,
            _ => Self::parse(text),
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
#[derive(Clone, Debug, Default)]
pub struct NextHops {
    infos: Vec<NextHopInfo>,
    /// The places among these, by the hash of what is there.
    places: HashTable<u32>,
    hasher: RandomState,
}

impl PartialEq for NextHops {
    fn eq(&self, other: &Self) -> bool {
        self.infos == other.infos
    }
}

impl Eq for NextHops {}

impl NextHops {
    /// The most entries a table can hold: every 32-bit index but 0.
    pub const MAX: u64 = u32::MAX as u64;

    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the index of an entry, which is added if it is new. O(1).
    ///
    /// # Errors
    /// If the table is full ([`NextHops::MAX`]).
    pub fn intern(&mut self, info: NextHopInfo) -> Result<NextHop, Error> {
        let Self { infos, places, hasher } = self;
        let entry = places.entry(
            hasher.hash_one(&info),
            |&place| infos[place as usize] == info,
            |&place| hasher.hash_one(&infos[place as usize]),
        );
        let place = match entry {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let had = infos.len() as u64;
                Limit::check("next hops", had + 1, Self::MAX)?;
                entry.insert(had as u32);
                infos.push(info);
                had as u32
            }
        };
        Ok(NextHop(place + 1))
    }

    /// Returns the entry of an index, or `None` for [`NextHop::NONE`] and for an index never
    /// assigned. O(1).
    #[must_use]
    pub fn get(&self, next_hop: NextHop) -> Option<&NextHopInfo> {
        self.infos.get((next_hop.0 as usize).checked_sub(1)?)
    }

    /// Returns the index of an entry, if there is one. O(1).
    #[must_use]
    pub fn find(&self, info: &NextHopInfo) -> Option<NextHop> {
        let is_equal = |&place: &u32| self.infos[place as usize] == *info;
        let place = self.places.find(self.hasher.hash_one(info), is_equal)?;
        Some(NextHop(place + 1))
    }

    /// Returns the number of entries, without "no route".
    #[must_use]
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Returns all entries in index order.
    pub fn iter(&self) -> impl Iterator<Item = (NextHop, &NextHopInfo)> {
        self.infos.iter().enumerate().map(|(i, info)| (NextHop(i as u32 + 1), info))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gateways_are_read_back() {
        for text in ["192.0.2.1", "fe80::1 dev eth0", "dev eth0", "connected"] {
            let info = NextHopInfo::parse(text);
            assert!(matches!(info, NextHopInfo::Gateway { .. }), "{text}");
            assert_eq!(info.to_string(), text);
        }
        for text in ["dev ", "dev a b", "1.2.3.4 dev ", "x dev eth0", "dev"] {
            assert_eq!(NextHopInfo::parse(text), NextHopInfo::Label(text.into()), "{text}");
        }
    }

    #[test]
    fn a_signed_number_is_a_label() {
        assert_eq!(NextHopInfo::parse("+5"), NextHopInfo::Label("+5".into()));
        for text in ["AS", "AS64500"] {
            assert_eq!(NextHopInfo::parse(text).to_string(), text);
        }
        assert_eq!(NextHopInfo::parse("4294967296"), NextHopInfo::Label("4294967296".into()));
    }
}
