//! [`Views`]: which of a router's tables are followed.

use crate::mrt::as_number;
use crate::names::named;
use std::fmt;
use std::net::Ipv4Addr;

named! {
    /// Which routes of a table.
    pub enum Policy, "policy" {
        /// What the router has chosen, from when on it tells that; until then what peers send.
        Own = "own",
        /// What peers send.
        Pre = "pre",
        /// What the router's policy has left of it.
        Post = "post",
        /// What the router sends to peers, after its policy (RFC 8671).
        Out = "out",
        /// What the router would send to peers, before its policy.
        OutPre = "out-pre",
    }
}

#[allow(clippy::derivable_impls, reason = "the enumeration is made by a macro")]
impl Default for Policy {
    fn default() -> Self {
        Self::Own
    }
}

impl Policy {
    /// Returns whether the routes are those that the router sends.
    pub(super) fn is_out(self) -> bool {
        matches!(self, Self::Out | Self::OutPre)
    }

    /// Returns why routes of a peer are not those that are followed, by what its header says of
    /// them.
    pub(super) fn refusal(self, is_out: bool, is_post: bool) -> Option<&'static str> {
        match self {
            Self::Out | Self::OutPre if !is_out => Some("route of an Adj-RIB-In"),
            Self::Own | Self::Pre | Self::Post if is_out => Some("route of an Adj-RIB-Out"),
            Self::Own | Self::Pre | Self::OutPre if is_post => Some("route after policy"),
            Self::Post | Self::Out if !is_post => Some("route before policy"),
            _ => None,
        }
    }
}

/// A VRF, by its route distinguisher (RFC 4364 section 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vrf {
    text: Box<str>,
    /// An AS number of 16 bits may be in two of the layouts.
    layouts: Vec<[u8; 8]>,
}

impl Vrf {
    /// Reads a route distinguisher: `65000:1` or `192.0.2.1:1`.
    ///
    /// # Errors
    /// If the text is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no route distinguisher, as 65000:1 or 192.0.2.1:1");
        let (administrator, number) = text.split_once(':').ok_or_else(wrong)?;
        let number: u32 = number.parse().map_err(|_| wrong())?;
        let short = u16::try_from(number).ok();
        let with = |kind: u8, parts: [&[u8]; 2]| {
            let mut octets = [0; 8];
            octets[1] = kind;
            octets[2..].copy_from_slice(&parts.concat());
            octets
        };
        let long = |kind, administrator: [u8; 4]| {
            short.map(|short| with(kind, [&administrator, &short.to_be_bytes()]))
        };
        let layouts: Vec<[u8; 8]> = if let Ok(address) = administrator.parse::<Ipv4Addr>() {
            long(1, address.octets()).into_iter().collect()
        } else {
            let asn = as_number(administrator).map_err(|_| wrong())?;
            let of_two = u16::try_from(asn).ok();
            let of_two = of_two.map(|asn| with(0, [&asn.to_be_bytes(), &number.to_be_bytes()]));
            of_two.into_iter().chain(long(2, asn.to_be_bytes())).collect()
        };
        if layouts.is_empty() { Err(wrong()) } else { Ok(Self { text: text.into(), layouts }) }
    }

    /// Returns the VRF with a distinguisher as messages have it.
    pub(super) fn of(distinguisher: [u8; 8]) -> Self {
        let [_, kind, a, b, c, d, e, f] = distinguisher;
        let text = match u16::from_be_bytes([distinguisher[0], kind]) {
            0 => format!("{}:{}", u16::from_be_bytes([a, b]), u32::from_be_bytes([c, d, e, f])),
            1 => format!("{}:{}", Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([e, f])),
            2 => format!("{}:{}", u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f])),
            _ => format!("{:016x}", u64::from_be_bytes(distinguisher)),
        };
        Self { text: text.into(), layouts: vec![distinguisher] }
    }
}

impl fmt::Display for Vrf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Which of a router's tables is followed, and which of its routes.
#[derive(Clone, Debug, PartialEq, Eq, Default, Hash)]
pub struct View {
    /// Which routes.
    pub policy: Policy,
    /// The VRF; the global table if `None`.
    pub vrf: Option<Vrf>,
}

impl From<Policy> for View {
    fn from(policy: Policy) -> Self {
        Self { policy, vrf: None }
    }
}

/// Whose tables.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Vrfs {
    /// The global one.
    #[default]
    Global,
    /// Those of some VRFs.
    Named(Vec<Vrf>),
    /// The global one, and that of each VRF that the router tells of.
    All,
}

/// The views of a router that are followed at once: each of some policies, of each of some tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Views {
    policies: Vec<Policy>,
    vrfs: Vrfs,
    is_detailed: bool,
}

impl From<View> for Views {
    fn from(View { policy, vrf }: View) -> Self {
        let vrfs = vrf.map_or(Vrfs::Global, |vrf| Vrfs::Named(vec![vrf]));
        Self::new(vec![policy], vrfs)
    }
}

impl From<Policy> for Views {
    fn from(policy: Policy) -> Self {
        View::from(policy).into()
    }
}

impl Views {
    /// Returns the views of each policy and table. What is named twice is one view.
    #[must_use]
    pub fn new(mut policies: Vec<Policy>, mut vrfs: Vrfs) -> Self {
        drop_repeated(&mut policies);
        if let Vrfs::Named(vrfs) = &mut vrfs {
            drop_repeated(vrfs);
        }
        Self { policies, vrfs, is_detailed: false }
    }

    /// Reads the [`Details`](crate::mrt::Details) of routes too.
    #[must_use]
    pub fn detailed(self, is_detailed: bool) -> Self {
        Self { is_detailed, ..self }
    }

    pub(super) fn is_detailed(&self) -> bool {
        self.is_detailed
    }

    /// Returns whether a router has one table.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.vrfs != Vrfs::All && self.known().count() == 1
    }

    /// Returns what the name of a router is followed by in that of one of its tables: `-65000:7` of
    /// a VRF and `-pre` of a policy, each where several are followed.
    #[must_use]
    pub fn suffix(&self, view: &View) -> String {
        let has_several = match &self.vrfs {
            Vrfs::Global => false,
            Vrfs::Named(vrfs) => vrfs.len() > 1,
            Vrfs::All => true,
        };
        let vrf = view.vrf.as_ref().filter(|_| has_several).map(|vrf| format!("-{vrf}"));
        let policy = (self.policies.len() > 1).then(|| format!("-{}", view.policy.name()));
        vrf.unwrap_or_default() + &policy.unwrap_or_default()
    }

    /// Returns the views that are followed before a router tells of others. The first is of the
    /// first policy and table.
    pub fn known(&self) -> impl Iterator<Item = View> {
        let vrfs = match &self.vrfs {
            Vrfs::Global | Vrfs::All => vec![None],
            Vrfs::Named(vrfs) => vrfs.iter().cloned().map(Some).collect(),
        };
        vrfs.into_iter().flat_map(|vrf| self.of(vrf))
    }

    /// Returns the views of a table.
    fn of(&self, vrf: Option<Vrf>) -> impl Iterator<Item = View> {
        self.policies.iter().map(move |&policy| View { policy, vrf: vrf.clone() })
    }

    /// Returns the views of the VRF of a peer, if all are followed.
    pub(super) fn of_peer(&self, distinguisher: [u8; 8]) -> impl Iterator<Item = View> {
        let is_vrf = self.vrfs == Vrfs::All && distinguisher != [0; 8];
        is_vrf.then(|| self.of(Some(Vrf::of(distinguisher)))).into_iter().flatten()
    }
}

fn drop_repeated<T: PartialEq + Clone>(all: &mut Vec<T>) {
    let mut seen = Vec::new();
    all.retain(|one| {
        let is_new = !seen.contains(one);
        seen.push(one.clone());
        is_new
    });
}

impl View {
    /// Returns whether a table is followed, by the type of a peer and its distinguisher.
    pub(super) fn has_table(&self, kind: u8, distinguisher: [u8; 8]) -> bool {
        match &self.vrf {
            // Peers of types 1 and 2 are of VRFs. Those of type 2 may have no distinguisher.
            None => !matches!(kind, 1 | 2) && distinguisher == [0; 8],
            Some(vrf) => vrf.layouts.contains(&distinguisher),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, View, Views, Vrf, Vrfs};

    #[test]
    fn distinguishers_have_three_layouts() {
        let layouts = |text| Vrf::parse(text).map(|vrf| vrf.layouts);
        let both = [[0, 0, 0xFD, 0xE8, 0, 0, 0, 7], [0, 2, 0, 0, 0xFD, 0xE8, 0, 7]];
        assert_eq!(layouts("65000:7").unwrap(), both);
        assert_eq!(layouts("65000:65536").unwrap(), [[0, 0, 0xFD, 0xE8, 0, 1, 0, 0]]);
        assert_eq!(layouts("4200000000:1").unwrap(), [[0, 2, 0xFA, 0x56, 0xEA, 0, 0, 1]]);
        assert_eq!(layouts("192.0.2.1:258").unwrap(), [[0, 1, 192, 0, 2, 1, 1, 2]]);
        for wrong in ["65000", "192.0.2.1:65536", "4200000000:65536", "x:1", "1:x", ":", ""] {
            assert!(layouts(wrong).unwrap_err().contains("route distinguisher"), "{wrong}");
        }
        for text in ["65000:7", "192.0.2.1:258", "4200000000:1"] {
            for layout in layouts(text).unwrap() {
                assert_eq!(Vrf::of(layout).to_string(), text);
            }
        }
        assert_eq!(Vrf::of([0, 9, 0, 0, 0, 0, 0, 1]).to_string(), "0009000000000001");
    }

    #[test]
    fn views_are_named_where_there_are_several() {
        let vrf = |text: &str| Vrf::parse(text).unwrap();
        let names = |views: &Views| views.known().map(|view| views.suffix(&view)).collect::<Vec<_>>();
        assert_eq!(names(&Policy::Pre.into()), [""]);
        assert!(Views::from(Policy::Pre).is_one() && !Views::new(vec![Policy::Own], Vrfs::All).is_one());
        assert_eq!(names(&View { policy: Policy::Out, vrf: Some(vrf("1:1")) }.into()), [""]);
        let two = vec![Policy::Own, Policy::OutPre, Policy::Own];
        assert_eq!(names(&Views::new(two.clone(), Vrfs::Global)), ["-own", "-out-pre"]);
        let named = Vrfs::Named(vec![vrf("1:1"), vrf("1:2"), vrf("1:1")]);
        assert_eq!(names(&Views::new(vec![Policy::Pre], named)), ["-1:1", "-1:2"]);
        let all = Views::new(two, Vrfs::All);
        assert_eq!(names(&all), ["-own", "-out-pre"]);
        let of_vrf: Vec<String> =
            all.of_peer([0, 0, 0, 1, 0, 0, 0, 7]).map(|view| all.suffix(&view)).collect();
        assert_eq!(of_vrf, ["-1:7-own", "-1:7-out-pre"]);
        assert_eq!(all.of_peer([0; 8]).count(), 0);
    }
}
