//! The routes that zebra or the kernel has, as they change.
#![cfg_attr(
    not(all(feature = "router", feature = "serve", target_os = "linux")),
    allow(dead_code, unused_imports, reason = "without both features no routes are followed")
)]

#[cfg(not(all(feature = "router", target_os = "linux")))]
mod disabled;
#[cfg(all(feature = "router", target_os = "linux"))]
mod enabled;

#[cfg(not(all(feature = "router", target_os = "linux")))]
use disabled as twin;
#[cfg(all(feature = "router", target_os = "linux"))]
use enabled as twin;

pub(crate) use twin::follow;

use anyhow::ensure;
use fibula::{IpPrefix, NextHopInfo};
use std::net::SocketAddr;

/// The id of the kernel's main table.
pub(crate) const MAIN: u32 = 254;

/// The id of the kernel's table of local addresses, which is not followed.
const LOCAL: u32 = 255;

/// Why routes cannot be followed.
const LACKING: &str = "no routes of zebra or the kernel: it takes Linux, and this fibula was built \
                       without the feature `router`";

/// Says what is lacking, if routes cannot be followed.
pub(crate) fn check() -> anyhow::Result<()> {
    ensure!(twin::IS_THERE, LACKING);
    Ok(())
}

/// Who has the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// zebra, which connects to this address.
    Fpm(SocketAddr),
    /// The kernel: one of its tables, or all.
    Kernel(Option<u32>),
}

/// What is told of routes.
pub(crate) trait Listener {
    /// Takes the value that a prefix has now in the table of an id; `None` if it has none.
    fn route(&mut self, table: u32, prefix: IpPrefix, value: Option<&NextHopInfo>);

    /// Takes why routes are left out.
    fn limit(&mut self, what: &str);
}

impl Origin {
    /// Reads what is followed; `None` if a text means something else.
    ///
    /// # Errors
    /// If its address or its table is none.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        if let Some(address) = text.strip_prefix("fpm:") {
            let address = address.parse();
            return match address {
                Ok(address) => Ok(Some(Self::Fpm(address))),
                Err(_) => Err("expected fpm:ADDRESS:PORT, as in fpm:127.0.0.1:2620".into()),
            };
        }
        let table = match text.strip_prefix("netlink") {
            Some("") => return Ok(Some(Self::Kernel(None))),
            Some(table) => table.strip_prefix(':'),
            None => None,
        };
        match table.map(str::parse) {
            None => Ok(None),
            Some(Ok(table)) if ![0, LOCAL].contains(&table) => Ok(Some(Self::Kernel(Some(table)))),
            Some(_) => {
                Err("expected netlink:TABLE, with the id of a table but 0 and 255, the local one".into())
            }
        }
    }

    /// Returns whether a name is that of another table than the main one.
    pub(crate) fn has(self, name: &str, other: &str) -> bool {
        let id = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        !matches!(self, Self::Kernel(Some(_))) && id.is_some_and(|id| id.parse::<u32>().is_ok())
    }

    /// Returns the name of a table of this origin, called by the name of the main one.
    pub(crate) fn table(self, name: &str, table: u32) -> String {
        match self {
            Self::Kernel(Some(_)) => name.to_owned(),
            _ if table == MAIN => name.to_owned(),
            _ => format!("{name}-{table}"),
        }
    }

    /// Returns the name of its main or only table where it has none of its own.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Kernel(Some(table)) => Self::Kernel(None).table("main", table),
            _ => "main".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_and_its_tables_have_names() {
        let parse = |text| Origin::parse(text).unwrap();
        let names = |origin: Origin| (origin.name(), origin.table("mine", MAIN), origin.table("mine", 7));
        let of = |names: [&str; 3]| <(String, String, String)>::from(names.map(str::to_owned));
        assert_eq!(parse("netlink"), Some(Origin::Kernel(None)));
        assert_eq!(names(Origin::Kernel(None)), of(["main", "mine", "mine-7"]));
        assert_eq!(names(parse("fpm:[::1]:2620").unwrap()), of(["main", "mine", "mine-7"]));
        assert_eq!(names(parse("netlink:7").unwrap()), of(["main-7", "mine", "mine"]));
        assert_eq!(parse("netlink:254").unwrap().name(), "main");
        assert_eq!((parse("netlinks"), parse("netlink.mrt")), (None, None));
        assert!(
            Origin::Kernel(None).has("main", "main-7") && !parse("netlink:9").unwrap().has("main", "main-7")
        );
        assert!(!Origin::Kernel(None).has("main", "main") && !Origin::Kernel(None).has("main", "main-x"));
        for text in ["fpm:", "fpm:localhost", "netlink:", "netlink:255", "netlink:0", "netlink:x"] {
            assert!(Origin::parse(text).unwrap_err().starts_with("expected "), "{text}");
        }
    }
}
