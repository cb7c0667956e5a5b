//! [`View`]: which of a router's tables is followed.

use crate::mrt::as_number;
use std::net::Ipv4Addr;

/// Which routes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Policy {
    /// What the router has chosen, from when on it tells that; until then what peers send.
    #[default]
    Own,
    /// What peers send.
    Pre,
    /// What the router's policy has left of it.
    Post,
    /// What the router sends to peers, after its policy (RFC 8671).
    Out,
}

/// A VRF, by its route distinguisher (RFC 4364 section 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Vrf {
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
        if layouts.is_empty() { Err(wrong()) } else { Ok(Self { layouts }) }
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
    use super::Vrf;

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
    }
}
