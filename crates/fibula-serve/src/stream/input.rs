//! [`Input`]: the addresses of a body of text, NDJSON or JSON, some bytes at a time.

use super::asked::Asked;
use crate::media::Media;
use crate::refusal::Refusal;
use fibula_page::{NO_ADDRESS, shortened};
use memchr::{memchr, memchr2};
use serde_json::Value;

/// The most bytes of a line, or of an element of an array.
const LONGEST: usize = 64 << 10;

/// What programs of Windows begin a text with: the byte order mark in UTF-8, which says nothing.
const MARK: &[u8] = "\u{FEFF}".as_bytes();

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    /// Before its bracket.
    Before,
    /// Before its first element, or its end.
    First,
    /// Before an element.
    Element,
    /// Before a comma, or its end.
    Comma,
    /// After its end.
    After,
}

/// Reads a body.
#[derive(Debug)]
pub(super) struct Input {
    media: Media,
    array: Array,
    /// Whether the first bytes have come, which may be a byte order mark.
    is_begun: bool,
    /// The number of the next line or element, from 1.
    number: u64,
}

/// What an element of JSON is to be.
const ELEMENT: &str = r#"expected "ADDRESS" or {"addr": "ADDRESS"}"#;

impl Input {
    /// Reads text, NDJSON or JSON.
    pub(super) fn new(media: Media) -> Self {
        Self { media, array: Array::Before, is_begun: false, number: 1 }
    }

    /// Reads the elements that are whole in a block; all, if nothing comes after it. Returns the
    /// number of bytes that were read.
    pub(super) fn read(&mut self, block: &[u8], is_last: bool, asked: &mut Asked) -> Result<usize, Refusal> {
        if !self.is_begun {
            if MARK.starts_with(block) && block.len() < MARK.len() && !is_last {
                return Ok(0);
            }
            self.is_begun = true;
            if let Some(rest) = block.strip_prefix(MARK) {
                return self.read(rest, is_last, asked).map(|read| MARK.len() + read);
            }
        }
        let read = if self.media == Media::Json {
            self.elements(block, is_last, asked)?
        } else {
            self.lines(block, is_last, asked)?
        };
        if block.len() - read > LONGEST {
            return Err(self.refuse(format_args!("longer than {LONGEST} bytes")));
        }
        Ok(read)
    }

    fn refuse(&self, what: impl std::fmt::Display) -> Refusal {
        let place = if self.media == Media::Json { "element" } else { "line" };
        Refusal::bad(format_args!("{place} {}: {what}", self.number))
    }

    fn no_address(&self, text: &[u8]) -> Refusal {
        self.refuse(format_args!("{:?}: {NO_ADDRESS}", shortened(&String::from_utf8_lossy(text))))
    }

    fn lines(&mut self, block: &[u8], is_last: bool, asked: &mut Asked) -> Result<usize, Refusal> {
        let mut start = 0;
        while start < block.len() {
            let (len, next) = match memchr(b'\n', &block[start..]) {
                Some(len) => (len, start + len + 1),
                None if is_last => (block.len() - start, block.len()),
                None => break,
            };
            let line = &block[start..start + len];
            if self.media == Media::Ndjson {
                self.json(block, line, asked)?;
            } else {
                let line = line.trim_ascii();
                let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
                let field = &line[..end];
                if !field.is_empty() && field[0] != b'#' && !push(block, field, asked) {
                    return Err(self.no_address(field));
                }
            }
            self.number += 1;
            start = next;
        }
        Ok(start)
    }

    /// Reads a value of JSON; white space is none.
    #[inline]
    fn json(&self, block: &[u8], value: &[u8], asked: &mut Asked) -> Result<(), Refusal> {
        let value = value.trim_ascii();
        if value.is_empty() {
            return Ok(());
        }
        let object = value.strip_prefix(b"{\"addr\":").and_then(|rest| rest.strip_suffix(b"}"));
        let string = object.unwrap_or(value).trim_ascii();
        let inner = string.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        if let Some(inner) = inner.filter(|inner| memchr2(b'"', b'\\', inner).is_none()) {
            return if push(block, inner, asked) { Ok(()) } else { Err(self.no_address(inner)) };
        }
        let text = match serde_json::from_slice(value).map_err(|error| self.refuse(error))? {
            Value::Null => {
                asked.push_null();
                return Ok(());
            }
            Value::String(text) => text,
            Value::Object(mut fields) => match fields.remove("addr").or_else(|| fields.remove("address")) {
                Some(Value::String(text)) => text,
                Some(Value::Null) => {
                    asked.push_null();
                    return Ok(());
                }
                _ => return Err(self.refuse(ELEMENT)),
            },
            _ => return Err(self.refuse(ELEMENT)),
        };
        if asked.push_aside(&text) { Ok(()) } else { Err(self.no_address(text.as_bytes())) }
    }

    fn elements(&mut self, block: &[u8], is_last: bool, asked: &mut Asked) -> Result<usize, Refusal> {
        let mut at = 0;
        loop {
            at += block[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let Some(&byte) = block.get(at) else { break };
            match (self.array, byte) {
                (Array::Before, b'[') => self.array = Array::First,
                (Array::First | Array::Comma, b']') => self.array = Array::After,
                (Array::Comma, b',') => {
                    self.array = Array::Element;
                    self.number += 1;
                }
                (Array::First | Array::Element, _) => {
                    let Some(len) = element(&block[at..]) else { break };
                    if len == 0 {
                        return Err(self.refuse(ELEMENT));
                    }
                    self.json(block, &block[at..at + len], asked)?;
                    self.array = Array::Comma;
                    at += len;
                    continue;
                }
                (Array::Before, _) => return Err(self.refuse("expected an array, which begins with [")),
                (Array::Comma, _) => return Err(self.refuse("expected , or ] after it")),
                (Array::After, _) => return Err(self.refuse("expected nothing after the array")),
            }
            at += 1;
        }
        if is_last && self.array != Array::After {
            return Err(self.refuse("the array ends early"));
        }
        Ok(at)
    }
}

/// Adds a part of a block.
#[inline]
fn push(block: &[u8], part: &[u8], asked: &mut Asked) -> bool {
    let start = part.as_ptr() as usize - block.as_ptr() as usize;
    asked.push(block, start, part.len())
}

/// Returns the length of the element that a text begins with; `None` if its end is not there.
fn element(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        match text.get(at)? {
            b'"' => at += 1 + string(&text[at + 1..])?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b',' | b']' | b'}' if depth == 0 => return Some(at),
            _ => {}
        }
        at += 1;
        if depth == 0 && matches!(text[at - 1], b'"' | b'}' | b']') {
            return Some(at);
        }
    }
}

/// Returns the place of the quote that ends a string.
fn string(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', &text[at..])?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
        if at > text.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body in parts of some bytes, as a client may send it. Returns the number of rows, or
    /// what is wrong.
    fn read(media: Media, body: &[u8], part: usize) -> Result<usize, String> {
        let (mut input, mut asked) = (Input::new(media), Asked::default());
        let mut block = Vec::new();
        let mut parts = body.chunks(part).peekable();
        let mut rows = 0;
        loop {
            let next = parts.next();
            block.extend_from_slice(next.unwrap_or_default());
            let read = input.read(&block, next.is_none(), &mut asked).map_err(|refusal| refusal.what)?;
            block.drain(..read);
            rows += asked.len();
            asked.clear();
            if next.is_none() {
                return Ok(rows);
            }
        }
    }

    #[test]
    fn a_body_is_the_same_however_it_is_cut() {
        for (media, body, expected) in [
            (Media::Text, "192.0.2.1\n\n# none\n 2001:db8::1 rest\r\n10.0.0.0/8", Ok(3)),
            (Media::Text, "", Ok(0)),
            (Media::Text, "\u{FEFF}192.0.2.1\n::1\n", Ok(2)),
            (Media::Text, "\u{FEFF}", Ok(0)),
            (Media::Text, "\u{FEFF}\u{FEFF}::1\n", Err("line 1: ")),
            (Media::Json, "\u{FEFF}[\"::1\"]", Ok(1)),
            (Media::Ndjson, "\u{FEFF}\"::1\"\n", Ok(1)),
            (Media::Text, "192.0.2.1\n192.0.2\n", Err("line 2: \"192.0.2\": ")),
            (
                Media::Ndjson,
                "\"192.0.2.1\"\n{\"addr\":\"::1\"}\nnull\n\n{\"x\":[1],\"address\" : \"10.0.0.0\\/8\"}",
                Ok(4),
            ),
            (Media::Ndjson, "\"192.0.2.1\"\n{\"adr\":\"::1\"}\n", Err("line 2: expected \"ADDRESS\"")),
            (Media::Ndjson, "7\n", Err("line 1: expected \"ADDRESS\"")),
            (Media::Ndjson, "{\"addr\":\n", Err("line 1: EOF")),
            (Media::Json, " [ ]\n", Ok(0)),
            (Media::Json, "[\"192.0.2.1\", {\"addr\": \"::1\"},null , \"10.0.0.0\\/8\"]\n", Ok(4)),
            (Media::Json, "", Err("element 1: the array ends early")),
            (Media::Json, "[\"192.0.2.1\"", Err("element 1: the array ends early")),
            (Media::Json, "[\"192.0.2.1\",", Err("element 2: the array ends early")),
            (Media::Json, "[\"192.0.2.1\",\"x\"]", Err("element 2: \"x\": ")),
            (Media::Json, "[\"192.0.2.1\" \"x\"]", Err("element 1: expected , or ]")),
            (Media::Json, "[,]", Err("element 1: ")),
            (Media::Json, "{}", Err("element 1: expected an array")),
            (Media::Json, "[] []", Err("element 1: expected nothing")),
            (Media::Json, "[[\"192.0.2.1\"]]", Err("element 1: expected \"ADDRESS\"")),
            (Media::Json, "[12]", Err("element 1: expected \"ADDRESS\"")),
        ] {
            for part in 1..=body.len().max(1) {
                let found = read(media, body.as_bytes(), part);
                match (&found, expected) {
                    (Ok(rows), Ok(expected)) => assert_eq!(*rows, expected, "{body:?} by {part}"),
                    (Err(what), Err(expected)) if what.starts_with(expected) => {}
                    _ => panic!("{body:?} by {part}: {found:?} and not {expected:?}"),
                }
            }
        }
    }

    #[test]
    fn what_does_not_end_is_refused() {
        for (media, begin) in [(Media::Text, ""), (Media::Ndjson, "\""), (Media::Json, "[\"")] {
            let body = format!("{begin}{}", "1".repeat(3 * LONGEST));
            let what = read(media, body.as_bytes(), 1 << 10).unwrap_err();
            assert!(what.ends_with("1: longer than 65536 bytes"), "{what}");
        }
    }
}
