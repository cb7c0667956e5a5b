//! BMP as a router sent it to a station that kept it: `nc -l 11019 > router.bmp`.
//!
//! The table is what the messages have left at the end, in one view: `--vrf` names the VRF, and
//! `--routing-table` the routes by the name of a [`Policy`].

use super::builder::Builder;
use super::layouts::{Layout, Looks, Reader};
use super::{ReadOptions, Value, mrt};
use crate::mrt::bmp::{LENGTH_MAX, Policy, Session, View, Views, Vrf};
use crate::mrt::{Paths, PeerChoice};
use crate::{Damage, Kind, Place, Report};
use std::io::Read;
use std::time::Duration;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Begins(looks_like),
    reader: Reader::Stream(read),
    writer: None,
    endings: &["bmp"],
};

/// Returns whether bytes begin with messages of BMP.
pub(super) fn looks_like(head: &[u8]) -> bool {
    /// The first bytes of a message: its version, length and type.
    const HEADER: usize = 6;
    let length = |message: &[u8]| match *message.first_chunk::<HEADER>()? {
        [3, l0, l1, l2, l3, 0..=6] => {
            let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
            (HEADER..=LENGTH_MAX).contains(&length).then_some(length)
        }
        _ => None,
    };
    let Some(first) = length(head) else { return false };
    head.get(first..).is_none_or(|next| next.len() < HEADER || length(next).is_some())
}

fn read(input: &mut dyn Read, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    read_until(None, input, options, builder)
}

/// As [`read`], of the messages up to a time since 1970. Those without a time are taken as ones
/// from before.
pub(super) fn read_until(
    until: Option<Duration>,
    input: &mut dyn Read,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<(), Damage> {
    let choice = PeerChoice::parse(options.peer.as_deref()).map_err(|what| Damage::byte(0, what))?;
    let policy = match options.table.as_deref() {
        Some(name) => name.parse::<Policy>().map_err(|error| Damage::byte(0, error.to_string()))?,
        // The routes of one peer are not in the router's own table.
        None if options.peer.is_some() => Policy::Pre,
        None => Policy::Own,
    };
    let vrf = options.vrf.as_deref().map(Vrf::parse).transpose().map_err(|what| Damage::byte(0, what))?;
    let views = Views::from(View { policy, vrf }).detailed(options.value == Value::Route);
    let (mut session, mut paths) = (Session::new(input, views), Paths::new(choice, options.value));
    let (mut end, mut untimed) = (Place::Byte(0), Report::default());
    let (mut is_taken, mut later) = (false, None);
    for event in session.by_ref() {
        match event {
            Ok(event) => {
                end = Place::Byte(event.offset);
                if until.is_some_and(|until| event.time > until) {
                    later = later.or(Some(event.time));
                    continue;
                }
                if until.is_some() && event.time.is_zero() {
                    untimed.note(Kind::Guessed, "message without a time, taken as one from before", end);
                }
                is_taken = true;
                paths.apply(&event);
                builder.beside(end, paths.bytes())?;
            }
            Err(damage) => builder.damaged(damage)?,
        }
    }
    if let (Some(later), Some(until), false) = (later, until, is_taken) {
        let (later, until) = (later.as_secs(), until.as_secs());
        let what = format!("the messages begin at {later}, after the time {until} that is asked for");
        return Err(Damage { place: end, what });
    }
    builder.notes(session.report().notes.iter().chain(&untimed.notes).cloned())?;
    mrt::finish(&mut paths, end, builder)
}
