//! [`Sessions`]: what bfdd has told of its sessions, and which gateways that holds down.

use super::messages::Message;
use super::{Gateway, Gateways};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long a gateway is held down after its failed session was deleted. OSPF and IS-IS delete it
/// at once, and then wait for up to five seconds before they compute other routes.
const LINGER: Duration = Duration::from_secs(10);

/// How many sessions are kept; what is told of others is ignored.
const MOST: usize = 1 << 16;

/// What tells sessions apart. bfdd does not name the VRF of one over a single hop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Peer {
    pub(super) address: IpAddr,
    pub(super) interface: Option<String>,
    pub(super) local: Option<IpAddr>,
    pub(super) vrf: Option<String>,
    pub(super) is_multihop: bool,
}

/// What a session says of the path to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Up,
    /// It has failed, for this reason.
    Failed(&'static str),
    /// Nothing: it is shut down, or was never up.
    Unknown,
}

impl Health {
    /// Returns what a state says, with the session's diagnostics and those that the peer sent.
    pub(super) fn of(state: &str, local: u8, remote: u8) -> Self {
        // RFC 5880, 4.1. Of 3 (the peer says that it is down) the peer knows the reason. Of its
        // own, bfdd says 5 where it has deleted the interface, also of a session never up.
        let why = match (state, local, remote) {
            ("up", ..) => return Self::Up,
            ("down" | "init", 1, _) => "no packet for the detection time",
            ("down" | "init", 2, _) => "the echo function failed",
            ("down" | "init", 3, 1) => "the peer had no packet for the detection time",
            ("down" | "init", 3, 2) => "the peer's echo function failed",
            ("down" | "init", 4, _) | ("down" | "init", 3, 4) => "a forwarding plane was reset",
            ("down" | "init", 6 | 8, _) | ("down" | "init", 3, 5 | 6 | 8) => "the path is down",
            _ => return Self::Unknown,
        };
        Self::Failed(why)
    }
}

#[derive(Debug)]
struct Session {
    health: Health,
    /// Since it was deleted: when its gateway is not held down any more.
    until: Option<Instant>,
}

/// The sessions of bfdd.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: BTreeMap<Peer, Session>,
    /// Whether bfdd has agreed to tell them.
    is_agreed: bool,
}

impl Sessions {
    /// Applies a message. Returns whether it was of use.
    pub(super) fn apply(&mut self, message: Message, now: Instant) -> bool {
        match message {
            Message::Agreed => self.is_agreed = true,
            Message::Other => return false,
            Message::Is(peer) => {
                // Of one that is known the state is told.
                if self.sessions.get(&peer).is_none_or(|session| session.until.is_some()) {
                    return self.set(peer, Health::Unknown);
                }
            }
            Message::State(peer, health) => return self.set(peer, health),
            Message::Deleted(peer) => match self.sessions.get_mut(&peer) {
                Some(session) if matches!(session.health, Health::Failed(_)) && !peer.is_multihop => {
                    session.until.get_or_insert(now + LINGER);
                }
                _ => drop(self.sessions.remove(&peer)),
            },
        }
        true
    }

    fn set(&mut self, peer: Peer, health: Health) -> bool {
        let has_room = self.sessions.len() < MOST || self.sessions.contains_key(&peer);
        if has_room {
            self.sessions.insert(peer, Session { health, until: None });
        }
        has_room
    }

    /// Forgets the deleted sessions whose time is over. Returns when that of the next one is.
    pub(super) fn expire(&mut self, now: Instant) -> Option<Instant> {
        self.sessions.retain(|_, session| session.until.is_none_or(|until| until > now));
        self.sessions.values().filter_map(|session| session.until).min()
    }

    /// Returns the gateways, and how many sessions there are.
    pub(super) fn gateways(&self) -> Gateways {
        let mut gateways = Gateways { connected: self.is_agreed, ..Gateways::default() };
        let mut up = BTreeSet::<Gateway>::new();
        for (peer, session) in &self.sessions {
            let gateway = || (peer.address, peer.interface.clone());
            match session.health {
                _ if peer.is_multihop => gateways.multihop += 1,
                Health::Up => {
                    gateways.up += 1;
                    up.insert(gateway());
                }
                Health::Failed(_) => {
                    gateways.down += usize::from(session.until.is_none());
                    gateways.held.insert(gateway());
                }
                Health::Unknown => gateways.down += 1,
            }
        }
        // Of several sessions between other addresses, one that is up shows that the path is there.
        gateways.held.retain(|gateway| !up.contains(gateway));
        gateways
    }

    /// Returns why a gateway has failed.
    pub(super) fn why(&self, (address, interface): &Gateway) -> &'static str {
        let of_it = |peer: &&Peer| peer.address == *address && peer.interface == *interface;
        let mut sessions = self.sessions.iter().filter(|(peer, _)| of_it(peer));
        let why = sessions.find_map(|(_, session)| match session.health {
            Health::Failed(why) => Some(why),
            _ => None,
        });
        why.unwrap_or("unknown")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(local: Option<&str>) -> Peer {
        let (address, interface) = ("10.2.0.2".parse().unwrap(), Some("r1".to_owned()));
        let local = local.map(|local| local.parse().unwrap());
        Peer { address, interface, local, vrf: None, is_multihop: false }
    }

    fn held(sessions: &Sessions) -> usize {
        sessions.gateways().held.len()
    }

    #[test]
    fn only_a_session_that_has_failed_holds_its_gateway_down() {
        let now = Instant::now();
        for (state, local, remote, is_held) in [
            ("up", 0, 1, 0),
            ("down", 0, 0, 0),
            ("init", 0, 0, 0),
            ("down", 1, 0, 1),
            ("init", 1, 0, 1),
            ("adm-down", 1, 0, 0),
            ("adm-down", 7, 0, 0),
            ("down", 3, 0, 0),
            ("down", 3, 1, 1),
            ("init", 3, 1, 1),
            ("down", 3, 7, 0),
            ("down", 7, 0, 0),
            ("down", 5, 0, 0),
            ("down", 3, 5, 1),
            ("down", 6, 0, 1),
            ("unknown", 1, 0, 0),
        ] {
            let mut sessions = Sessions::default();
            let message = Message::State(peer(None), Health::of(state, local, remote));
            assert!(sessions.apply(message, now));
            assert_eq!(held(&sessions), is_held, "{state} {local} {remote}");
        }
    }

    #[test]
    fn a_deleted_session_holds_its_gateway_for_a_while() {
        let now = Instant::now();
        let failed = || Message::State(peer(None), Health::of("down", 1, 0));
        let mut sessions = Sessions::default();
        sessions.apply(failed(), now);
        sessions.apply(Message::Deleted(peer(None)), now);
        assert_eq!((held(&sessions), sessions.gateways().down), (1, 0));
        assert_eq!(sessions.expire(now + LINGER / 2), Some(now + LINGER));
        assert_eq!(held(&sessions), 1);
        assert_eq!(sessions.expire(now + LINGER), None);
        assert_eq!(held(&sessions), 0);
        // A protocol that has the neighbour again begins a session, which says nothing yet.
        sessions.apply(failed(), now);
        sessions.apply(Message::Is(peer(None)), now);
        assert_eq!(held(&sessions), 1, "it is told again before its state");
        sessions.apply(Message::Deleted(peer(None)), now);
        sessions.apply(Message::Is(peer(None)), now);
        assert_eq!((held(&sessions), sessions.gateways().down), (0, 1));
        sessions.apply(Message::Deleted(peer(None)), now);
        assert_eq!(sessions.gateways(), Gateways::default());
    }

    #[test]
    fn sessions_are_counted_and_bounded() {
        let now = Instant::now();
        let mut sessions = Sessions::default();
        sessions.apply(Message::Agreed, now);
        let far = Peer { is_multihop: true, ..peer(None) };
        sessions.apply(Message::State(far, Health::of("down", 1, 0)), now);
        sessions.apply(Message::State(peer(None), Health::of("down", 1, 0)), now);
        let gateways = sessions.gateways();
        assert_eq!((gateways.connected, gateways.multihop, gateways.down), (true, 1, 1));
        assert_eq!(gateways.held, [("10.2.0.2".parse().unwrap(), Some("r1".into()))].into());
        sessions.apply(Message::State(peer(Some("10.2.0.1")), Health::Up), now);
        assert_eq!((held(&sessions), sessions.gateways().up), (0, 1));
        for n in 0..2 * MOST as u32 {
            let address = std::net::Ipv4Addr::from_bits(n).into();
            sessions.apply(Message::Is(Peer { address, ..peer(None) }), now);
        }
        assert_eq!(sessions.sessions.len(), MOST);
        assert!(!sessions.apply(Message::Is(Peer { vrf: Some("v".into()), ..peer(None) }), now));
    }
}
