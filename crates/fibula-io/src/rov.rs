//! Route origin validation (RFC 6811): whether the origin of a route is authorised.
//!
//! ```
//! use fibula_io::rov::{Validity, Vrps};
//! let vrps = b"ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,25\n";
//! let (vrps, _) = Vrps::parse(vrps, &Default::default())?;
//! let validity = |prefix: &str, origin| vrps.validity(prefix.parse().unwrap(), Some(origin));
//! assert_eq!(validity("192.0.2.0/25", 64500), Validity::Valid);
//! assert_eq!(validity("192.0.2.0/26", 64500), Validity::InvalidLength);
//! assert_eq!(validity("192.0.2.0/24", 64501), Validity::InvalidAs);
//! assert_eq!(validity("198.51.100.0/24", 64500), Validity::NotFound);
//! # Ok::<(), fibula_io::Error>(())
//! ```

use crate::mrt::as_number;
use crate::names::named;
use crate::table::{Loaded, ReadOptions, Tables, json_of, parse_payloads, read_payloads};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Payload {
    pub(crate) asn: u32,
    pub(crate) max_length: u8,
}

/// Payloads in any order, as a reader finds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Payloads {
    ipv4: Vec<(Prefix<u32>, Payload)>,
    ipv6: Vec<(Prefix<u128>, Payload)>,
    /// The number from which on repeats are removed.
    full: usize,
}

impl Payloads {
    /// The payloads up to which nobody looks for repeats.
    const FEW: usize = 1 << 16;

    /// Adds one.
    pub(crate) fn push(&mut self, prefix: IpPrefix, payload: Payload) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.push((prefix, payload)),
            IpPrefix::V6(prefix) => self.ipv6.push((prefix, payload)),
        }
        if self.len() >= self.full.max(Self::FEW) {
            self.settle();
            self.full = 2 * self.len();
        }
    }

    fn len(&self) -> usize {
        self.ipv4.len() + self.ipv6.len()
    }

    /// Returns the bytes they take.
    pub(crate) fn bytes(&self) -> u64 {
        let ipv4 = self.ipv4.len() * size_of::<(Prefix<u32>, Payload)>();
        let ipv6 = self.ipv6.len() * size_of::<(Prefix<u128>, Payload)>();
        2 * (ipv4 + ipv6) as u64
    }

    /// Sorts them and removes repeats.
    fn settle(&mut self) {
        self.ipv4.sort_unstable();
        self.ipv4.dedup();
        self.ipv6.sort_unstable();
        self.ipv6.dedup();
    }
}

/// Validated ROA payloads of both families.
#[derive(Clone, Debug, Default)]
pub struct Vrps {
    ipv4: Rib<u32>,
    ipv6: Rib<u128>,
    /// The payloads of all next-hop indices, one list after the other, and where each list ends.
    payloads: Vec<Payload>,
    ends: Vec<usize>,
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
    /// Returns the origins that a value says: an AS number (`64500`, `AS64500`), a set of them
    /// (`{64500,64501}`), a list, or an object with a field `origin_as` or `asn` that is one of
    /// these.
    ///
    /// ```
    /// use fibula::NextHopInfo;
    /// use fibula_io::rov::Origins;
    /// let of = |text: &str| Origins::of(&NextHopInfo::parse(text));
    /// assert_eq!(of("64500"), Origins::One(Some(64500)));
    /// assert_eq!(of("AS64500"), Origins::One(Some(64500)));
    /// assert_eq!(of("{64500,64501}"), Origins::One(None));
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
            (NextHopInfo::Label(label), None) => match (as_number(label), set_of(label)) {
                (Ok(number), _) => Self::One(Some(number)),
                (_, Some(_)) => Self::One(None),
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

/// Reads a set of ASes, `{64500,64501}`, also without its braces as older tables have it.
pub(crate) fn set_of(label: &str) -> Option<Vec<u32>> {
    let within = label.strip_prefix('{').and_then(|label| label.strip_suffix('}'));
    let numbers = within.unwrap_or(label).split(',');
    numbers.map(|number| as_number(number).ok()).collect()
}

/// Returns an AS number, or `None` for a set of them.
///
/// # Errors
/// If it is neither.
fn one_of(value: &serde_json::Value) -> Result<Option<u32>, ()> {
    let number = match value {
        serde_json::Value::Array(_) => return Ok(None),
        serde_json::Value::String(text) => as_number(text).ok(),
        number => number.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    number.map(Some).ok_or(())
}

impl Vrps {
    /// Reads payloads, as rpki-client and Routinator write them, or a table whose values are lists
    /// of such. Also returns what else was read, which has no routes where the payloads were taken
    /// without a table.
    ///
    /// # Errors
    /// As [`table::read`](crate::table::read), and if a value is no list of objects with `asn` and
    /// `max_length`.
    pub fn read(source: &Source, options: &ReadOptions) -> Result<(Self, Loaded), Error> {
        let (loaded, payloads) = read_payloads(source, options)?;
        Self::of(loaded, payloads, source)
    }

    /// Reads payloads from bytes in memory, compressed or not.
    ///
    /// # Errors
    /// As [`read`](Self::read); the source is called `memory`.
    pub fn parse(bytes: &[u8], options: &ReadOptions) -> Result<(Self, Loaded), Error> {
        let (loaded, payloads) = parse_payloads(bytes, options)?;
        Self::of(loaded, payloads, &Source::Memory)
    }

    fn of(mut loaded: Loaded, mut payloads: Payloads, source: &Source) -> Result<(Self, Loaded), Error> {
        let mut vrps = Self { ends: vec![0], ..Self::default() };
        payloads.settle();
        vrps.ipv4 = vrps.listed(&payloads.ipv4);
        vrps.ipv6 = vrps.listed(&payloads.ipv6);
        if payloads.len() > 0 {
            loaded.report.kept = (vrps.ipv4.len() + vrps.ipv6.len()) as u64;
            return Ok((vrps, loaded));
        }
        for (_, info) in loaded.tables.next_hops.iter() {
            let list: Option<Vec<Payload>> = json_of(info).and_then(|json| serde_json::from_str(json).ok());
            let list = list.ok_or_else(|| {
                let what = format!("{:?} is no list of RPKI payloads", info.to_string());
                Error::of(source, what)
            })?;
            vrps.payloads.extend(list);
            vrps.ends.push(vrps.payloads.len());
        }
        vrps.ipv4 = loaded.tables.ipv4.clone();
        vrps.ipv6 = loaded.tables.ipv6.clone();
        Ok((vrps, loaded))
    }

    /// Adds a list for each prefix of payloads in order, and returns the prefixes with their lists.
    fn listed<A: Address>(&mut self, payloads: &[(Prefix<A>, Payload)]) -> Rib<A> {
        let of_prefix = payloads.chunk_by(|a, b| a.0 == b.0).map(|of_prefix| {
            self.payloads.extend(of_prefix.iter().map(|&(_, payload)| payload));
            self.ends.push(self.payloads.len());
            Route { prefix: of_prefix[0].0, next_hop: NextHop(self.ends.len() as u32 - 1) }
        });
        of_prefix.collect()
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
        let of_cover = |cover: Route<A>| {
            let number = cover.next_hop.0 as usize;
            &self.payloads[self.ends[number - 1]..self.ends[number]]
        };
        for payload in covers.flat_map(of_cover) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_by_themselves_say_what_a_table_of_them_says() {
        let csv = b"ASN,IP Prefix,Max Length\nAS64501,192.0.2.0/24,24\nAS64500,192.0.0.0/16,24\nAS64500,192.0.2.0/24,24\n\
            AS64500,192.0.0.0/16,24\nAS0,2001:db8::/32,32\n";
        let table = br#"192.0.0.0/16 [{"asn":64500,"max_length":24}]
192.0.2.0/24 [{"asn":64501,"max_length":24},{"asn":64500,"max_length":24}]
2001:db8::/32 [{"asn":0,"max_length":32}]"#;
        let read = |text: &[u8]| Vrps::parse(text, &ReadOptions::default()).unwrap();
        let (alone, of_table) = (read(csv), read(table));
        assert_eq!((alone.1.report.kept, alone.1.tables.ipv4.len()), (3, 0));
        assert_eq!((of_table.1.report.kept, of_table.1.tables.ipv4.len()), (3, 2));
        let said = |vrps: &Vrps| {
            let routes = ["192.0.2.0/24", "192.0.2.0/25", "192.0.3.0/24", "192.1.0.0/16", "2001:db8::/32"];
            let of = |route: &&str| {
                let prefix = route.parse().unwrap();
                [None, Some(0), Some(64500), Some(64501)].map(|origin| vrps.validity(prefix, origin).name())
            };
            routes.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(said(&alone.0), said(&of_table.0));
        assert_eq!(said(&alone.0)[0], ["invalid-as", "invalid-as", "valid", "valid"]);
        assert_eq!(said(&alone.0)[4], ["invalid-as", "invalid-as", "invalid-as", "invalid-as"]);
        let wrong = Vrps::parse(b"192.0.2.0/24 64500\n", &ReadOptions::default()).unwrap_err();
        assert_eq!(wrong.to_string(), "memory: \"64500\" is no list of RPKI payloads");
    }

    #[test]
    fn repeats_take_no_memory() {
        let mut payloads = Payloads::default();
        for number in 0..300_000_u32 {
            payloads.push("192.0.2.0/24".parse().unwrap(), Payload { asn: number % 9, max_length: 24 });
        }
        assert!(payloads.len() < Payloads::FEW + 9, "{}", payloads.len());
    }
}
