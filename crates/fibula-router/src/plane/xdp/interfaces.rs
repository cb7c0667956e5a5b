//! [`Interface`]: an interface that packets come in by.

use crate::Error;
use nix::ifaddrs::getifaddrs;

/// An interface that packets come in by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    /// Its name.
    pub(super) name: String,
    /// The kernel's index of it.
    pub(super) index: u32,
    /// Its MAC address: frames to others go to the kernel.
    pub(super) address: [u8; 6],
    /// The id of the table that its packets are looked up in.
    pub(super) table: u32,
    /// The index of its counters, from 1 on; 0 if its packets are not forwarded.
    pub(super) port: u16,
    /// The tags of its packets, the outer one first.
    pub(super) tags: Vec<u16>,
}

impl Interface {
    /// Finds an interface by its name. Its port is 0, so packets are not forwarded.
    ///
    /// # Errors
    /// If there is none in this network namespace.
    pub(super) fn find(name: &str, table: u32) -> Result<Self, Error> {
        let failed = |error| Error::System { what: format!("interface {name}"), error };
        let all = getifaddrs().map_err(|error| failed(error.into()))?;
        let link = |address: nix::ifaddrs::InterfaceAddress| {
            let link = *address.address.as_ref()?.as_link_addr()?;
            (address.interface_name == name).then_some(link)
        };
        let link = all.into_iter().find_map(link);
        let link = link.ok_or_else(|| failed(std::io::Error::other("there is none of this name")))?;
        let address = link.addr().unwrap_or_default();
        Ok(Self {
            name: name.into(),
            index: link.ifindex() as u32,
            address,
            table,
            port: 0,
            tags: Vec::new(),
        })
    }

    /// Returns its name with its tags, as in `eth0.10`.
    pub(super) fn label(&self) -> String {
        self.tags.iter().fold(self.name.clone(), |label, tag| format!("{label}.{tag}"))
    }

    /// Returns the key of its VLAN in the program's map; `None` if it is no VLAN.
    pub(super) fn vlan(&self) -> Option<[u32; 2]> {
        let &outer = self.tags.first()?;
        let inner = self.tags.get(1).copied().unwrap_or_default();
        Some([self.index, u32::from(outer) | u32::from(inner) << 16])
    }

    /// Returns what the program reads of it, with the place of its table among the others, and the
    /// index of its first socket where frames go to sockets.
    pub(super) fn words(&self, place: u32, first_socket: u32) -> [u32; 4] {
        let [a, b, c, d, e, f] = self.address;
        let second = u32::from(self.port) | u32::from(u16::from_le_bytes([a, b])) << 16;
        [place, second, u32::from_le_bytes([c, d, e, f]), first_socket]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_found_by_its_name_or_the_error_names_it() {
        let loopback = Interface::find("lo", 254).unwrap();
        assert_eq!((loopback.address, loopback.table, loopback.port), ([0; 6], 254, 0));
        assert!(loopback.index > 0);
        let error = Interface::find("none-such", 254).unwrap_err().to_string();
        assert_eq!(error, "interface none-such: there is none of this name");
    }

    #[test]
    fn the_program_reads_table_port_and_address() {
        let interface = Interface {
            name: "x".into(),
            index: 3,
            address: [1, 2, 3, 4, 5, 6],
            table: 254,
            port: 0x0A0B,
            tags: vec![10, 20],
        };
        assert_eq!((interface.label().as_str(), interface.vlan()), ("x.10.20", Some([3, 0x0014_000A])));
        let bytes: Vec<u8> = interface.words(9, 0).iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, [9, 0, 0, 0, 0x0B, 0x0A, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0]);
    }
}
