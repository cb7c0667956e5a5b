//! [`read_at`]: a table as it was at a time.

use super::builder::Builder;
use super::mrt::Replay;
use super::{Format, Loaded, ReadOptions, Setting, Tables, read};
use crate::update;
use crate::{Budget, Damage, Error, Kind, Note, Place, Source, mrt};
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib};
use std::io::Read;
use std::time::Duration;

/// Reads a table and the updates after it, in order, up to a time since 1970-01-01 UTC.
///
/// Where table and updates are all MRT, the paths of all peers are kept, so that a prefix has the
/// best path that was left at that time, or that of [`ReadOptions::peer`]; updates from before the
/// record of their prefix in the dump are left out. Otherwise each update changes the table as it
/// is: where two peers have announced a prefix, the withdrawal of one leaves the path of the other.
/// How updates are cut into files does not matter. An update of text without a
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
    let mut are_mrt = true;
    for source in std::iter::once(table).chain(updates) {
        are_mrt &= is_mrt(source)?;
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

/// Returns whether a source is MRT, by its first bytes.
fn is_mrt(source: &Source) -> Result<bool, Error> {
    const HEAD_BYTES: u64 = 4 << 10;
    if *source == Source::StandardInput {
        return Err(Error::of(source, "is read once, expected files"));
    }
    let mut head = Vec::new();
    // Where the head cannot be read, reading the whole says so.
    let _ = source.open(None)?.take(HEAD_BYTES).read_to_end(&mut head);
    Ok(mrt::looks_like(&head))
}

fn replayed(
    table: &Source,
    updates: &[Source],
    time: Duration,
    options: &ReadOptions,
) -> Result<Loaded, Error> {
    let budget = options.budget.map_or_else(Budget::of_environment, Ok);
    let mut builder = Builder::new(options, budget.map_err(|what| Error::of(table, what))?);
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
    let (tables, damage, report) = builder.finish().map_err(|what| Error::of(table, what))?;
    Ok(Loaded { tables, format: Format::Mrt, damage, report })
}

/// Names the source of damage, where the table is another.
fn of_source(mut damage: Damage, source: &Source) -> Damage {
    damage.what = format!("of {source}: {}", damage.what);
    damage
}
