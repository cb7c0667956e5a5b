//! Stale paths: what a feed has told before it broke, until it comes back and has told what holds.
//!
//! A router that connects again tells all of its routes. Until a peer's End-of-RIB its paths from
//! before answer where it has not told others (the idea of RFC 4724 section 4.2); what is stale
//! then is dropped. A peer that has not come back is dropped with the last of those that have.
//!
//! ```text
//!   paths of peer 3 ──lose──▶ paths of peer 7, its `stale` ──End-of-RIB of peer 3──▶ dropped
//! ```
//!
//! The stale paths of a peer are held by a number of their own, so that no path is larger by a
//! mark.

use super::{Held, Known, List, Outcome, Paths};
use fibula::IpPrefix;
use std::time::Duration;

impl Paths {
    /// Makes all paths stale, because what tells them is lost. Returns whether there are some.
    pub(crate) fn lose(&mut self) -> bool {
        let Self { prefixes, lists, peers, behind, .. } = self;
        for (prefix, list) in prefixes.iter() {
            for held in &mut lists[list as usize].paths {
                let peer = held.peer;
                let known = peers[peer as usize];
                if known.is_stale {
                    continue;
                }
                behind[usize::from(matches!(prefix, IpPrefix::V6(_)))].insert(peer);
                held.peer = known.stale.unwrap_or_else(|| {
                    peers.push(Known { is_stale: true, ..known });
                    peers.len() as u32 - 1
                });
                peers[peer as usize].stale = Some(held.peer);
            }
        }
        for known in peers {
            known.is_up = false;
        }
        self.is_stale()
    }

    /// Returns whether some paths are stale.
    pub(crate) fn is_stale(&self) -> bool {
        self.behind.iter().any(|behind| !behind.is_empty())
    }

    /// Returns what tells a path of a peer, stale or not, from others.
    pub(super) fn is_path(&self, peer: u32, path_id: u32) -> impl Fn(&Held) -> bool + use<> {
        let stale = self.peers[peer as usize].stale.unwrap_or(peer);
        move |held| held.path_id == path_id && (held.peer == peer || held.peer == stale)
    }

    /// Drops what is stale of a family of a peer, and of those that have not come back if no other
    /// is waited for.
    pub(super) fn end_of_rib(
        &mut self,
        peer: u32,
        is_ipv6: bool,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        let Self { behind, peers, .. } = self;
        let behind = &mut behind[usize::from(is_ipv6)];
        if behind.is_empty() {
            return;
        }
        peers[peer as usize].is_up = true;
        let mut gone: Vec<u32> = behind.take(&peer).into_iter().collect();
        if !behind.iter().any(|&peer| peers[peer as usize].is_up) {
            gone.extend(behind.drain());
        }
        self.drop_stale_of(&gone, is_ipv6, told);
    }

    /// Drops all that is stale, whoever has not told it again.
    pub(crate) fn expire(&mut self, told: &mut impl FnMut(IpPrefix, Outcome)) {
        for is_ipv6 in [false, true] {
            let gone: Vec<u32> = self.behind[usize::from(is_ipv6)].drain().collect();
            self.drop_stale_of(&gone, is_ipv6, Some(told));
        }
    }

    fn drop_stale_of(
        &mut self,
        peers: &[u32],
        is_ipv6: bool,
        mut told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        let gone: Vec<u32> = peers.iter().filter_map(|&peer| self.peers[peer as usize].stale).collect();
        for (prefix, _) in self.of(|of| gone.contains(&of)) {
            if matches!(prefix, IpPrefix::V6(_)) == is_ipv6 {
                let drop = |list: &mut List| list.paths.retain(|held| !gone.contains(&held.peer));
                self.edit(prefix, told.as_deref_mut(), None, drop);
            }
        }
    }

    /// Drops what is stale of a peer.
    pub(super) fn drop_stale(
        &mut self,
        peer: u32,
        time: Duration,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        for behind in &mut self.behind {
            behind.remove(&peer);
        }
        if let Some(stale) = self.peers[peer as usize].stale {
            self.drop_paths(stale, time, told);
        }
    }
}
