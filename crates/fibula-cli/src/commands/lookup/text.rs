//! [`Style`] and [`Texts`]: the text of each route, written once and copied for every address that
//! it answers.

use super::answer::Text;
use super::compiled::Compiled;
use crate::output::{Format, record};
use fibula::{Address, NextHop, NextHops};
use serde::Serialize;

/// The form of a stream's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `prefix<TAB>next hop`, in the order of the addresses; `-` for both where no route matches,
    /// `?` for both where the line is no address.
    Plain,
    /// One JSON object a line.
    JsonLine,
    /// Comma-separated values with a header line.
    Csv,
}

/// A row without its address.
#[derive(Serialize)]
struct Tail {
    prefix: Option<String>,
    next_hop: Option<Text>,
}

impl Style {
    /// Returns the style of a format, if it can be written before the last answer is known.
    pub(super) fn of(format: Option<Format>) -> Option<Self> {
        match format {
            None => Some(Self::Plain),
            Some(Format::JsonLine) => Some(Self::JsonLine),
            Some(Format::Csv) => Some(Self::Csv),
            Some(Format::Json | Format::Table) => None,
        }
    }

    /// Returns the text before the first answer.
    pub(super) fn header(self) -> &'static [u8] {
        match self {
            Self::Csv => b"address,prefix,next_hop\n",
            Self::Plain | Self::JsonLine => b"",
        }
    }

    /// Returns the text before each address; `None` if answers come without it.
    pub(super) fn before_address(self) -> Option<&'static [u8]> {
        match self {
            Self::Plain => None,
            Self::JsonLine => Some(br#"{"address":""#),
            Self::Csv => Some(b""),
        }
    }

    /// Returns the text for a line that is no address.
    pub(super) fn bad(self) -> &'static [u8] {
        match self {
            Self::Plain => b"?\t?\n",
            Self::JsonLine | Self::Csv => b"",
        }
    }

    /// Writes the text after the address.
    fn write(self, tail: Tail, text: &mut Vec<u8>) {
        match self {
            Self::Plain => {
                let next_hop =
                    tail.next_hop.map_or_else(|| "-".into(), |Text(next_hop)| next_hop.to_string());
                let prefix = tail.prefix.as_deref().unwrap_or("-");
                text.extend_from_slice(format!("{prefix}\t{next_hop}\n").as_bytes());
            }
            Self::JsonLine => {
                let object = serde_json::to_vec(&tail).expect("strings always serialise");
                text.extend_from_slice(b"\",");
                text.extend_from_slice(&object[1..]); // all but its opening brace
                text.push(b'\n');
            }
            Self::Csv => {
                text.push(b',');
                let next_hop = tail.next_hop.map(|Text(next_hop)| next_hop.to_string());
                let fields = [tail.prefix, next_hop].into_iter().map(Option::unwrap_or_default);
                record(text, fields).expect("memory can be written");
            }
        }
    }
}

/// The texts of a table's routes, each written when it is first needed. Every thread has its own.
#[derive(Debug)]
pub(super) struct Texts {
    /// The begin and end in `bytes` of each index's text, "no route" first. They are equal while
    /// the text is not written. An index past the end has the text of "no route".
    bounds: Vec<(usize, usize)>,
    bytes: Vec<u8>,
}

impl Texts {
    /// No text is written yet, for a table of `routes` routes.
    pub(super) fn new(routes: usize) -> Self {
        Self { bounds: vec![(0, 0); routes + 1], bytes: Vec::new() }
    }

    /// Returns the text of an answer of [`Compiled::places`].
    #[inline]
    pub(super) fn of<A: Address>(
        &mut self,
        place: NextHop,
        table: &Compiled<A>,
        next_hops: &NextHops,
        style: Style,
    ) -> &[u8] {
        let place = if (place.0 as usize) < self.bounds.len() { place } else { NextHop::NONE };
        let (mut start, mut end) = self.bounds[place.0 as usize];
        if start == end {
            start = self.bytes.len();
            let (prefix, next_hop) = table.answer(place);
            let prefix = prefix.map(|prefix| prefix.to_string());
            let next_hop = next_hops.get(next_hop).cloned().map(Text);
            style.write(Tail { prefix, next_hop }, &mut self.bytes);
            end = self.bytes.len();
            self.bounds[place.0 as usize] = (start, end);
        }
        &self.bytes[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHopInfo;

    #[test]
    fn fields_with_the_formats_own_signs_are_escaped() {
        let written = |style: Style| {
            let mut text = Vec::new();
            let next_hop = Some(Text(NextHopInfo::parse("a,\"b\"")));
            let tail = Tail { prefix: Some("::/0".into()), next_hop };
            style.write(tail, &mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(written(Style::Plain), "::/0\ta,\"b\"\n");
        assert_eq!(written(Style::JsonLine), "\",\"prefix\":\"::/0\",\"next_hop\":\"a,\\\"b\\\"\"}\n");
        assert_eq!(written(Style::Csv), ",::/0,\"a,\"\"b\"\"\"\n");
    }
}
