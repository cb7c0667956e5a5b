//! Stale paths: what a feed has told before it broke, until it comes back and has told what holds.
//!
//! A router that connects again tells all of its routes. Until a peer's End-of-RIB its paths from
//! before answer where it has not told others (the idea of RFC 4724 section 4.2); what is stale
//! then is dropped. A peer that has not come back is dropped with the last of those that have.
//!
//! ```text
//!            ┌─ number 3, stale ◀── all of its paths ──End-of-RIB──▶ dropped
//!   peer ──lose──▶ number 7 ◀── the paths that it tells from now on
//! ```
//!
//! The stale paths of a peer are held by a number of their own, so that no path is larger by a
//! mark, and a peer's paths become stale at once, however many they are.

use super::lists::List;
use super::peers::PeerNumber;
use super::{Held, Outcome, Paths, Peer};
use fibula::IpPrefix;
use std::time::Duration;

impl Paths {
    /// Makes all paths stale, because what tells them is lost. Returns whether there are some.
    /// O(peers), unless the feed was lost before it had told all again.
    pub(crate) fn lose(&mut self) -> bool {
        let all: Vec<Peer> = self.peers.iter().map(|known| known.peer).collect();
        let mut again: Vec<(PeerNumber, PeerNumber)> = Vec::new();
        for peer in all {
            let Some(number) = self.peers.get(peer) else { continue };
            let known = &mut self.peers[number];
            known.is_up = false;
            let kept = known.kept;
            for (behind, _) in self.behind.iter_mut().zip(kept).filter(|(_, kept)| *kept > 0) {
                behind.insert(peer);
            }
            if kept != [0; 2] {
                again.extend(self.peers.make_stale(number).map(|other| (number, other)));
            }
        }
        self.become_stale(&again);
        self.is_stale()
    }

    /// Gives the paths of peers to those that stand for their stale ones.
    fn become_stale(&mut self, again: &[(PeerNumber, PeerNumber)]) {
        if again.is_empty() {
            return;
        }
        self.lists.each_path(|held| {
            if let Some((_, stale)) = again.iter().find(|(peer, _)| *peer == held.peer) {
                held.peer = *stale;
            }
        });
        for &(peer, stale) in again {
            let kept = std::mem::take(&mut self.peers[peer].kept);
            for (all, more) in self.peers[stale].kept.iter_mut().zip(kept) {
                *all += more;
            }
        }
    }

    /// Returns whether some paths are stale.
    pub(crate) fn is_stale(&self) -> bool {
        self.behind.iter().any(|behind| !behind.is_empty())
    }

    /// Returns whether all paths are stale.
    pub(crate) fn is_all_stale(&self) -> bool {
        self.is_stale() && self.peers.iter().all(|known| known.kept == [0; 2])
    }

    /// Returns what tells a path of a peer, stale or not, from others.
    pub(super) fn is_path(&self, peer: PeerNumber, path_id: u32) -> impl Fn(&Held) -> bool + use<> {
        let stale = self.peers[peer].stale.unwrap_or(peer);
        move |held| held.path_id == path_id && (held.peer == peer || held.peer == stale)
    }

    /// Drops what is stale of a family of a peer, and of those that have not come back if no other
    /// is waited for.
    pub(super) fn end_of_rib(
        &mut self,
        peer: PeerNumber,
        is_ipv6: bool,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        let Self { behind, peers, .. } = self;
        let behind = &mut behind[usize::from(is_ipv6)];
        if behind.is_empty() {
            return;
        }
        peers[peer].is_up = true;
        let mut gone: Vec<Peer> = behind.take(&peers[peer].peer).into_iter().collect();
        let is_up = |peer: &Peer| peers.get(*peer).is_some_and(|number| peers[number].is_up);
        if !behind.iter().any(is_up) {
            gone.extend(behind.drain());
        }
        self.drop_stale_of(&gone, is_ipv6, told);
    }

    /// Drops all that is stale, whoever has not told it again.
    pub(crate) fn expire(&mut self, told: &mut impl FnMut(IpPrefix, Outcome)) {
        for is_ipv6 in [false, true] {
            let gone: Vec<Peer> = self.behind[usize::from(is_ipv6)].drain().collect();
            self.drop_stale_of(&gone, is_ipv6, Some(told));
        }
    }

    fn drop_stale_of(
        &mut self,
        peers: &[Peer],
        is_ipv6: bool,
        mut told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        let stale = |&peer: &Peer| self.peers[self.peers.get(peer)?].stale;
        let gone: Vec<PeerNumber> = peers.iter().filter_map(stale).collect();
        self.each_of(is_ipv6, &gone, |paths, prefix, list| {
            paths.drop_those(prefix, list, &gone, told.as_deref_mut());
        });
    }

    /// Drops the paths to a prefix of some peers.
    pub(super) fn drop_those(
        &mut self,
        prefix: IpPrefix,
        list: u32,
        gone: &[PeerNumber],
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        self.edit_list(prefix, list, told, None, |list: &mut List, count| {
            list.drop_if(|held| gone.contains(&held.peer) && count.gone(held));
        });
    }

    /// Drops what is stale of a peer.
    pub(super) fn drop_stale(
        &mut self,
        peer: PeerNumber,
        time: Duration,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        let known = self.peers[peer];
        for behind in &mut self.behind {
            behind.remove(&known.peer);
        }
        if let Some(stale) = known.stale {
            self.drop_paths(stale, time, told);
        }
    }
}
