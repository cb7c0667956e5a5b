//! [`Answers`]: arrays of next hops at whatever width an engine keeps, so that storing costs what
//! it costs a user.

use fibula::engine::{Width, WidthBits};
use fibula::{NextHop, NextHopSlice};

/// An array of answers of one of the three widths.
#[derive(Debug)]
pub(crate) enum Answers {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// Runs the same code on the array inside, whatever its width.
macro_rules! each_width {
    ($answers:expr, $values:ident => $body:expr) => {
        match $answers {
            Answers::U8($values) => $body,
            Answers::U16($values) => $body,
            Answers::U32($values) => $body,
        }
    };
}

impl Answers {
    /// Returns an array of `len` answers with all bits set: every page is touched, and narrow
    /// tables rarely hold the value.
    pub(crate) fn new(width: WidthBits, len: usize) -> Self {
        match width {
            WidthBits::U8 => Self::U8(vec![u8::MAX; len]),
            WidthBits::U16 => Self::U16(vec![u16::MAX; len]),
            WidthBits::U32 => Self::U32(vec![u32::MAX; len]),
        }
    }

    pub(crate) fn len(&self) -> usize {
        each_width!(self, values => values.len())
    }

    /// Returns whether the answers have this width.
    pub(crate) fn is_of(&self, width: WidthBits) -> bool {
        let own = match self {
            Self::U8(_) => WidthBits::U8,
            Self::U16(_) => WidthBits::U16,
            Self::U32(_) => WidthBits::U32,
        };
        own == width
    }

    /// Overwrites what an engine wrote before, so that an answer that it fails to write cannot look
    /// right.
    pub(crate) fn poison(&mut self) {
        each_width!(self, values => values.fill(!0));
    }

    pub(crate) fn first(&mut self, count: usize) -> NextHopSlice<'_> {
        each_width!(self, values => (&mut values[..count]).into())
    }

    pub(crate) fn get(&self, index: usize) -> NextHop {
        each_width!(self, values => values[index].widen())
    }

    /// Returns whether the first answers are these: the fast path of comparing millions.
    pub(crate) fn begin_with(&self, expected: &[u32]) -> bool {
        fn differences<W: Width>(values: &[W], expected: &[u32]) -> u32 {
            values.iter().zip(expected).fold(0, |all, (value, &expected)| all | (value.widen().0 ^ expected))
        }
        self.len() >= expected.len() && each_width!(self, values => differences(values, expected)) == 0
    }

    /// Splits the array into pieces of the given lengths, which threads write at once.
    pub(crate) fn pieces(&mut self, lengths: impl Iterator<Item = usize>) -> Vec<NextHopSlice<'_>> {
        each_width!(self, values => {
            let mut rest = &mut values[..];
            lengths
                .map(|len| {
                    let (piece, after) = std::mem::take(&mut rest).split_at_mut(len);
                    rest = after;
                    piece.into()
                })
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_parts_of_one_array() {
        for width in WidthBits::ALL {
            let mut answers = Answers::new(width, 5);
            assert_eq!(answers.get(4), width.max());
            for (piece, value) in answers.pieces([2, 3].into_iter()).into_iter().zip([7, 9]) {
                match piece {
                    NextHopSlice::U8(piece) => piece.fill(value),
                    NextHopSlice::U16(piece) => piece.fill(value.into()),
                    NextHopSlice::U32(piece) => piece.fill(value.into()),
                }
            }
            assert!(answers.begin_with(&[7, 7, 9, 9, 9]));
            assert!(!answers.begin_with(&[7, 7, 9, 9, 8]) && !answers.begin_with(&[7, 7, 9, 9, 9, 9]));
            assert_eq!(answers.first(2).width(), width);
            answers.poison();
            assert_eq!(answers.get(0), width.max());
        }
    }
}
