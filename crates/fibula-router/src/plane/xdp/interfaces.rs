//! [`Interface`]: where the packets of an interface come in.
//!
//! A VLAN's come by the interface that carries it, with a tag. A bridge's come by its ports, and a
//! bond's by its devices. So an interface with a name may be several here, each a device that the
//! program runs on and the tags of the frames.
//!
//! ```text
//! br0.10 ──▶ br0, tag 10 ─┬▶ eth0, tag 10
//!                         └▶ eth1.7, tag 10 ──▶ eth1, tags 7 and 10
//! ```
//! An interface of a VRF has the VRF's table.

use super::Attachment;
use crate::Error;
use crate::feed::kernel;
use crate::message::{Kind, Link};
use crate::plane::{ReversePath, Rules};
use crate::routes::MAIN;
use std::collections::BTreeMap;

/// How many links carry each other at most.
const DEPTH: u32 = 4;

/// The bits of what is not forwarded, and of what sources may be, by the kernel's settings and by
/// ours (`bpf/packets.h`).
const NO_IPV4: u8 = 1;
const NO_IPV6: u8 = 2;
const KERNEL_LOOSE: u8 = 4;
const KERNEL_STRICT: u8 = 8;
const LOOSE: u8 = 16;
const STRICT: u8 = 32;
const KERNEL_UNICAST: u8 = 64;

/// The lowest bit of the number of the ACL, above the place of the table.
const ACL: u32 = 24;

/// Where packets come in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    /// The name that it was asked for by.
    pub(super) name: String,
    /// That with the tags that it was asked for with, as in `eth0.10`.
    pub(super) label: String,
    /// The kernel's index of the device that the program runs on; 0 if it is not there.
    pub(super) index: u32,
    /// The index of the interface of that name.
    pub(super) routed: u32,
    /// The MAC address of the interface of that name: frames to others go to the kernel.
    pub(super) address: [u8; 6],
    /// The id of the table that its packets are looked up in.
    pub(super) table: u32,
    /// The index of its counters, from 1 on; 0 if its packets are not forwarded.
    pub(super) port: u16,
    /// The tags of its packets, the outer one first.
    pub(super) tags: Vec<u16>,
    /// What sources its packets may have.
    pub(super) urpf: ReversePath,
    /// The number of its ACL, from 1 on; 0 if it has none.
    pub(super) acl: u8,
    /// Why it is not there.
    pub(super) wrong: Option<String>,
}

impl Interface {
    /// Finds an interface by its name, where that is a device with frames of its own. Its port is
    /// 0, so packets are not forwarded.
    ///
    /// # Errors
    /// If there is none in this network namespace, or its frames come in by others.
    pub(super) fn find(name: &str, table: u32) -> Result<Self, Error> {
        let failed = |wrong: String| Error::io(format!("interface {name}"), std::io::Error::other(wrong));
        let attachment = Attachment { table, ..Attachment::of(name) };
        let found = resolve(&kernel::links()?, &attachment).map_err(failed)?;
        let device = <[Self; 1]>::try_from(found).ok().filter(|[device]| device.index == device.routed);
        let [device] = device.ok_or_else(|| failed("its frames come in by other interfaces".into()))?;
        Ok(device)
    }

    /// Returns the key of its VLAN in the program's map; `None` if it is no VLAN.
    pub(super) fn vlan(&self) -> Option<[u32; 2]> {
        let &outer = self.tags.first()?;
        let inner = self.tags.get(1).copied().unwrap_or_default();
        Some([self.index, u32::from(outer) | u32::from(inner) << 16])
    }

    /// Returns what the program reads of it, with the place of its table among the others.
    pub(super) fn words(&self, place: u32, rules: Rules) -> [u32; 4] {
        let [a, b, c, d, e, f] = self.address;
        let no = |bit: u8, is_on: bool| if is_on { 0 } else { bit };
        let one_of = |check, loose, strict| match check {
            ReversePath::Off => 0,
            ReversePath::Loose => loose,
            ReversePath::Strict => strict,
        };
        let bits = no(NO_IPV4, rules.ipv4)
            | no(NO_IPV6, rules.ipv6)
            | one_of(rules.reverse_path, KERNEL_LOOSE, KERNEL_STRICT)
            | one_of(self.urpf, LOOSE, STRICT)
            | if rules.unicast_sources { KERNEL_UNICAST } else { 0 };
        let second = u32::from_le_bytes([self.port as u8, bits, a, b]);
        [place | u32::from(self.acl) << ACL, second, u32::from_le_bytes([c, d, e, f]), self.routed]
    }
}

/// Returns all places where the packets of interfaces come in, each with its port; those that are
/// not there with the reason.
pub(super) fn all(attachments: &[Attachment], ports: &[u16], links: &BTreeMap<u32, Link>) -> Vec<Interface> {
    let mut all = Vec::with_capacity(attachments.len());
    for (attachment, &port) in attachments.iter().zip(ports) {
        match resolve(links, attachment) {
            Ok(found) => all.extend(found.into_iter().map(|interface| Interface { port, ..interface })),
            Err(wrong) => all.push(Interface {
                name: attachment.interface.clone(),
                label: label(attachment),
                table: attachment.table,
                tags: attachment.tags.clone(),
                port,
                wrong: Some(wrong),
                ..Interface::default()
            }),
        }
    }
    // Of a trunk without an untagged network only the program is there, without a port.
    for at in 0..all.len() {
        let Interface { index, ref name, table, .. } = all[at];
        if index > 0 && !all.iter().any(|other| other.index == index && other.tags.is_empty()) {
            all.push(Interface { index, name: name.clone(), table, ..Interface::default() });
        }
    }
    all
}

fn label(attachment: &Attachment) -> String {
    attachment.tags.iter().fold(attachment.interface.clone(), |label, tag| format!("{label}.{tag}"))
}

/// Returns where the packets of an interface come in, with port 0.
///
/// # Errors
/// If there is none of its name, or its frames come in by a way that only the kernel knows. The
/// text says which.
pub(super) fn resolve(
    links: &BTreeMap<u32, Link>,
    attachment: &Attachment,
) -> Result<Vec<Interface>, String> {
    let named = links.iter().find(|(_, link)| link.name == attachment.interface);
    let (&routed, link) = named.ok_or("there is none of this name")?;
    let table = match link.master.and_then(|master| links.get(&master)) {
        Some(Link { kind: Kind::Vrf { table }, .. }) if attachment.table == MAIN => *table,
        Some(Link { kind: Kind::Bridge { .. } | Kind::Bond, name, .. }) => {
            return Err(format!("it is a port of {name}, which has its packets"));
        }
        _ => attachment.table,
    };
    let devices = devices(links, routed, DEPTH)?;
    let interface = |(index, mut tags): (u32, Vec<u16>)| {
        tags.extend(&attachment.tags);
        if tags.len() > 2 {
            return Err(format!("its frames have {} tags: at most two are read", tags.len()));
        }
        Ok(Interface {
            name: attachment.interface.clone(),
            label: label(attachment),
            index,
            routed,
            address: link.mac.unwrap_or_default(),
            table,
            tags,
            urpf: attachment.urpf,
            acl: attachment.acl.map_or(0, |at| at + 1),
            ..Interface::default()
        })
    };
    devices.into_iter().map(interface).collect()
}

/// Returns the devices that have the frames of an interface, each with the tags of the frames.
fn devices(links: &BTreeMap<u32, Link>, index: u32, depth: u32) -> Result<Vec<(u32, Vec<u16>)>, String> {
    let link =
        links.get(&index).ok_or_else(|| format!("interface {index}, which carries it, is not there"))?;
    let name = &link.name;
    let below = |index| match depth {
        0 => Err(format!("{name} is on more than {DEPTH} others")),
        _ => devices(links, index, depth - 1),
    };
    match link.kind {
        Kind::Device => Ok(vec![(index, Vec::new())]),
        Kind::Vlan(vlan) => {
            let mut devices = below(vlan.parent)?;
            for (_, tags) in &mut devices {
                tags.push(vlan.id);
            }
            Ok(devices)
        }
        Kind::Bridge { has_vlans: false } | Kind::Bond => {
            let ports = links.iter().filter(|(_, link)| link.master == Some(index) && link.is_active);
            let devices: Vec<_> = ports.map(|(&port, _)| below(port)).collect::<Result<_, _>>()?;
            let devices = devices.concat();
            if devices.is_empty() { Err(format!("{name} has no active port")) } else { Ok(devices) }
        }
        Kind::Bridge { has_vlans: true } => Err(format!("{name} tells VLANs apart, as only the kernel does")),
        Kind::Vrf { .. } => Err(format!("{name} is a VRF: name its interfaces")),
        Kind::Other => Err(format!("{name} is of a kind that only the kernel forwards for")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::writer;
    use crate::message::{Event, Message, Messages, Vlan};

    #[test]
    fn an_interface_is_found_by_its_name_or_the_error_names_it() {
        let loopback = Interface::find("lo", 254).unwrap();
        assert_eq!((loopback.address, loopback.table, loopback.port), ([0; 6], 254, 0));
        assert!(loopback.index > 0);
        let error = Interface::find("none-such", 254).unwrap_err().to_string();
        assert_eq!(error, "interface none-such: there is none of this name");
    }

    #[test]
    fn the_program_reads_table_port_rules_and_address() {
        let interface = Interface {
            index: 3,
            routed: 7,
            urpf: ReversePath::Loose,
            acl: 5,
            address: [1, 2, 3, 4, 5, 6],
            table: 254,
            port: 0xA,
            tags: vec![10, 20],
            ..Interface::default()
        };
        assert_eq!(interface.vlan(), Some([3, 0x0014_000A]));
        let rules =
            Rules { ipv4: true, ipv6: false, reverse_path: ReversePath::Strict, unicast_sources: true };
        let bytes: Vec<u8> = interface.words(9, rules).iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, [9, 0, 0, 5, 0xA, 2 | 8 | 16 | 64, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0]);
    }

    /// Links as the kernel tells them, from its bytes: of each the name, the kind, the master and
    /// whether it is active. The index is the place, from 1 on.
    fn links(all: &[(&str, Kind, Option<u32>, bool)]) -> BTreeMap<u32, Link> {
        let told = all.iter().zip(1..).flat_map(|(&(name, kind, master, is_active), index)| {
            let mac = Some([2, 0, 0, 0, 0, index as u8]);
            let (is_enabled, is_up) = (true, true);
            let link = Link {
                name: name.into(),
                mac,
                mtu: 1500,
                ipv6_mtu: Some(1500),
                is_enabled,
                is_up,
                kind,
                master,
                is_active,
            };
            writer::message(&Event::Link { index, link: Some(link) })
        });
        let bytes: Vec<u8> = told.collect();
        let read = Messages::new(&bytes).map(|message| match message.unwrap() {
            Message::Event(Event::Link { index, link: Some(link) }) => (index, link),
            other => panic!("{other:?}"),
        });
        read.collect()
    }

    #[test]
    fn vlans_bridges_bonds_and_vrfs_lead_to_devices_tags_and_tables() {
        let vlan = |parent, id| Kind::Vlan(Vlan { parent, id });
        let (bridge, device) = (Kind::Bridge { has_vlans: false }, Kind::Device);
        let links = links(&[
            ("eth0", device, None, true),
            ("eth0.10", vlan(1, 10), Some(6), true),
            ("eth1", device, Some(5), true),
            ("eth2.7", vlan(9, 7), Some(5), true),
            ("br0", bridge, Some(6), true),
            ("red", Kind::Vrf { table: 100 }, None, true),
            ("br0.20", vlan(5, 20), None, true),
            ("br0.20.30", vlan(7, 30), None, true),
            ("eth2", device, None, true),
            ("bond0", Kind::Bond, None, true),
            ("eth3", device, Some(10), true),
            ("eth4", device, Some(10), false),
            ("mac0", Kind::Other, None, true),
            ("br1", bridge, None, true),
            ("br2", Kind::Bridge { has_vlans: true }, None, true),
            ("lost", vlan(99, 1), None, true),
        ]);
        let found = |name: &str, tags: &[u16]| {
            let attachment = Attachment { tags: tags.into(), ..Attachment::of(name) };
            let found = resolve(&links, &attachment)?;
            let row = |it: Interface| (it.index, it.tags, it.table, it.address[5], it.label);
            Ok(found.into_iter().map(row).collect::<Vec<_>>())
        };
        let row =
            |index, tags: &[u16], table, mac, label: &str| (index, tags.to_vec(), table, mac, label.into());
        assert_eq!(found("eth0", &[]), Ok(vec![row(1, &[], 254, 1, "eth0")]));
        assert_eq!(found("eth0", &[9]), Ok(vec![row(1, &[9], 254, 1, "eth0.9")]));
        assert_eq!(found("eth0.10", &[]), Ok(vec![row(1, &[10], 100, 2, "eth0.10")]));
        let ports = vec![row(3, &[], 100, 5, "br0"), row(9, &[7], 100, 5, "br0")];
        assert_eq!(found("br0", &[]), Ok(ports));
        let ports = vec![row(3, &[20], 254, 7, "br0.20"), row(9, &[7, 20], 254, 7, "br0.20")];
        assert_eq!(found("br0.20", &[]), Ok(ports));
        assert_eq!(found("bond0", &[]), Ok(vec![row(11, &[], 254, 10, "bond0")]));
        for (name, wrong) in [
            ("br0.20.30", "its frames have 3 tags: at most two are read"),
            ("eth1", "it is a port of br0, which has its packets"),
            ("eth4", "it is a port of bond0, which has its packets"),
            ("red", "red is a VRF: name its interfaces"),
            ("mac0", "mac0 is of a kind that only the kernel forwards for"),
            ("br1", "br1 has no active port"),
            ("br2", "br2 tells VLANs apart, as only the kernel does"),
            ("lost", "interface 99, which carries it, is not there"),
            ("none", "there is none of this name"),
        ] {
            assert_eq!(found(name, &[]), Err(wrong.to_owned()), "{name}");
        }
        // Two names of one device: each has its port, and the program runs once.
        let attachments = ["eth0.10", "bond0", "gone"];
        let attachments = attachments.map(Attachment::of);
        let all = all(&attachments, &[1, 2, 3], &links);
        let rows: Vec<_> = all.iter().map(|it| (it.index, it.port, it.tags.len())).collect();
        assert_eq!(rows, [(1, 1, 1), (11, 2, 0), (0, 3, 0), (1, 0, 0)]);
    }
}
