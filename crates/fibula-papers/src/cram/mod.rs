//! CRAM (Chang and others 2025): RESAIL and BSIC beside SAIL and DXR, in ternary and other memory,
//! and the authors' own sizes for a Tofino-2.
//!
//! The paper's full text was not at hand. Claims are of its abstract and of the authors' programs;
//! each line of the ledger says which. MashUp is no engine: no source at hand describes it.

mod bsic;
mod chip;
mod resail;
mod structure;
mod tcam;

use crate::{Exhibit, Paper};

fibula::registry! {
    resail: crate::cram::resail::ABOUT, [ipv4] crate::cram::resail::Resail;
    bsic: crate::cram::bsic::ABOUT, [ipv4 ipv6] crate::cram::bsic::Bsic;
}

/// The paper and what of it can be made again.
pub(crate) static PAPER: Paper = Paper {
    name: "cram",
    citation: "Chang, Dogga, Fingerhut, Rios, Varghese: Scaling IP Lookup to Large Databases using the CRAM Lens, NSDI 2025",
    machine: "Intel Tofino-2: 20 stages",
    exhibits: &[
        Exhibit {
            id: "Tables",
            title: "words, bits and steps of RESAIL and BSIC beside SAIL, DXR and ternary memory alone",
            reproduce: structure::tables,
        },
        Exhibit {
            id: "Chip",
            title: "what the authors' sizes take of a Tofino-2, without waste",
            reproduce: chip::chip,
        },
        Exhibit { id: "Answers", title: "whether answers are right", reproduce: structure::answers },
    ],
};

#[cfg(test)]
mod tests {
    use super::ENGINES;
    use crate::{Lab, Named, Options};
    use fibula::{Address, NextHop, Prefix, Rib};
    use fibula_io::generate::{NextHopModel, Size, internet};

    /// Nested routes of every length at both ends of the space, and a default route.
    fn edges<A: Address>() -> Rib<A> {
        let mut rib = Rib::new();
        for len in 0..=A::BITS {
            for address in [Prefix::<A>::ALL.first(), Prefix::<A>::ALL.last()] {
                rib.insert(Prefix::containing(address, len), NextHop(1 + u32::from(len)));
            }
        }
        rib
    }

    fn wrong<A: Address>(engines: &[&str], rib: Rib<A>) -> f64 {
        let options = Options { addresses: 1 << 12, ..Options::default() };
        let lab = Lab { engines: ENGINES, ipv4: Vec::new(), ipv6: Vec::new(), options };
        let engines: Vec<(&str, &str)> = engines.iter().map(|&name| (name, name)).collect();
        let points = lab.differing(&Named { name: "t".into(), rib }, &engines).unwrap();
        assert_eq!(points.len(), engines.len());
        points.iter().map(|point| point.value().unwrap()).sum()
    }

    #[test]
    fn both_answer_as_the_oracle_does() {
        let made = internet(Size { ipv4: 4000, ipv6: 2000 }, NextHopModel::Near(40), 1).unwrap();
        let of_both = ["resail", "bsic"];
        let wrong = [
            wrong(&of_both, made.ipv4),
            wrong(&of_both, edges::<u32>()),
            wrong(&of_both, Rib::<u32>::new()),
            wrong(&["bsic"], made.ipv6),
            wrong(&["bsic"], edges::<u128>()),
            wrong(&["bsic"], Rib::<u128>::new()),
        ];
        assert!(wrong.iter().sum::<f64>() < 1.0, "{wrong:?}");
    }
}
