//! The tokenizer of routers' text, and the phrases that a layout's grammar is made of.
//!
//! A token is a word, a comma, a text in double quotes, or a group: everything between a bracket
//! that begins a word and the one that closes it, groups within included. A phrase is a text such
//! as `via ADDR, NAME (vrf_NAME)`. Each of its parts matches one token:
//!
//! | part | token |
//! | --- | --- |
//! | `ADDR` | an address, also with a zone (`%eth0`) |
//! | `PREFIX`, `NUM`, `AGE` | a prefix, a number, a time |
//! | `NAME` | a word that is none of these |
//! | `ANY` | any word |
//! | `[D]` | a group of digits and `/`: a distance and a metric |
//! | `(..)`, `{..}` | a group, whatever it holds |
//! | `(recursive_via_ADDR)` | a group, whose words match the parts that `_` joins |
//! | `...` | the rest of the line |
//! | anything else | itself |
//!
//! Text around such a name in capitals is itself: `VRF=NAME`, `NUM:`.

use crate::scan;
use fibula::IpPrefix;
use std::net::IpAddr;

/// A line that is read token by token.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Words<'l> {
    rest: &'l str,
}

impl<'l> Words<'l> {
    pub(in super::super) fn new(line: &'l str) -> Self {
        Self { rest: line.trim() }
    }

    /// Returns what has not been read.
    pub(in super::super) fn rest(&self) -> &'l str {
        self.rest
    }

    /// Returns the next token without reading it.
    pub(in super::super) fn peek(&self) -> Option<&'l str> {
        self.clone().next()
    }

    /// Matches a phrase. Reads it if it matches, and returns what its names stand for.
    pub(in super::super) fn phrase(&mut self, phrase: &str) -> Option<Caught<'l>> {
        let (mut words, mut caught) = (*self, Caught::default());
        for part in phrase.split(' ') {
            if part == "..." {
                words.rest = "";
                break;
            }
            // Most phrases fail here, before a token is cut off.
            let literal =
                part.find(|c: char| c.is_ascii_uppercase() || "([{".contains(c)).unwrap_or(part.len());
            if !words.rest.starts_with(&part[..literal]) {
                return None;
            }
            caught.part(part, words.next()?)?;
        }
        *self = words;
        Some(caught)
    }

    /// Returns whether a phrase may match, by its first letter, or the one after a comma.
    #[inline]
    pub(in super::super) fn may_begin(&self, phrase: &str) -> bool {
        let is_same = |of_phrase: Option<&u8>, of_line: Option<&u8>| {
            of_phrase.is_none_or(|byte| byte.is_ascii_uppercase() || of_line == Some(byte))
        };
        let (phrase, line) = (phrase.as_bytes(), self.rest.as_bytes());
        let after = || line[1..].iter().find(|byte| **byte != b' ');
        is_same(phrase.first(), line.first()) && (phrase[0] != b',' || is_same(phrase.get(2), after()))
    }

    /// Matches a phrase against all that is left.
    pub(in super::super) fn whole(mut self, phrase: &str) -> Option<Caught<'l>> {
        let caught = self.phrase(phrase)?;
        self.rest().is_empty().then_some(caught)
    }
}

#[allow(clippy::copy_iterator, reason = "phrases are tried on a copy of the line")]
impl<'l> Iterator for Words<'l> {
    type Item = &'l str;

    fn next(&mut self) -> Option<&'l str> {
        let first = *self.rest.as_bytes().first()?;
        let end = match first {
            b',' => 1,
            b'"' => self.rest[1..].find('"').map_or_else(|| word(self.rest), |end| end + 2),
            b'[' | b'(' | b'{' => group(self.rest).unwrap_or_else(|| word(self.rest)),
            _ => word(self.rest),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        Some(token)
    }
}

/// Returns the length of the word that a text begins with.
fn word(text: &str) -> usize {
    text.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(text.len())
}

/// Returns the length of the group that a text begins with; `None` if it does not end.
fn group(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// What the names in a phrase stand for. Of several of one kind the first counts.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Caught<'l> {
    pub(in super::super) address: Option<IpAddr>,
    pub(in super::super) prefix: Option<&'l str>,
    pub(in super::super) name: Option<&'l str>,
    pub(in super::super) number: Option<u64>,
}

impl<'l> Caught<'l> {
    /// Matches one part of a phrase with a token.
    fn part(&mut self, part: &str, token: &'l str) -> Option<()> {
        match part {
            "[D]" => {
                let inner = token.strip_prefix('[')?.strip_suffix(']')?;
                return inner.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/').then_some(());
            }
            "(..)" => return token.starts_with('(').then_some(()),
            "{..}" => return token.starts_with('{').then_some(()),
            _ => {}
        }
        if part.starts_with(['(', '[']) && part.len() > 1 && token.len() > 1 {
            let inner = |text: &str| (text.as_bytes()[0], text.len() - 1);
            let ((open, part_end), (other, token_end)) = (inner(part), inner(token));
            if open != other || !token.is_char_boundary(token_end) {
                return None;
            }
            let mut words = Words::new(&token[1..token_end]);
            part[1..part_end].split('_').try_for_each(|part| self.part(part, words.next()?))?;
            return words.rest().is_empty().then_some(());
        }
        let Some((name, at)) = name_in(part) else { return (part == token).then_some(()) };
        let text = token.strip_prefix(&part[..at])?.strip_suffix(&part[at + name.len()..])?;
        match name {
            "ADDR" => _ = self.address.get_or_insert(address(text)?),
            "PREFIX" if is_prefix(text) => _ = self.prefix.get_or_insert(text),
            "NUM" => _ = self.number.get_or_insert(text.parse().ok()?),
            "AGE" if is_age(text) => {}
            "ANY" if !text.is_empty() && text != "," => {}
            "NAME" if is_name(text) => _ = self.name.get_or_insert(text.trim_matches('"')),
            _ => return None,
        }
        Some(())
    }
}

/// Returns the name in a part of a phrase, and where it begins.
fn name_in(part: &str) -> Option<(&'static str, usize)> {
    const NAMES: [&str; 6] = ["ADDR", "PREFIX", "NAME", "NUM", "AGE", "ANY"];
    // The search of `str` would take longer than all else.
    let capitals = part.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase());
    { capitals }.find_map(|(at, _)| {
        let name = NAMES.into_iter().find(|name| part.as_bytes()[at..].starts_with(name.as_bytes()))?;
        Some((name, at))
    })
}

/// Reads an address without its zone or VRF (`fe80::1%eth0`).
pub(in super::super) fn address(text: &str) -> Option<IpAddr> {
    text.split('%').next().unwrap_or(text).parse().ok()
}

/// Returns whether a word is a prefix with its length or mask.
pub(in super::super) fn is_prefix(word: &str) -> bool {
    word.contains('/') && word.contains(['.', ':']) && scan::prefix(word.as_bytes(), true).is_ok()
}

/// Returns whether a word is a time: `00:08:00`, `1d02h`, `3w4d`, `0.000000`, `never`.
fn is_age(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || "ywdhms:.".contains(c);
    word == "never"
        || word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(is_part)
            && word.contains(|c: char| !c.is_ascii_digit())
            && address(word).is_none()
}

fn is_name(word: &str) -> bool {
    let is_begin = |c: char| c.is_alphanumeric() || "_*\"<-".contains(c);
    word.starts_with(is_begin)
        && !word.bytes().all(|byte| byte.is_ascii_digit())
        && !is_age(word)
        && !is_prefix(word)
        && address(word).is_none()
}

/// Reads the prefix that a line begins with, in any of the ways routers write one: `10.0.0.0/8`,
/// `10.0.0.0 255.0.0.0`, and `10.0.0.0` whose length is `bare`'s.
pub(in super::super) fn prefix(
    words: &mut Words<'_>,
    bare: impl FnOnce(std::net::Ipv4Addr) -> Option<u8>,
    mask_host_bits: bool,
) -> Option<Result<IpPrefix, String>> {
    let (mut after, mut masked) = (*words, None);
    let word = after.next()?;
    let prefix = if word.contains('/') && word.contains(['.', ':']) {
        // A prefix length past its family's is damage, and no other kind of word.
        address(word.split('/').next()?)?;
        scan::prefix(word.as_bytes(), mask_host_bits)
    } else {
        let IpAddr::V4(address) = word.parse().ok()? else { return None };
        let mut rest = after;
        if let Some(mask) = rest.next().and_then(|mask| mask.parse::<IpAddr>().ok()) {
            masked = scan::len_of_mask(address.into(), mask).ok();
        }
        if masked.is_some() {
            after = rest;
        }
        scan::prefix_of(address, masked.or_else(|| bare(address))?, mask_host_bits)
    };
    *words = after;
    Some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_nest() {
        let tokens: Vec<&str> = Words::new(" a,b [x (y) z], PP[01] (open").collect();
        assert_eq!(tokens, ["a", ",", "b", "[x (y) z]", ",", "PP[01]", "(open"]);
        assert_eq!(Words::new("").next(), None);
    }

    #[test]
    fn phrases_match_whole_tokens() {
        let of =
            |phrase: &str, text: &str| Words::new(text).whole(phrase).map(|caught| caught.name.is_some());
        assert_eq!(of("via ADDR , NAME", "via 192.0.2.1%red, eth0"), Some(true));
        assert_eq!(of("via ADDR , NAME", "via 192.0.2.1, 1d02h"), None);
        assert_eq!(of("VRF=NAME x", "VRF=red x"), Some(true));
        assert_eq!(of("(vrf_NAME)", "(vrf red)"), Some(true));
        assert_eq!(of("(vrf_NAME)", "(vrf red blue)"), None);
        assert_eq!(of("(!)", "(!)"), Some(false));
        assert_eq!(of("weight NUM ...", "weight 7 and the rest"), Some(false));
        assert_eq!(of("(recursive)", "("), None);
    }

    #[test]
    fn prefixes_with_masks_and_without_length() {
        let of = |text: &str| {
            let mut words = Words::new(text);
            let prefix = prefix(&mut words, |_| Some(24), false)?;
            Some((prefix.ok()?.to_string(), words.rest().to_owned()))
        };
        let some = |prefix: &str, rest: &str| Some((prefix.to_owned(), rest.to_owned()));
        assert_eq!(of("10.0.0.0 255.255.0.0 [1/0]"), some("10.0.0.0/16", "[1/0]"));
        assert_eq!(of("10.0.0.0 192.0.2.1"), some("10.0.0.0/24", "192.0.2.1"));
        assert_eq!(of("2001:db8::/32 x"), some("2001:db8::/32", "x"));
        assert_eq!(of("via 10.0.0.0/8"), None);
        assert_eq!(of("1/1/28"), None);
    }
}
