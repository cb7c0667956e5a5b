//! [`Blocks`]: a text in blocks of whole lines, so that no reader of lines holds its stream.
//!
//! A reader takes the memory of one block, whatever the size of the stream. Blank lines take none
//! of what they expand to. A line without end is an error after [`LINE_BYTES_MAX`].

use crate::Damage;
use std::io::{self, Read};

/// The most bytes of a line.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The bytes of a block. Several cores read one block of lines.
const BLOCK_BYTES: usize = 16 << 20;

/// The bytes that one read adds to a block at most.
const READ_BYTES: usize = 1 << 20;

/// The mark at the beginning of some UTF-8 texts.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A stream in blocks of whole lines.
pub struct Blocks<R> {
    input: R,
    /// What was read and not given out; before `given`, the block that was given out last.
    buffer: Vec<u8>,
    given: usize,
    /// The number of the line at `given`, from 1.
    line: u64,
    has_ended: bool,
    /// Whether the lines before an error of the input are given out too. The last may be the
    /// beginning of one.
    keeps_cut: bool,
    /// The error that the input ended in.
    cut: Option<io::Error>,
    /// Where one read puts its bytes, if a block is to be what one read has brought.
    one_read: Vec<u8>,
    /// Whether the line at `given` is the rest of one that was too long.
    is_skipping: bool,
}

/// Whole lines of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'b> {
    /// The number of the first line.
    pub first_line: u64,
    /// The lines, with their line breaks.
    pub text: &'b [u8],
}

impl<R: Read> Blocks<R> {
    /// Begins at line 1. Where the input ends in an error, the last lines before it are given out
    /// only if `keeps_cut`.
    pub(crate) fn new(input: R, keeps_cut: bool) -> Self {
        let (buffer, one_read) = (Vec::new(), Vec::new());
        let (has_ended, is_skipping, cut) = (false, false, None);
        Self { input, buffer, given: 0, line: 1, has_ended, keeps_cut, cut, one_read, is_skipping }
    }

    /// As the lines come: a block is the result of one read, so that a slow writer is answered at
    /// once and a fast one in large blocks.
    pub fn as_they_come(input: R) -> Self {
        Self { one_read: vec![0; READ_BYTES], ..Self::new(input, false) }
    }

    /// Returns the error that the input ended in, once [`next`](Self::next) has returned `None`.
    pub fn cut(&mut self) -> Option<io::Error> {
        self.cut.take()
    }

    /// Returns what the next block begins with, at most a block.
    pub(crate) fn peek(&mut self) -> &[u8] {
        self.fill();
        &self.buffer
    }

    /// Returns the next lines, or the damage in the stead of a line that is too long; `None` at the
    /// end. The lines after such a line follow.
    #[allow(clippy::should_implement_trait, reason = "a block is of the reader's memory")]
    pub fn next(&mut self) -> Option<Result<Block<'_>, Damage>> {
        loop {
            self.fill();
            if self.buffer.is_empty() || self.cut.is_some() && !self.keeps_cut {
                return None;
            }
            let rest = &self.buffer[self.given..];
            if !self.is_skipping {
                break;
            }
            let end = memchr::memchr(b'\n', rest);
            self.given += end.map_or(rest.len(), |end| end + 1);
            if end.is_some() || self.has_ended {
                self.line += 1;
                self.is_skipping = false;
            }
        }
        let rest = &self.buffer[self.given..];
        let len = if self.has_ended {
            rest.len()
        } else {
            memchr::memrchr(b'\n', rest).map_or(rest.len(), |end| end + 1)
        };
        let (first_line, start) = (self.line, self.given);
        let len = before_too_long(&rest[..len]).unwrap_or(len);
        if len == 0 {
            self.is_skipping = true;
            let what = format!("the line has more than {LINE_BYTES_MAX} bytes, the limit of a line");
            return Some(Err(Damage::line(first_line, what)));
        }
        self.given += len;
        let text = &self.buffer[start..self.given];
        self.line += memchr::memchr_iter(b'\n', text).count() as u64;
        Some(Ok(Block { first_line, text }))
    }

    /// Calls `take` for each line with its number and its content without the line break, or with
    /// what is wrong where it is too long.
    pub(crate) fn each_line(
        &mut self,
        mut take: impl FnMut(u64, Result<&[u8], String>) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let mut number = 0;
        while let Some(block) = self.next() {
            match block {
                Ok(Block { first_line, text }) => {
                    for (line, content) in crate::scan::lines(text) {
                        number = first_line + line - 1;
                        take(number, Ok(content))?;
                    }
                }
                Err(Damage { what, .. }) => {
                    number += 1;
                    take(number, Err(what))?;
                }
            }
        }
        Ok(())
    }

    /// Drops what was given out, and reads up to a block.
    fn fill(&mut self) {
        self.buffer.drain(..self.given);
        self.given = 0;
        while !self.has_ended && self.buffer.len() < BLOCK_BYTES {
            let before = self.buffer.len();
            self.cut = self.read().err();
            self.has_ended = self.cut.is_some() || self.buffer.len() == before;
            if before == 0 && self.line == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
            let is_block = !self.one_read.is_empty() && self.buffer[before..].contains(&b'\n');
            if is_block || self.is_skipping || is_without_line_break(&self.buffer) {
                return;
            }
        }
    }

    fn read(&mut self) -> io::Result<()> {
        if self.one_read.is_empty() {
            return self.input.by_ref().take(READ_BYTES as u64).read_to_end(&mut self.buffer).map(drop);
        }
        loop {
            match self.input.read(&mut self.one_read) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    self.buffer.extend_from_slice(&self.one_read[..read?]);
                    return Ok(());
                }
            }
        }
    }
}

/// Returns whether a text has more bytes than a line may have, and no line break among the first.
fn is_without_line_break(text: &[u8]) -> bool {
    text.get(..=LINE_BYTES_MAX).is_some_and(|begin| memchr::memchr(b'\n', begin).is_none())
}

/// Returns the bytes before the first line that is too long, if there is one.
fn before_too_long(text: &[u8]) -> Option<usize> {
    const HALF: usize = LINE_BYTES_MAX / 2;
    // A line that is too long covers at least one of these pieces.
    if text.chunks_exact(HALF).all(|piece| memchr::memchr(b'\n', piece).is_some()) {
        return None;
    }
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text).chain([text.len()]) {
        if end - start > LINE_BYTES_MAX {
            return Some(start);
        }
        start = end + 1;
    }
    None
}

/// Reads the whole of a stream of a format that is not read line by line.
///
/// A compressed stream may expand to [`FREE_BYTES`], and beyond that to [`RATIO`] times its own
/// bytes: no real table is compressed that well, and a small file must not take all memory.
pub(crate) fn hold(content: &mut crate::Content, bytes: &mut Vec<u8>, most: u64) -> Result<(), Damage> {
    loop {
        let before = bytes.len();
        // The reason why reading stopped is in the content's damage.
        let result: io::Result<usize> = content.by_ref().take(READ_BYTES as u64).read_to_end(bytes);
        if result.is_err() || bytes.len() == before {
            return Ok(());
        }
        if bytes.len() as u64 > most {
            let what = format!("takes more than {} of memory, the limit", crate::Bytes(most));
            return Err(Damage::byte(bytes.len() as u64, what));
        }
        if let Some(compressed) = content.compressed_bytes()
            && bytes.len() > FREE_BYTES
            && (bytes.len() - FREE_BYTES) as u64 > compressed.saturating_mul(RATIO)
        {
            let what = format!(
                "expands to more than {FREE_BYTES} bytes and {RATIO} times its compressed size, the limit of a format \
                 that is held in memory"
            );
            return Err(Damage { place: crate::Place::CompressedByte(compressed), what });
        }
    }
}

/// The bytes that any compressed stream may expand to where it is held.
const FREE_BYTES: usize = 64 << 20;
/// The bytes more for each compressed byte.
const RATIO: u64 = 100;

/// The most damaged places that are recorded: a file of nothing else must not take all memory.
pub(crate) const DAMAGE_MAX: usize = 100_000;

/// Records a damaged place.
///
/// # Errors
/// Ends with that damage, unless the caller asked to go on and there are not too many.
pub(crate) fn record(all: &mut Vec<Damage>, keep_going: bool, damage: Damage) -> Result<(), Damage> {
    if !keep_going {
        return Err(damage);
    }
    if all.len() == DAMAGE_MAX {
        let what = format!("more than {DAMAGE_MAX} damaged places, the limit; here: {}", damage.what);
        return Err(Damage { place: damage.place, what });
    }
    all.push(damage);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A byte again and again, up to `end` times, and a count of the bytes that were read.
    struct Endless<'c> {
        byte: u8,
        read: &'c Cell<usize>,
        end: usize,
    }

    impl Read for Endless<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.end - self.read.get());
            buffer[..count].fill(self.byte);
            self.read.set(self.read.get() + count);
            Ok(count)
        }
    }

    #[test]
    fn a_line_without_end_is_an_error_after_few_bytes() {
        let read = Cell::new(0);
        for blocks in [|input| Blocks::new(input, false), Blocks::as_they_come] {
            read.set(0);
            let mut blocks = blocks(Endless { byte: b'a', read: &read, end: usize::MAX });
            let damage = blocks.next().unwrap().unwrap_err();
            let what = "line 1: the line has more than 1048576 bytes, the limit of a line";
            assert_eq!(damage.to_string(), what);
            assert!(read.get() <= LINE_BYTES_MAX + 2 * READ_BYTES, "{} bytes were read", read.get());
        }
    }

    #[test]
    fn many_blank_lines_take_the_memory_of_one_block() {
        const LINES: usize = 1 << 28;
        let read = Cell::new(0);
        let mut blocks = Blocks::new(Endless { byte: b'\n', read: &read, end: LINES }, false);
        let mut lines = 0;
        while let Some(block) = blocks.next() {
            let block = block.unwrap();
            assert_eq!(block.first_line, lines as u64 + 1);
            lines += block.text.len();
        }
        assert_eq!((lines, blocks.line), (LINES, LINES as u64 + 1));
        assert!(blocks.buffer.capacity() <= 2 * (BLOCK_BYTES + READ_BYTES));
    }

    #[test]
    fn lines_after_one_that_is_too_long_are_read_with_their_numbers() {
        let long = vec![b'x'; 3 * LINE_BYTES_MAX];
        let just_fits = vec![b'y'; LINE_BYTES_MAX];
        for end in [&b""[..], b"\n"] {
            let text =
                [b"one\n", &long[..], b"\n\nfour\n", &just_fits, b"\n", &long, b"\nseven", end].concat();
            let mut found = Vec::new();
            let mut blocks = Blocks::new(&text[..], false);
            blocks
                .each_line(|number, line| {
                    found.push((number, line.map(<[u8]>::len).map_err(|what| what.len())));
                    Ok(())
                })
                .unwrap();
            let numbers: Vec<_> = found.iter().map(|(number, line)| (*number, line.ok())).collect();
            assert_eq!(
                numbers,
                [
                    (1, Some(3)),
                    (2, None),
                    (3, Some(0)),
                    (4, Some(4)),
                    (5, Some(LINE_BYTES_MAX)),
                    (6, None),
                    (7, Some(5))
                ]
            );
        }
    }

    /// A stream that arrives in the given pieces, each by one read.
    struct Pieces(std::collections::VecDeque<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn blocks_hold_whole_lines_as_they_come_wherever_the_stream_is_cut() {
        let pieces: [&[u8]; 5] = [b"1.1.1.1\n2.2", b".2.2", b"\n3.3.3.3\n", b"4.4.4.4\n5", b".5.5.5"];
        let mut blocks = Blocks::as_they_come(Pieces(pieces.into()));
        let expected: [(u64, &[u8]); 4] =
            [(1, b"1.1.1.1\n"), (2, b"2.2.2.2\n3.3.3.3\n"), (4, b"4.4.4.4\n"), (5, b"5.5.5.5")];
        for (first_line, text) in expected {
            assert_eq!(blocks.next(), Some(Ok(Block { first_line, text })));
        }
        assert_eq!(blocks.next(), None);
    }

    #[test]
    fn the_byte_order_mark_is_left_out() {
        let mut blocks = Blocks::new(&b"\xEF\xBB\xBFa\nb"[..], false);
        assert_eq!(blocks.next(), Some(Ok(Block { first_line: 1, text: b"a\nb" })));
        assert_eq!(blocks.next(), None);
    }
}
