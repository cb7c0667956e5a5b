//! The kernel's settings of its interfaces: `struct netconfmsg` and its attributes, of
//! `linux/netconf.h`.

use super::Event;
use fibula::Family;
use netlink_packet_core::{NlasIterator, parse_i32};

const INTERFACE: u16 = 1;
const FORWARDING: u16 = 2;
const REVERSE_PATH: u16 = 3;
const FORCE_FORWARDING: u16 = 9;

/// The interfaces that stand for all, and for those to come.
const ALL: i32 = -1;
const DEFAULT: i32 = -2;

/// The length of the header: the family, and three bytes without a meaning.
const HEADER: usize = 4;

/// What the kernel says of an interface, or of all. A change says one of them alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conf {
    /// `forwarding`: whether packets that come in by it are forwarded. Of IPv6 only that of all
    /// interfaces has this meaning.
    pub forwarding: Option<bool>,
    /// `force_forwarding` of IPv6: whether they are although that of all says no.
    pub is_forced: Option<bool>,
    /// `rp_filter` of IPv4: whether the source of a packet must be one that the interface leads to
    /// (1), or that any does (2).
    pub reverse_path: Option<u8>,
    /// Whether somebody has made a local route of IPv4 (`local` of `ip route`), which is said of
    /// all interfaces. From then on the kernel drops packets from where a route leads that is not
    /// of unicast, as it does from its own addresses. It is no setting, and no message says it.
    pub has_local_routes: Option<bool>,
}

impl Conf {
    /// Returns what holds after a later message.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self {
            forwarding: later.forwarding.or(self.forwarding),
            is_forced: later.is_forced.or(self.is_forced),
            reverse_path: later.reverse_path.or(self.reverse_path),
            has_local_routes: later.has_local_routes.or(self.has_local_routes),
        }
    }
}

/// Returns the event of a message; `None` if it is of another family, or of interfaces to come.
pub(super) fn event(payload: &[u8]) -> Result<Option<Event>, String> {
    let family = match payload.first() {
        Some(2) => Family::Ipv4,
        Some(10) => Family::Ipv6,
        Some(_) => return Ok(None),
        None => return Err("settings: no family".into()),
    };
    let (mut interface, mut conf) = (None, Conf::default());
    for attribute in NlasIterator::new(payload.get(HEADER..).unwrap_or_default()) {
        let attribute = attribute.map_err(|error| format!("settings: {error}"))?;
        let number = || parse_i32(attribute.value()).map_err(|error| format!("settings: {error}"));
        match attribute.kind() {
            INTERFACE => interface = Some(number()?),
            FORWARDING => conf.forwarding = Some(number()? != 0),
            REVERSE_PATH => conf.reverse_path = u8::try_from(number()?).ok(),
            FORCE_FORWARDING => conf.is_forced = Some(number()? != 0),
            _ => {}
        }
    }
    let interface = match interface.ok_or("settings: no interface")? {
        DEFAULT => return Ok(None),
        ALL => None,
        index => Some(u32::try_from(index).map_err(|_| format!("settings of interface {index}"))?),
    };
    Ok((conf != Conf::default()).then_some(Event::Conf { interface, family, conf }))
}
