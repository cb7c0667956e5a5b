//! [`read_at`]: a table as it was at a time.

use super::builder::Builder;
use super::mrt::Replay;
use super::{Format, Loaded, ReadOptions, Setting, Tables, bmp, read};
use crate::update;
use crate::{Budget, Content, Damage, Error, Kind, Note, Place, Progress, Source, mrt};
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib};
use std::io::{self, Read};
use std::time::Duration;

/// Reads a table and the updates after it, in order, up to a time since 1970-01-01 UTC.
///
/// Where table and updates are all MRT, the paths of all peers are kept, so that a prefix has the
/// best path that was left at that time, or that of [`ReadOptions::peer`]; updates from before the
/// record of their prefix in the dump are left out. Otherwise each update changes the table as it
/// is: where two peers have announced a prefix, the withdrawal of one leaves the path of the other.
/// A table of BMP is a recording, and what follows it are more parts of that: it is read up to the
/// time. How updates are cut into files does not matter. An update of text without a
/// time is taken as one from before the time, and counted as a guess.
///
/// # Errors
/// As [`read`], for each of the sources; and if the table is of a later time, or from standard
/// input.
pub fn read_at(
    table: &Source,
    updates: &[Source],
    time: Duration,
    options: &ReadOptions,
) -> Result<Loaded, Error> {
    if bmp::looks_like(&head(table)?) {
        return recorded(table, updates, time, options);
    }
    let mut are_mrt = true;
    for source in std::iter::once(table).chain(updates) {
        are_mrt &= mrt::looks_like(&head(source)?);
    }
    let refused = |formats: &[Format]| match options.refusal(formats) {
        Some(what) => Err(Error::of(table, what)),
        None => Ok(()),
    };
    if are_mrt {
        refused(&[Format::Mrt])?;
        return replayed(table, updates, time, options);
    }
    // What the table does not heed, its updates may.
    let mut loaded = read(table, &ReadOptions { may_be_idle: Setting::ALL.to_vec(), ..options.clone() })?;
    let mut formats = vec![loaded.format];
    let options = update::ReadOptions {
        format: None,
        value: options.value,
        peer: options.peer.clone(),
        keep_going: options.keep_going,
        mask_host_bits: options.mask_host_bits,
        add_path: options.add_path,
        strict: options.strict,
        progress: options.progress.clone(),
    };
    let mut stream = update::Stream::new(&options, Some(time));
    for source in updates {
        let Tables { ipv4, ipv6, next_hops } = &mut loaded.tables;
        let mut untimed = 0;
        let changes = stream.read(source, next_hops, &mut |updates, at, prefix, next_hop| {
            untimed += u64::from(at.is_none());
            if at.is_none_or(|at| at <= time) {
                match prefix {
                    IpPrefix::V4(prefix) => apply(ipv4, prefix, next_hop, updates.unknown),
                    IpPrefix::V6(prefix) => apply(ipv6, prefix, next_hop, updates.unknown),
                }
            }
        })?;
        formats.push(match changes.format {
            update::Format::Mrt => Format::Mrt,
            update::Format::Text => Format::Updates,
        });
        let what = format!("update without a time in {source}, taken as one from before");
        let note = Note { kind: Kind::Guessed, what: what.into(), count: untimed, first: Place::Line(1) };
        let notes = changes.report.notes.into_iter().chain((untimed > 0).then_some(note));
        loaded.report.merge(notes, options.strict).map_err(|damage| Error::at(source, &damage))?;
        loaded.damage.extend(changes.damage.into_iter().map(|damage| of_source(damage, source)));
    }
    refused(&formats)?;
    stream.finish(updates.last().unwrap_or(table), &mut loaded.damage)?;
    loaded.report.kept = (loaded.tables.ipv4.len() + loaded.tables.ipv6.len()) as u64;
    Ok(loaded)
}

/// Applies a change. An announcement with the unknown next hop keeps the one that the route has.
fn apply<A: Address>(rib: &mut Rib<A>, prefix: Prefix<A>, next_hop: Option<NextHop>, unknown: NextHop) {
    match next_hop {
        Some(next_hop) if next_hop == unknown && rib.get(prefix).is_some() => {}
        Some(next_hop) => _ = rib.insert(prefix, next_hop),
        None => _ = rib.remove(prefix),
    }
}

/// Returns the first bytes of a source.
fn head(source: &Source) -> Result<Vec<u8>, Error> {
    const HEAD_BYTES: u64 = 4 << 10;
    if *source == Source::StandardInput {
        return Err(Error::of(source, "is read once, expected files"));
    }
    let mut head = Vec::new();
    // Where the head cannot be read, reading the whole says so.
    let _ = source.open(None)?.take(HEAD_BYTES).read_to_end(&mut head);
    Ok(head)
}

fn replayed(
    table: &Source,
    updates: &[Source],
    time: Duration,
    options: &ReadOptions,
) -> Result<Loaded, Error> {
    let mut builder = builder(table, options)?;
    let mut replay = Replay::new(options, Some(time)).map_err(|damage| Error::at(table, &damage))?;
    for source in std::iter::once(table).chain(updates) {
        let known = builder.damage.len();
        let content = source.open(options.progress.clone())?;
        let feed = |head: Vec<u8>, content: &mut crate::Content| {
            let fed = replay.feed(&mut head.as_slice().chain(content), options, &mut builder);
            fed.map_err(|damage| Error::at(source, &damage))
        };
        let ((), cut) = content.read_as(source, options.keep_going, feed)?;
        builder.damage.extend(cut);
        if source != table {
            let found = builder.damage.split_off(known);
            builder.damage.extend(found.into_iter().map(|damage| of_source(damage, source)));
        }
    }
    replay.finish(&mut builder).map_err(|damage| Error::at(table, &damage))?;
    loaded(Format::Mrt, builder, table)
}

/// The parts of a recording, one after the other. A message may begin in one and end in the next.
struct Parts<'p> {
    rest: Box<dyn Iterator<Item = &'p Source> + 'p>,
    content: Option<Content>,
    progress: Option<Progress>,
}

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(content) = &mut self.content else {
                let Some(source) = self.rest.next() else { return Ok(0) };
                self.content = Some(source.open(self.progress.clone()).map_err(io::Error::other)?);
                continue;
            };
            match content.read(buffer)? {
                0 if buffer.is_empty() => return Ok(0),
                0 => match content.damage() {
                    Some(cut) => return Err(io::Error::other(cut.to_string())),
                    None => self.content = None,
                },
                count => return Ok(count),
            }
        }
    }
}

/// Reads a recording of BMP up to a time. Bytes are counted over all of its parts.
fn recorded(
    table: &Source,
    updates: &[Source],
    time: Duration,
    options: &ReadOptions,
) -> Result<Loaded, Error> {
    if let Some(what) = options.refusal(&[Format::Bmp]) {
        return Err(Error::of(table, what));
    }
    let mut builder = builder(table, options)?;
    let rest = Box::new(std::iter::once(table).chain(updates));
    let mut parts = Parts { rest, content: None, progress: options.progress.clone() };
    bmp::read_until(Some(time), &mut parts, options, &mut builder)
        .map_err(|damage| Error::at(table, &damage))?;
    loaded(Format::Bmp, builder, table)
}

fn builder(table: &Source, options: &ReadOptions) -> Result<Builder, Error> {
    let budget = options.budget.map_or_else(Budget::of_environment, Ok);
    Ok(Builder::new(options, budget.map_err(|what| Error::of(table, what))?))
}

fn loaded(format: Format, builder: Builder, table: &Source) -> Result<Loaded, Error> {
    let (tables, damage, report) = builder.finish().map_err(|what| Error::of(table, what))?;
    Ok(Loaded { tables, format, damage, report })
}

/// Names the source of damage, where the table is another.
fn of_source(mut damage: Damage, source: &Source) -> Damage {
    damage.what = format!("of {source}: {}", damage.what);
    damage
}
