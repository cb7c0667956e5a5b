//! Route origin validation (RFC 6811): whether the origin of a route is authorised.
//!
//! ```
//! use fibula_io::rov::{Validity, Vrps};
//! use fibula_io::{Source, table};
//! let vrps = b"ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,25\n";
//! let tables = table::parse(vrps, &Default::default())?.tables;
//! let vrps = Vrps::of(&tables, &Source::Memory)?;
//! let validity = |prefix: &str, origin| vrps.validity(prefix.parse().unwrap(), Some(origin));
//! assert_eq!(validity("192.0.2.0/25", 64500), Validity::Valid);
//! assert_eq!(validity("192.0.2.0/26", 64500), Validity::InvalidLength);
//! assert_eq!(validity("192.0.2.0/24", 64501), Validity::InvalidAs);
//! assert_eq!(validity("198.51.100.0/24", 64500), Validity::NotFound);
//! # Ok::<(), fibula_io::Error>(())
//! ```

use crate::names::named;
use crate::table::{Tables, json_of};
use crate::{Error, Source};
use fibula::{Address, IpPrefix, NextHop, NextHopInfo, Prefix, Rib, Route};
use serde::Deserialize;

named! {
    /// What the payloads that cover a route say of its origin.
    pub enum Validity, "validity" {
        /// One authorises the origin for this length.
        Valid = "valid",
        /// None authorises the origin.
        InvalidAs = "invalid-as",
        /// Those that authorise the origin do so for shorter prefixes only.
        InvalidLength = "invalid-length",
        /// None covers the route.
        NotFound = "not-found",
    }
}

/// A validated ROA payload without its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Payload {
    asn: u32,
    max_length: u8,
}

/// Validated ROA payloads of both families.
#[derive(Clone, Debug, Default)]
pub struct Vrps {
    ipv4: Rib<u32>,
    ipv6: Rib<u128>,
    /// The payloads of each next-hop index, which is a list of them.
    payloads: Vec<Vec<Payload>>,
}

/// The origins of a route, by what its value says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origins {
    /// The value names none.
    Unknown,
    /// One origin; `None` for a set of ASes, which no payload can authorise.
    One(Option<u32>),
    /// Those of several routes to one prefix.
    Several(Vec<Option<u32>>),
}

impl Origins {
    /// Returns the origins that a value says: an AS number, a set of them (`64500,64501`), a list,
    /// or an object with a field `origin_as` or `asn` that is one of these.
    ///
    /// ```
    /// use fibula::NextHopInfo;
    /// use fibula_io::rov::Origins;
    /// let of = |text: &str| Origins::of(&NextHopInfo::parse(text));
    /// assert_eq!(of("64500"), Origins::One(Some(64500)));
    /// assert_eq!(of("64500,64501"), Origins::One(None));
    /// assert_eq!(of("[64500,[64501,64502]]"), Origins::Several(vec![Some(64500), None]));
    /// assert_eq!(of("192.0.2.1"), Origins::Unknown);
    /// ```
    #[must_use]
    pub fn of(value: &NextHopInfo) -> Self {
        let structured = json_of(value).and_then(|json| serde_json::from_str(json).ok());
        match (value, structured) {
            (NextHopInfo::AutonomousSystem(number), _) => Self::One(Some(*number)),
            (_, Some(serde_json::Value::Object(fields))) => {
                match fields.get("origin_as").or_else(|| fields.get("asn")) {
                    // A set within an object is a list.
                    Some(serde_json::Value::Array(_)) => Self::One(None),
                    Some(one) => one_of(one).map_or(Self::Unknown, Self::One),
                    None => Self::Unknown,
                }
            }
            (_, Some(serde_json::Value::Array(list))) => {
                list.iter().map(one_of).collect::<Result<_, _>>().map_or(Self::Unknown, Self::Several)
            }
            (NextHopInfo::Label(label), None) => {
                let is_set = label.split(',').all(|number| number.parse::<u32>().is_ok());
                if is_set { Self::One(None) } else { Self::Unknown }
            }
            _ => Self::Unknown,
        }
    }
}

/// Returns an AS number, or `None` for a set of them.
///
/// # Errors
/// If it is neither.
fn one_of(value: &serde_json::Value) -> Result<Option<u32>, ()> {
    let number = match value {
        serde_json::Value::Array(_) => return Ok(None),
        serde_json::Value::String(text) => text.strip_prefix("AS").unwrap_or(text).parse().ok(),
        number => number.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.map(Some).ok_or(())
}

impl Vrps {
    /// Takes the payloads of tables, as [`Format::Vrps`](crate::table::Format::Vrps) and
    /// [`Format::VrpsJson`](crate::table::Format::VrpsJson) are read. `source` is where they come
    /// from.
    ///
    /// # Errors
    /// If a value is no list of objects with `asn` and `max_length`.
    pub fn of(tables: &Tables, source: &Source) -> Result<Self, Error> {
        let mut payloads = vec![Vec::new()];
        for (_, info) in tables.next_hops.iter() {
            let list = json_of(info).and_then(|json| serde_json::from_str(json).ok());
            payloads.push(list.ok_or_else(|| {
                let what = format!("{:?} is no list of RPKI payloads", info.to_string());
                Error::of(source, what)
            })?);
        }
        Ok(Self { ipv4: tables.ipv4.clone(), ipv6: tables.ipv6.clone(), payloads })
    }

    /// Returns what all payloads that cover `prefix` say of an origin. `None` is an origin that is
    /// no single AS. O(b log n), as a longest match.
    #[must_use]
    pub fn validity(&self, prefix: IpPrefix, origin: Option<u32>) -> Validity {
        match prefix {
            IpPrefix::V4(prefix) => self.judged(prefix, origin, self.ipv4.covering(prefix)),
            IpPrefix::V6(prefix) => self.judged(prefix, origin, self.ipv6.covering(prefix)),
        }
    }

    /// Calls `each` for every route of `tables`, in order, with a function that returns the
    /// [`validity`](Self::validity) of an origin. One walk over routes and payloads, O(n + m).
    pub fn each(
        &self,
        tables: &Tables,
        mut each: impl FnMut(IpPrefix, NextHop, &dyn Fn(Option<u32>) -> Validity),
    ) {
        tables.ipv4.each_with_covers(&self.ipv4, |Route { prefix, next_hop }, covers| {
            let judged = |origin| self.judged(prefix, origin, covers.iter().copied());
            each(prefix.into(), next_hop, &judged);
        });
        tables.ipv6.each_with_covers(&self.ipv6, |Route { prefix, next_hop }, covers| {
            let judged = |origin| self.judged(prefix, origin, covers.iter().copied());
            each(prefix.into(), next_hop, &judged);
        });
    }

    fn judged<A: Address>(
        &self,
        prefix: Prefix<A>,
        origin: Option<u32>,
        covers: impl Iterator<Item = Route<A>>,
    ) -> Validity {
        let mut validity = Validity::NotFound;
        for payload in covers.flat_map(|cover| &self.payloads[cover.next_hop.0 as usize]) {
            // AS 0 authorises nobody (RFC 7607 section 2).
            let is_authorised = payload.asn != 0 && Some(payload.asn) == origin;
            if is_authorised && prefix.len() <= payload.max_length {
                return Validity::Valid;
            }
            if is_authorised {
                validity = Validity::InvalidLength;
            } else if validity == Validity::NotFound {
                validity = Validity::InvalidAs;
            }
        }
        validity
    }
}
