//! What a mark of a routing program means for a route. Every layout maps its marks to these.

use super::super::hops::{DEAD, Hop};
use super::words::{Caught, Words};
use std::net::IpAddr;

/// What a condition, a state or a mark says of a route or of a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum State {
    /// It is in the forwarding table.
    Used,
    /// The next hops after it say how it is reached.
    Resolved,
    /// The router knows it, and has chosen another or none.
    Candidate,
    /// The router has chosen it, and the kernel or the hardware does not have it.
    Uninstalled,
    /// It is used when another fails.
    Backup,
    /// It holds for some packets only.
    Conditional,
    /// It cannot be reached.
    Dead,
}

impl State {
    /// Returns why a route of this state is left out; `None` if it is not.
    pub(in super::super) fn of_route(self) -> Option<&'static str> {
        match self {
            Self::Used => None,
            Self::Candidate => Some("route that is not selected"),
            Self::Resolved | Self::Uninstalled => Some("route that is not in the forwarding table"),
            Self::Backup => Some("backup route"),
            Self::Conditional => Some("conditional route"),
            Self::Dead => Some(DEAD),
        }
    }

    /// Returns why a next hop of this state is left out; `None` if it is not, or if it is told by
    /// those after it.
    pub(in super::super) fn of_hop(self) -> Option<&'static str> {
        match self {
            Self::Used | Self::Resolved => None,
            Self::Candidate => Some("next hop that is not selected"),
            Self::Uninstalled => Some("next hop that is not in the forwarding table"),
            Self::Backup => Some("backup next hop"),
            Self::Conditional => Some("conditional next hop"),
            Self::Dead => Some(DEAD),
        }
    }
}

/// What a phrase means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Mark {
    /// Nothing for where packets go.
    Nothing,
    /// Its address, its name or both are a next hop, whose state is that of its layout.
    Hop,
    /// As [`Hop`](Self::Hop), and it is in the forwarding table.
    UsedHop,
    /// The next hop has no address.
    Connected,
    /// Its name is the next hop's interface.
    Device,
    /// Its number is the next hop's weight.
    Weight,
    /// The route does not forward; it has this value.
    Nowhere(&'static str),
    /// The value is this word and the name.
    Named(&'static str),
    /// The state of the next hop.
    Is(State),
    /// The state of the route.
    Route(State),
    /// The next hops of the route are marked where they are in the forwarding table.
    Marked,
    /// A router of another VRF.
    OfVrf,
    /// The table that is read from here on, or that the route is of.
    Table,
}

/// Phrases, as [`words`](super::words) reads them, by what they mean. One that begins with `^` is
/// only at the beginning of a line, or after a distance.
pub(in super::super) type Grammar = [(Mark, &'static [&'static str])];

/// Returns what a whole line is a phrase of.
pub(in super::super) fn whole<'l>(words: Words<'l>, grammar: &Grammar) -> Option<(Caught<'l>, Mark)> {
    let phrases = grammar.iter().flat_map(|(mark, phrases)| phrases.iter().map(|phrase| (*mark, *phrase)));
    { phrases }.find_map(|(mark, phrase)| Some((words.whole(phrase)?, mark)))
}

/// The words that routers write in brackets or after a next hop, in all of their layouts.
#[rustfmt::skip]
pub(in super::super) const KINDS: [(&str, &str); 15] = [
    ("Null", "blackhole"), ("blackhole", "blackhole"), ("unreachable", "unreachable"),
    ("prohibit", "prohibit"), ("prohibited", "prohibit"), ("throw", "throw"), ("discard", "blackhole"),
    ("Discard", "blackhole"), ("Drop", "blackhole"), ("reject", "unreachable"),
    ("Reject", "unreachable"), ("Receive", "local"), ("MultiRecv", "local"), ("NULL0", "blackhole"),
    ("Null0", "blackhole"),
];

/// Returns the value of a route that does not forward, by the router's word for it.
pub(in super::super) fn nowhere(word: &str) -> Option<&'static str> {
    KINDS.iter().find(|(kind, _)| *kind == word).map(|(_, value)| *value)
}

/// Returns the text that tells of a word that nothing is known of.
pub(in super::super) fn unknown(word: &str) -> String {
    format!("unknown mark {}", crate::scan::quoted(word))
}

/// What phrases say of a next hop and of its route.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Said<'l> {
    pub(in super::super) address: Option<IpAddr>,
    pub(in super::super) device: Option<&'l str>,
    pub(in super::super) weight: Option<u32>,
    pub(in super::super) value: Option<String>,
    /// Whether there is a next hop, also one without address and interface.
    pub(in super::super) has_hop: bool,
    pub(in super::super) state: Option<State>,
    pub(in super::super) route: Option<State>,
    pub(in super::super) is_marked: bool,
    pub(in super::super) vrf: Option<&'l str>,
    pub(in super::super) table: Option<&'l str>,
    /// Whether the line ends within the next hop.
    pub(in super::super) is_open: bool,
}

impl<'l> Said<'l> {
    /// Reads all that is left of a line, by the longest phrases of a grammar.
    ///
    /// # Errors
    /// The first token that no phrase begins with.
    pub(in super::super) fn read(&mut self, mut words: Words<'l>, grammar: &Grammar) -> Result<(), String> {
        // Nothing was read but a distance.
        let mut is_first = true;
        while let Some(next) = words.peek() {
            // A line that ends in a comma is broken, unless nothing is missing.
            if words.rest() == "," {
                self.is_open = self.device.is_none() && self.state != Some(State::Used);
                return Ok(());
            }
            let mut found: Option<(Words<'_>, Caught<'_>, Mark)> = None;
            for (mark, phrases) in grammar {
                for phrase in *phrases {
                    let mut rest = words;
                    let (phrase, is_only_first) =
                        phrase.strip_prefix('^').map_or((*phrase, false), |phrase| (phrase, true));
                    if is_only_first && !is_first || !words.may_begin(phrase) {
                        continue;
                    }
                    let Some(caught) = rest.phrase(phrase) else { continue };
                    if found.is_none_or(|(longest, ..)| rest.rest().len() < longest.rest().len()) {
                        found = Some((rest, caught, *mark));
                    }
                }
            }
            let Some((rest, caught, mark)) = found else {
                let word = if next == "," { words.rest().trim_start_matches(',').trim() } else { next };
                return Err(unknown(word));
            };
            is_first &= next.starts_with('[');
            words = rest;
            // A next hop has one interface.
            if mark == Mark::Device && self.device.is_some() {
                return Err(unknown(caught.name.unwrap_or_default()));
            }
            self.take(caught, mark);
        }
        Ok(())
    }

    fn take(&mut self, caught: Caught<'l>, mark: Mark) {
        match mark {
            Mark::Nothing => {}
            Mark::Hop | Mark::UsedHop => {
                if let Some(kind) = caught.name.filter(|_| caught.address.is_none()).and_then(nowhere) {
                    self.value = Some(kind.to_owned());
                }
                // `via ::` is a network that is connected.
                let address = caught.address.filter(|address| !address.is_unspecified());
                (self.address, self.has_hop) = (address.or(self.address), true);
                self.device = caught.name.or(self.device);
                if mark == Mark::UsedHop {
                    self.state = self.state.or(Some(State::Used));
                }
            }
            Mark::Connected => self.has_hop = true,
            Mark::Device => match caught.name.and_then(nowhere) {
                Some(kind) => (self.value, self.has_hop) = (Some(kind.to_owned()), true),
                None => self.device = caught.name,
            },
            Mark::Weight => self.weight = caught.number.and_then(|weight| weight.try_into().ok()),
            Mark::Nowhere(kind) => (self.value, self.has_hop) = (Some(kind.to_owned()), true),
            Mark::Named(what) => {
                let name = caught.name.unwrap_or_default();
                (self.value, self.has_hop) = (Some(format!("{what} {name}")), true);
            }
            Mark::Is(state) => self.state = Some(state),
            Mark::Route(state) => self.route = Some(state),
            Mark::Marked => self.is_marked = true,
            Mark::OfVrf => self.vrf = caught.name,
            Mark::Table => self.table = caught.name,
        }
    }

    /// Returns the next hop.
    pub(in super::super) fn hop(&self) -> Option<Hop> {
        match &self.value {
            Some(value) => Some(Hop::nowhere(value)),
            None => Hop::through(self.address, self.device, self.weight)
                .or_else(|| self.has_hop.then(Hop::connected)),
        }
    }
}
