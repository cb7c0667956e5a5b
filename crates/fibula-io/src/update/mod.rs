//! Update streams: announcements and withdrawals in the order they happened.
//!
//! There are two formats: MRT BGP4MP records, and the project's text, `A|W<TAB>prefix<TAB>next
//! hop<TAB>Unix time`, one change a line, with `-` for what is not known and `#` for comments. The
//! families are kept apart; each is in order.
//!
//! An announcement without a next hop refreshes a route whose next hop is known elsewhere. Its next
//! hop is [`Updates::unknown`], a label `-`, until [`Updates::settle`] looks it up in the table of
//! the stream.

mod text;

use crate::blocks::{Blocks, record};
use crate::mrt::{AddPath, BEFORE_DUMP, Events, Paths, PeerChoice};
use crate::names::named;
use crate::table::Value;
use crate::{Content, Damage, Error, Kind, Place, Progress, Report, Source, mrt};
use fibula::{Address, Change, IpPrefix, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use std::collections::HashMap;
use std::io::Read;
use std::time::Duration;

pub(crate) use text::line as text_line;
pub use text::{unix_time, write};

/// A change and when it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed<A: Address> {
    /// Since 1970-01-01 UTC; `None` if not known.
    pub time: Option<Duration>,
    /// What happened.
    pub change: Change<A>,
}

named! {
    /// A format of update streams.
    pub enum Format, "update format" {
        /// `A|W prefix next-hop time`, separated by white space: the project's own.
        Text = "text",
        /// MRT BGP4MP, BGP4MP_ET, or the deprecated BGP records.
        Mrt = "mrt",
    }
}

/// How to read updates.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; recognised by content when `None`.
    pub format: Option<Format>,
    /// MRT: what the next hop of a change is taken from.
    pub value: Value,
    /// MRT: only this peer's changes (its address or AS number, as text), every one of them. `None`
    /// takes the changes of the best path over all peers, ranked as by
    /// [`table::ReadOptions::peer`](crate::table::ReadOptions::peer); for a stream of a single peer
    /// that is the same.
    pub peer: Option<String>,
    /// Skip damaged places instead of stopping at the first.
    pub keep_going: bool,
    /// Accept prefixes with host bits set, and clear them. In MRT they are always cleared.
    pub mask_host_bits: bool,
    /// MRT: whether prefixes come with path identifiers where the records do not say so.
    pub add_path: AddPath,
    /// Make everything that is left out or guessed an error. See [`Report`].
    pub strict: bool,
    /// Called while the source is read.
    pub progress: Option<Progress>,
}

/// Updates as they were read.
#[derive(Clone, Debug)]
pub struct Updates {
    /// The changes of IPv4 routes, in order.
    pub ipv4: Vec<Timed<u32>>,
    /// The changes of IPv6 routes, in order.
    pub ipv6: Vec<Timed<u128>>,
    /// The next hop of announcements that name none; [`NextHop::NONE`] if all do.
    pub unknown: NextHop,
    /// The format they were in.
    pub format: Format,
    /// The damage that was passed over, in order; empty unless [`ReadOptions::keep_going`].
    pub damage: Vec<Damage>,
    /// What was left out and what was guessed. Changes are not counted here.
    pub report: Report,
}

impl Updates {
    /// Gives every announcement without a next hop the one that its route has at that point of the
    /// stream, beginning with these tables. A new route keeps [`Updates::unknown`]. O(log n) a
    /// change.
    pub fn settle(&mut self, ipv4: &Rib<u32>, ipv6: &Rib<u128>) {
        if self.unknown.is_some() {
            settle(&mut self.ipv4, ipv4, self.unknown);
            settle(&mut self.ipv6, ipv6, self.unknown);
        }
    }

    fn push(&mut self, time: Option<Duration>, prefix: IpPrefix, next_hop: Option<NextHop>) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.push(Timed { time, change: change(prefix, next_hop) }),
            IpPrefix::V6(prefix) => self.ipv6.push(Timed { time, change: change(prefix, next_hop) }),
        }
    }
}

/// What takes each change as it is read: of the updates, at a time, a prefix and its next hop.
pub(crate) type Each<'e> = dyn FnMut(&mut Updates, Option<Duration>, IpPrefix, Option<NextHop>) + 'e;

fn change<A: Address>(prefix: Prefix<A>, next_hop: Option<NextHop>) -> Change<A> {
    match next_hop {
        Some(next_hop) => Change::Announce(Route { prefix, next_hop }),
        None => Change::Withdraw(prefix),
    }
}

fn settle<A: Address>(updates: &mut [Timed<A>], rib: &Rib<A>, unknown: NextHop) {
    let mut touched: HashMap<Prefix<A>, Option<NextHop>> = HashMap::new();
    for update in updates {
        match &mut update.change {
            Change::Withdraw(prefix) => {
                touched.insert(*prefix, None);
            }
            Change::Announce(route) => {
                let present = touched.entry(route.prefix).or_insert_with(|| rib.get(route.prefix));
                if route.next_hop == unknown {
                    route.next_hop = present.unwrap_or(unknown);
                }
                *present = Some(route.next_hop);
            }
        }
    }
}

/// Reads updates. Their next hops are added to `next_hops`, those of the table that they are for.
///
/// # Errors
/// If the source cannot be read or its format is not known. Without [`ReadOptions::keep_going`],
/// also if a place is damaged or the compressed stream is truncated; the first such place is named.
pub fn read(source: &Source, options: &ReadOptions, next_hops: &mut NextHops) -> Result<Updates, Error> {
    let content = source.open(options.progress.clone())?;
    read_alone(source, content, options, next_hops)
}

/// Reads updates from bytes in memory, compressed or not. Never panics, whatever they hold.
///
/// # Errors
/// As [`read`]; the source is called `memory`.
pub fn parse(bytes: &[u8], options: &ReadOptions, next_hops: &mut NextHops) -> Result<Updates, Error> {
    read_alone(&Source::Memory, Content::of_bytes(bytes)?, options, next_hops)
}

fn read_alone(
    source: &Source,
    content: Content,
    options: &ReadOptions,
    next_hops: &mut NextHops,
) -> Result<Updates, Error> {
    let mut stream = Stream::new(options, None);
    let mut updates = stream.read_content(source, content, next_hops, &mut Updates::push)?;
    stream.finish(source, &mut updates.damage)?;
    Ok(updates)
}

/// Sources of updates that follow one another: what one says of a path is known in the next.
pub(crate) struct Stream<'o> {
    options: &'o ReadOptions,
    /// The time after which messages are not read.
    until: Option<Duration>,
    paths: Option<Paths>,
    /// The next hop of each value of `paths`.
    numbers: HashMap<u32, NextHop>,
    /// The offset of the last message.
    end: u64,
}

impl<'o> Stream<'o> {
    pub(crate) fn new(options: &'o ReadOptions, until: Option<Duration>) -> Self {
        Self { options, until, paths: None, numbers: HashMap::new(), end: 0 }
    }

    /// Reads the next source, as [`read`], and gives each of its changes away: they take no memory.
    pub(crate) fn read(
        &mut self,
        source: &Source,
        next_hops: &mut NextHops,
        each: &mut Each<'_>,
    ) -> Result<Updates, Error> {
        self.read_content(source, source.open(self.options.progress.clone())?, next_hops, each)
    }

    fn read_content(
        &mut self,
        source: &Source,
        content: Content,
        next_hops: &mut NextHops,
        each: &mut Each<'_>,
    ) -> Result<Updates, Error> {
        let options = self.options;
        let read = |head: Vec<u8>, content: &mut Content| {
            let format = match options.format {
                Some(format) => format,
                None if mrt::looks_like(&head) => Format::Mrt,
                None => Format::Text,
            };
            let (ipv4, ipv6, unknown, damage) = (Vec::new(), Vec::new(), NextHop::NONE, Vec::new());
            let report = Report::default();
            let mut updates = Updates { ipv4, ipv6, unknown, format, damage, report };
            let input = head.as_slice().chain(content);
            let result = match format {
                Format::Mrt => self.mrt(input, next_hops, &mut updates, each),
                Format::Text => {
                    let mut blocks = Blocks::new(input, options.keep_going);
                    text::read(&mut blocks, options, next_hops, &mut updates, each)
                }
            };
            result.map(|()| updates).map_err(|damage| Error::at(source, &damage))
        };
        let (mut updates, cut) = content.read_as(source, options.keep_going, read)?;
        updates.damage.extend(cut);
        Ok(updates)
    }

    fn mrt(
        &mut self,
        input: impl Read,
        next_hops: &mut NextHops,
        updates: &mut Updates,
        each: &mut Each<'_>,
    ) -> Result<(), Damage> {
        let Self { options, until, numbers, end, .. } = self;
        let choice = PeerChoice::parse(options.peer.as_deref()).map_err(|what| Damage::byte(0, what))?;
        let paths = self.paths.get_or_insert_with(|| Paths::new(choice, options.value));
        let mut outcomes = Vec::new();
        let mut events = Events::with(input, options.add_path).detailed(options.value == Value::Route);
        for event in &mut events {
            let event = match event {
                Ok(event) => event,
                Err(damage) => {
                    record(&mut updates.damage, options.keep_going, damage)?;
                    continue;
                }
            };
            *end = event.offset;
            if until.is_some_and(|until| event.time > until) {
                continue;
            }
            if !paths.play(&event, |prefix, outcome| outcomes.push((prefix, outcome))) {
                updates.report.note(Kind::LeftOut, BEFORE_DUMP, Place::Byte(*end));
            }
            for (prefix, outcome) in outcomes.drain(..) {
                let next_hop = match outcome.value {
                    None => None,
                    Some(value) => Some(if let Some(&next_hop) = numbers.get(&value) {
                        next_hop
                    } else {
                        let value_info = paths.value(value).clone();
                        let next_hop = intern(next_hops, value_info, Place::Byte(*end), updates)?;
                        numbers.insert(value, next_hop);
                        next_hop
                    }),
                };
                each(updates, Some(event.time), prefix, next_hop);
            }
        }
        let notes =
            updates.report.notes.split_off(0).into_iter().chain(events.report().notes.iter().cloned());
        updates.report.merge(notes, options.strict)
    }

    /// Ends the stream, of which `source` was the last. That a named peer sent nothing is damage.
    pub(crate) fn finish(&self, source: &Source, damage: &mut Vec<Damage>) -> Result<(), Error> {
        let Some(what) = self.paths.as_ref().and_then(Paths::unmatched) else { return Ok(()) };
        let recorded = record(damage, self.options.keep_going, Damage::byte(self.end, what));
        recorded.map_err(|damage| Error::at(source, &damage))
    }
}

/// Returns the index of a next hop; the label `-` is the unknown one.
fn intern(
    next_hops: &mut NextHops,
    info: NextHopInfo,
    place: Place,
    updates: &mut Updates,
) -> Result<NextHop, Damage> {
    let is_unknown = matches!(&info, NextHopInfo::Label(label) if &**label == "-");
    let next_hop = next_hops.intern(info).map_err(|error| Damage { place, what: error.to_string() })?;
    if is_unknown {
        updates.unknown = next_hop;
    }
    Ok(next_hop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_next_hops_are_those_the_routes_have() {
        let mut next_hops = NextHops::new();
        let first = next_hops.intern(NextHopInfo::parse("192.0.2.1")).unwrap();
        let mut rib = Rib::new();
        rib.insert("10.0.0.0/8".parse().unwrap(), first);
        let text = b"A 10.0.0.0/8 - -\nA 10.0.0.0/8 192.0.2.2 5\nA 10.0.0.0/8 -\nW 10.0.0.0/8\n\
            A 10.0.0.0/8 - 6.5\nA 11.0.0.0/8\n";
        let mut updates = parse(text, &ReadOptions::default(), &mut next_hops).unwrap();
        updates.settle(&rib, &Rib::new());
        let names: Vec<String> = updates
            .ipv4
            .iter()
            .map(|update| match update.change {
                Change::Announce(route) => next_hops.get(route.next_hop).unwrap().to_string(),
                Change::Withdraw(_) => "W".into(),
            })
            .collect();
        assert_eq!(names, ["192.0.2.1", "192.0.2.2", "192.0.2.2", "W", "-", "-"]);
        assert_eq!(updates.ipv4[4].time, Some(Duration::from_millis(6500)));
    }
}
