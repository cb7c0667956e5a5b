//! [`AsPath`]: the ASes that a route came through, and the one where it began.

use super::Origin;
use crate::scan::quoted;
use bgpkit_parser::models::{self, AsPathSegment, Asn};
use std::sync::Arc;

/// An AS path (RFC 4271 section 4.3) without its confederations (RFC 5065), which are not counted
/// and not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AsPath {
    /// The nearest AS first.
    pub elements: Vec<Element>,
    /// Whether a confederation is its last segment.
    pub ends_in_confederation: bool,
}

/// An element of an AS path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// An AS.
    As(u32),
    /// A set of ASes, in rising order, each once.
    Set(Arc<[u32]>),
}

impl Element {
    /// Returns a set, whose order in the message means nothing.
    #[must_use]
    pub fn set(numbers: impl IntoIterator<Item = u32>) -> Self {
        Self::Set(set(numbers))
    }

    /// Returns the AS numbers that it has.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        match self {
            Self::As(number) => std::slice::from_ref(number),
            Self::Set(numbers) => numbers,
        }
    }
}

/// Returns AS numbers in rising order, each once.
fn set(numbers: impl IntoIterator<Item = u32>) -> Arc<[u32]> {
    let mut numbers: Vec<u32> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into()
}

/// Returns the origin of a path and the AS that sent it, as [`AsPath::origin`] and
/// [`AsPath::neighbour`], without a path made for each of millions of routes.
pub(super) fn ends(segments: &[AsPathSegment]) -> (Origin, u32) {
    let mut segments = segments.iter().filter(|segment| !segment.is_empty());
    let neighbour = match segments.clone().find(|segment| !segment.is_confed()) {
        Some(AsPathSegment::AsSequence(sequence)) => sequence.first().map_or(0, Asn::to_u32),
        _ => 0,
    };
    let origin = match segments.next_back() {
        Some(AsPathSegment::AsSequence(sequence)) => {
            sequence.last().map_or(Origin::Local, |number| Origin::As(number.to_u32()))
        }
        Some(AsPathSegment::AsSet(numbers)) => Origin::Set(set(numbers.iter().map(Asn::to_u32))),
        _ => Origin::Local,
    };
    (origin, neighbour)
}

/// Returns a path without the AS that it begins with, if that is the sender's.
pub(super) fn without_sender(path: &models::AsPath, sender: u32) -> Option<models::AsPath> {
    let (first, rest) = path.segments.split_first()?;
    let AsPathSegment::AsSequence(numbers) = first else { return None };
    let (front, behind) = numbers.split_first()?;
    if front.to_u32() != sender {
        return None;
    }
    let behind = (!behind.is_empty()).then(|| AsPathSegment::AsSequence(behind.into()));
    let segments: Vec<AsPathSegment> = behind.into_iter().chain(rest.iter().cloned()).collect();
    Some(models::AsPath::from_segments(segments))
}

impl AsPath {
    /// Returns the path of a message.
    pub(super) fn of(segments: &[AsPathSegment]) -> Self {
        let segments = segments.iter().filter(|segment| !segment.is_empty());
        let ends_in_confederation = segments.clone().next_back().is_some_and(AsPathSegment::is_confed);
        let elements = segments.flat_map(|segment| match segment {
            AsPathSegment::AsSequence(sequence) => {
                sequence.iter().map(|number| Element::As(number.to_u32())).collect()
            }
            AsPathSegment::AsSet(numbers) => vec![Element::set(numbers.iter().map(Asn::to_u32))],
            _ => Vec::new(),
        });
        Self { elements: elements.collect(), ends_in_confederation }
    }

    /// Reads a path as `bgpdump` and routers write it: `64500 64501 {64502,64503} (65001)`.
    ///
    /// # Errors
    /// If a word is no AS number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut path, mut depth) = (Self::default(), 0_i32);
        for word in text.split_ascii_whitespace() {
            let opens = word.starts_with(['(', '[']);
            depth += i32::from(opens);
            let closes = word.ends_with([')', ']']);
            path.ends_in_confederation = depth > 0;
            if depth == 0 {
                path.elements.push(match word.strip_prefix('{').and_then(|set| set.strip_suffix('}')) {
                    None => Element::As(as_number(word)?),
                    Some(set) => Element::set(set.split(',').map(as_number).collect::<Result<Vec<_>, _>>()?),
                });
            }
            depth -= i32::from(closes);
        }
        Ok(path)
    }

    /// Returns where the route began (RFC 6811 section 2): a path that is empty or ends in a
    /// confederation began in the AS of whoever sent it.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match self.elements.last() {
            Some(Element::As(number)) if !self.ends_in_confederation => Origin::As(*number),
            Some(Element::Set(set)) if !self.ends_in_confederation => Origin::Set(Arc::clone(set)),
            _ => Origin::Local,
        }
    }

    /// Returns the length as route selection counts it: a set is 1.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.elements.len() as u32
    }

    /// Returns the AS that sent it, 0 if it begins with none.
    #[must_use]
    pub fn neighbour(&self) -> u32 {
        match self.elements.first() {
            Some(Element::As(number)) => *number,
            _ => 0,
        }
    }
}

/// Returns the number of an ORIGIN by its name in any case: `IGP`, `EGP`, and else incomplete.
pub(crate) fn origin_code(name: &str) -> u8 {
    match name.to_ascii_uppercase().as_str() {
        "IGP" => 0,
        "EGP" => 1,
        _ => 2,
    }
}

/// Reads an AS number: `64500`, `AS64500`, or as two halves, `0.64500` (RFC 5396).
///
/// # Errors
/// If it is none.
pub fn as_number(text: &str) -> Result<u32, String> {
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let half = |text: &str| Some(u32::from(Some(text).filter(is_number)?.parse::<u16>().ok()?));
    let digits = match text.split_at_checked(2) {
        Some((head, rest)) if head.eq_ignore_ascii_case("AS") => rest,
        _ => text,
    };
    let number = match digits.split_once('.') {
        Some((high, low)) => half(high).zip(half(low)).map(|(high, low)| high << 16 | low),
        None => Some(digits).filter(is_number).and_then(|digits| digits.parse().ok()),
    };
    number.ok_or_else(|| format!("{} is no AS number", quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_the_end_of_the_last_segment() {
        let of = |text: &str| AsPath::parse(text).unwrap().origin();
        assert_eq!(of(""), Origin::Local);
        assert_eq!(of("64500 64501"), Origin::As(64_501));
        assert_eq!(of("64500 {64502,64501,64502}"), Origin::Set([64_501, 64_502].into()));
        // A set has no origin, also of one AS.
        assert_eq!(of("64500 {64501}"), Origin::Set([64_501].into()));
        for path in ["64500 64501 (65001)", "64500 64501 (65001 65002)", "64501 [65001]", "(65001)"] {
            assert_eq!(of(path), Origin::Local, "{path}");
        }
        assert_eq!(of("(65001 65002) 64500"), Origin::As(64_500));
    }

    #[test]
    fn the_length_is_that_of_route_selection() {
        let of = |text: &str| AsPath::parse(text).map(|path| (path.length(), path.neighbour())).unwrap();
        assert_eq!(of("(65001 65002) 64500 64500 {64501,64502}"), (3, 64_500));
        assert_eq!(of("{64501,64502}"), (1, 0));
    }

    #[test]
    fn as_numbers_are_read_in_each_notation() {
        for text in ["64500", "AS64500", "as64500", "0.64500", "AS0.64500"] {
            assert_eq!(as_number(text), Ok(64_500));
        }
        assert_eq!(as_number("1.1"), Ok(65_537));
        for text in ["", "AS", "x", "+1", "1.", ".1", "1.65536", "4294967296", "1.2.3"] {
            assert!(as_number(text).unwrap_err().ends_with(" is no AS number"), "{text}");
        }
    }
}
