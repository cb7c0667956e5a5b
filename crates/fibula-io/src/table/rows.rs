//! Formats with one route per line, read on all cores.
//!
//! Each block of the text is cut at line breaks into one piece per core. Each piece numbers its own
//! values and lines. The pieces are then joined in order, so that the result is the same on one
//! core as on many.

use super::builder::Builder;
use super::fields::SEPARATOR;
use super::layouts::Lines;
use super::routes::Routes;
use super::{ReadOptions, Value};
use crate::blocks::{Block, DAMAGE_MAX};
use crate::report::Kind;
use crate::scan::{lines, quoted, threads, utf8};
use crate::{Damage, Place, Report};
use fibula::parts::arch::{Isa, Kernel, Level, dispatch};
use fibula::{IpPrefix, NextHop, NextHopInfo, Route};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

/// Below this number of bytes per piece, another thread costs more than it saves.
const PIECE_BYTES: usize = 1 << 20;

/// The content of a line.
pub(super) enum Row<'a> {
    /// Nothing: it is blank, or a comment.
    Blank,
    /// What is left out of the tables.
    LeftOut(&'static str),
    /// A prefix and its value.
    Prefix(IpPrefix, Cow<'a, [u8]>),
    /// The addresses from the first to the last, of one family, and their value.
    Range(IpAddr, IpAddr, Cow<'a, [u8]>),
}

/// The routes and damage of one piece of the text.
#[derive(Default)]
struct Piece {
    ipv4: Routes<u32>,
    ipv6: Routes<u128>,
    /// The piece's next hops, numbered 1, 2, ...
    values: Vec<NextHopInfo>,
    lines: u64,
    /// The line within the piece, and what is wrong there.
    damage: Vec<(u64, String)>,
    /// What was left out, by lines within the piece.
    report: Report,
}

/// Reads every line of all blocks with `row`, which is told whether to mask host bits.
pub(super) fn read<F>(
    blocks: &mut Lines<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
    row: F,
) -> Result<(), Damage>
where
    F: Fn(&[u8], bool) -> Result<Row<'_>, String> + Sync,
{
    while let Some(block) = blocks.next() {
        match block {
            Ok(block) => read_block(block, options, builder, &row)?,
            Err(damage) => builder.damaged(damage)?,
        }
    }
    Ok(())
}

/// Reads every line of a block with `row`.
pub(super) fn read_block<F>(
    Block { first_line, text }: Block<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
    row: &F,
) -> Result<(), Damage>
where
    F: Fn(&[u8], bool) -> Result<Row<'_>, String> + Sync,
{
    let (keep_going, wanted) = (options.keep_going, options.value);
    let has_fields = !builder.columns.is_empty();
    let row = &|line| row(line, options.mask_host_bits);
    let read = |text| dispatch(Level::best(), ReadPiece { text, keep_going, wanted, has_fields, row });
    let read = &read;
    let texts = pieces(text, threads(text.len(), PIECE_BYTES));
    let found: Vec<Piece> = std::thread::scope(|scope| {
        let (first, others) = texts.split_first().expect("a text has at least one piece");
        let others: Vec<_> = others.iter().map(|text| scope.spawn(move || read(text))).collect();
        let mut found = vec![read(first)];
        for other in others {
            found.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    let mut line = first_line;
    for piece in found {
        for (offset, what) in piece.damage {
            builder.damaged(Damage::line(line + offset, what))?;
        }
        builder.notes(piece.report.notes.into_iter().map(|mut note| {
            if let Place::Line(offset) = &mut note.first {
                *offset += line;
            }
            note
        }))?;
        add(builder, Place::Line(line), piece.ipv4, piece.ipv6, piece.values)?;
        line += piece.lines;
    }
    Ok(())
}

/// Adds a piece's routes under the builder's own next hop numbers.
fn add(
    builder: &mut Builder,
    place: Place,
    mut ipv4: Routes<u32>,
    mut ipv6: Routes<u128>,
    values: Vec<NextHopInfo>,
) -> Result<(), Damage> {
    let mut numbers = vec![NextHop::NONE];
    for value in values {
        numbers.push(builder.intern(place, value)?);
    }
    let next_hops = ipv4.iter_mut().map(|route| &mut route.next_hop);
    for next_hop in next_hops.chain(ipv6.iter_mut().map(|route| &mut route.next_hop)) {
        *next_hop = numbers[next_hop.0 as usize];
    }
    builder.ipv4.append(ipv4);
    builder.ipv6.append(ipv6);
    builder.make_room(place)
}

/// Cuts a text after line breaks into at most `count` pieces of about one size.
fn pieces(text: &[u8], count: usize) -> Vec<&[u8]> {
    let size = text.len() / count + 1;
    let mut pieces = Vec::with_capacity(count);
    let mut rest = text;
    while rest.len() > size
        && let Some(end) = memchr::memchr(b'\n', &rest[size..])
    {
        let (piece, after) = rest.split_at(size + end + 1);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Reads a piece, compiled for every instruction set.
struct ReadPiece<'a, 'f, F> {
    text: &'a [u8],
    keep_going: bool,
    wanted: Value,
    has_fields: bool,
    row: &'f F,
}

impl<'a, F: Fn(&'a [u8]) -> Result<Row<'a>, String>> Kernel for ReadPiece<'a, '_, F> {
    type Output = Piece;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> Piece {
        let Self { text, keep_going, wanted, has_fields, row } = self;
        read_piece(text, keep_going, wanted, has_fields, row)
    }
}

#[inline(always)]
fn read_piece<'a, F>(text: &'a [u8], keep_going: bool, wanted: Value, has_fields: bool, row: &F) -> Piece
where
    F: Fn(&'a [u8]) -> Result<Row<'a>, String>,
{
    let mut piece = Piece::default();
    // Short texts are within the entries, so that one cache miss finds a number.
    let mut numbers: HashMap<SmallVec<[u8; 16]>, NextHop> = HashMap::new();
    // Neighbouring routes mostly share their value.
    let mut last: (Cow<'_, [u8]>, NextHop) = (Cow::Borrowed(&[]), NextHop::NONE);
    for (number, line) in lines(text) {
        piece.lines = number;
        let mut route = || {
            let (value, net) = match row(line)? {
                Row::Blank => return Ok(()),
                Row::LeftOut(what) => {
                    piece.report.note(Kind::LeftOut, what, Place::Line(number - 1));
                    return Ok(());
                }
                Row::Prefix(prefix, value) => (value, Ok(prefix)),
                Row::Range(first, last, value) => (value, Err((first, last))),
            };
            if value != last.0 || !last.1.is_some() {
                let next_hop = if let Some(&next_hop) = numbers.get(&*value) {
                    next_hop
                } else {
                    piece.values.push(read_fields(&value, has_fields, wanted)?);
                    let next_hop = NextHop(piece.values.len() as u32);
                    numbers.insert(SmallVec::from_slice(&value), next_hop);
                    next_hop
                };
                last = (value, next_hop);
            }
            let mut push = |prefix| match prefix {
                IpPrefix::V4(prefix) => piece.ipv4.push(Route { prefix, next_hop: last.1 }),
                IpPrefix::V6(prefix) => piece.ipv6.push(Route { prefix, next_hop: last.1 }),
            };
            match net {
                Ok(prefix) => push(prefix),
                Err((first, last)) => range(first, last)?.for_each(push),
            }
            piece.ipv4.settle();
            piece.ipv6.settle();
            Ok(())
        };
        if let Err(what) = route() {
            piece.damage.push((number - 1, what));
            if !keep_going || piece.damage.len() > DAMAGE_MAX {
                break;
            }
        }
    }
    piece
}

/// Returns the prefixes that are the addresses from the first to the last.
pub(super) fn range(first: IpAddr, last: IpAddr) -> Result<impl Iterator<Item = IpPrefix>, String> {
    if last < first && last.is_ipv4() == first.is_ipv4() {
        return Err(format!("the range ends at {last}, before it begins at {first}"));
    }
    IpPrefix::fewest(first, last).map_err(|error| error.to_string())
}

/// The most bytes of a value: a table keeps the text of each.
const VALUE_BYTES_MAX: usize = 4096;

/// Reads a value as the text formats write it. Where an origin is wanted, `AS64500` is one.
pub(crate) fn read_value(value: &[u8], wanted: Value) -> Result<NextHopInfo, String> {
    read_fields(value, false, wanted)
}

/// As [`read_value`], but the value may be the texts of several fields, joined.
pub(super) fn read_fields(value: &[u8], has_fields: bool, wanted: Value) -> Result<NextHopInfo, String> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(format!("a value of {} bytes, at most {VALUE_BYTES_MAX} fit", value.len()));
    }
    let text = utf8(value)?;
    if text.chars().any(|c| c.is_control() && !(has_fields && c == SEPARATOR)) {
        return Err(format!("{} holds a control character, expected one value", quoted(text)));
    }
    Ok(match wanted {
        _ if has_fields => NextHopInfo::Label(text.into()),
        Value::OriginAs => NextHopInfo::parse_origin(text),
        _ => NextHopInfo::parse(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_numbered_across_pieces() {
        let mut builder = Builder::default();
        for text in ["10.0.0.0/8 1\n11.0.0.0/8 2", "12.0.0.0/8 2\n13.0.0.0/8 AS1"] {
            let input: &mut dyn std::io::Read = &mut text.as_bytes();
            let mut blocks = crate::blocks::Blocks::new(input, false);
            let options = ReadOptions { value: Value::OriginAs, ..Default::default() };
            read(&mut blocks, &options, &mut builder, super::super::text::row).unwrap();
        }
        assert_eq!(builder.ipv4.iter_mut().map(|r| r.next_hop.0).collect::<Vec<_>>(), [1, 2, 2, 1]);
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text(text in "[ab\n]{0,60}", count in 1..9_usize) {
            let pieces = pieces(text.as_bytes(), count);
            prop_assert!(pieces.len() <= count);
            prop_assert_eq!(pieces.concat(), text.as_bytes());
            for piece in &pieces[..pieces.len() - 1] {
                prop_assert_eq!(piece.last(), Some(&b'\n'));
            }
        }
    }
}
