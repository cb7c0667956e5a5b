//! [`Confs`]: the kernel's settings of interfaces, and what they say of packets.

use crate::Error;
use crate::message::Conf;
use crate::plane::{Plane, ReversePath, Rules};
use fibula::Family;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The settings of all interfaces.
#[derive(Debug, Default)]
pub(crate) struct Confs {
    of: HashMap<(Option<u32>, Family), Conf>,
    /// The interfaces of which a rule of the kernel leads some packets elsewhere.
    ruled: HashSet<(u32, Family)>,
    /// The interfaces whose packets of IPv6 the kernel drops.
    without_ipv6: HashSet<u32>,
    /// What the plane was told last.
    told: BTreeMap<u32, Rules>,
    have_changed: bool,
}

impl Confs {
    /// Takes what the kernel says of an interface, or of all.
    pub(crate) fn set(&mut self, key: (Option<u32>, Family), conf: Conf) {
        let known = self.of.entry(key).or_default();
        let now = known.then(conf);
        self.have_changed |= *known != now;
        *known = now;
    }

    /// Sets the interfaces of which a rule of the kernel leads some packets elsewhere, by index.
    pub(crate) fn set_ruled(&mut self, ruled: HashSet<(u32, Family)>) {
        self.have_changed |= self.ruled != ruled;
        self.ruled = ruled;
    }

    /// Sets the interfaces whose packets of IPv6 the kernel drops, by index.
    pub(crate) fn set_without_ipv6(&mut self, interfaces: HashSet<u32>) {
        self.have_changed |= self.without_ipv6 != interfaces;
        self.without_ipv6 = interfaces;
    }

    /// Returns what the kernel forwards of an interface's packets. Of IPv4 each interface says so
    /// itself, of IPv6 all of them at once, beside those that do it in any case.
    pub(crate) fn rules(&self, interface: u32) -> Rules {
        let of = |interface, family| self.of.get(&(interface, family)).copied().unwrap_or_default();
        let [all4, all6] = [Family::Ipv4, Family::Ipv6].map(|family| of(None, family));
        let (here4, here6) = (of(Some(interface), Family::Ipv4), of(Some(interface), Family::Ipv6));
        // The greater number of the two holds (`rp_filter` in the kernel's ip-sysctl.rst).
        let check = match here4.reverse_path.max(all4.reverse_path) {
            None | Some(0) => ReversePath::Off,
            Some(1) => ReversePath::Strict,
            Some(_) => ReversePath::Loose,
        };
        Rules {
            reverse_path: check,
            unicast_sources: all4.has_local_routes.unwrap_or(false),
            ipv4: here4.forwarding.or(all4.forwarding).unwrap_or(true)
                && !self.ruled.contains(&(interface, Family::Ipv4)),
            ipv6: (all6.forwarding.unwrap_or(true) || here6.is_forced.unwrap_or(false))
                && !self.without_ipv6.contains(&interface)
                && !self.ruled.contains(&(interface, Family::Ipv6)),
        }
    }

    /// Tells the plane what changed.
    ///
    /// # Errors
    /// The plane's. It is told again the next time.
    pub(crate) fn tell(&mut self, plane: &mut impl Plane) -> Result<(), Error> {
        if !self.have_changed {
            return Ok(());
        }
        let ruled = self.ruled.iter().map(|key| key.0).chain(self.without_ipv6.iter().copied());
        let interfaces = self.of.keys().filter_map(|key| key.0).chain(ruled);
        let interfaces: BTreeSet<u32> = interfaces.chain(self.told.keys().copied()).collect();
        for interface in interfaces {
            let rules = self.rules(interface);
            if self.told.get(&interface).copied().unwrap_or_default() != rules {
                plane.set_rules(interface, rules)?;
                self.told.insert(interface, rules);
            }
        }
        self.have_changed = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_said_by_each_interface_and_ipv6_by_all_at_once() {
        let mut confs = Confs::default();
        assert_eq!(confs.rules(2), Rules::default());
        let forwards = |is_on| Conf { forwarding: Some(is_on), ..Conf::default() };
        confs.set((None, Family::Ipv4), forwards(false));
        confs.set((None, Family::Ipv6), forwards(false));
        assert_eq!(confs.rules(2), Rules { ipv4: false, ipv6: false, ..Rules::default() });
        confs.set((Some(2), Family::Ipv4), forwards(true));
        confs.set((Some(2), Family::Ipv6), forwards(true));
        assert_eq!(confs.rules(2), Rules { ipv6: false, ..Rules::default() });
        confs.set((Some(2), Family::Ipv6), Conf { is_forced: Some(true), ..Conf::default() });
        assert_eq!(confs.rules(2), Rules::default());
        // The greater of the two numbers holds.
        for (all, here, check) in [
            (0, 0, ReversePath::Off),
            (1, 0, ReversePath::Strict),
            (1, 2, ReversePath::Loose),
            (2, 1, ReversePath::Loose),
        ] {
            for (interface, value) in [(None, all), (Some(2), here)] {
                let conf = Conf { reverse_path: Some(value), ..Conf::default() };
                confs.set((interface, Family::Ipv4), conf);
            }
            assert_eq!(confs.rules(2).reverse_path, check);
        }
    }

    #[test]
    fn local_routes_and_interfaces_without_ipv6_are_of_the_kernel() {
        let mut confs = Confs::default();
        confs.set_without_ipv6([3].into());
        assert_eq!(confs.rules(2), Rules::default());
        assert_eq!(confs.rules(3), Rules { ipv6: false, ..Rules::default() });
        let local = Conf { has_local_routes: Some(true), ..Conf::default() };
        confs.set((None, Family::Ipv4), local);
        assert_eq!(confs.rules(2), Rules { unicast_sources: true, ..Rules::default() });
        assert!(confs.rules(2).checks_sources());
    }
}
