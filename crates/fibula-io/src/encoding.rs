//! [`Encoding`]: text that is not UTF-8.

use fibula::{Error, ErrorKind};
use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// The encoding of a text, by the names of the [Encoding Standard]: `utf-8`, `latin-1` (which is
/// `windows-1252`, as everywhere on the web), `utf-16le`, `shift_jis`.
///
/// UTF-16 that begins with a byte order mark is recognised and needs no name.
///
/// [Encoding Standard]: https://encoding.spec.whatwg.org/#names-and-labels
///
/// ```
/// use fibula_io::table::{ReadOptions, parse};
/// let options = ReadOptions { encoding: Some("latin-1".parse()?), ..Default::default() };
/// let loaded = parse(b"prefix,city\n192.0.2.0/24,Z\xFCrich\n", &options).unwrap();
/// assert_eq!(loaded.tables.next_hops.iter().next().unwrap().1.to_string(), "Zürich");
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let label = if name.eq_ignore_ascii_case("latin-1") { "latin1" } else { name };
        let what = || format!("no encoding {name:?}, expected one such as utf-8, latin-1, utf-16le");
        let found = encoding_rs::Encoding::for_label(label.as_bytes()).map(Self);
        found.ok_or_else(|| Error::new(ErrorKind::Name, what()))
    }
}

/// The error of bytes that are no text in the encoding. Its place is where the input is now.
#[derive(Debug)]
pub(crate) struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bytes are no text in {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// What a stream is in UTF-8. Without a name it is what it was, unless it begins with a mark of
/// UTF-16.
pub(crate) struct Decoded<R> {
    input: R,
    named: Option<Encoding>,
    state: State,
    /// What was decoded, and how much of it was given out.
    text: Vec<u8>,
    given: usize,
}

enum State {
    /// Nothing was read yet.
    Begin,
    /// The bytes are passed on.
    Plain,
    Text {
        decoder: Box<encoding_rs::Decoder>,
        has_ended: bool,
    },
}

/// The bytes that are decoded at once.
const READ_BYTES: u64 = 64 << 10;

impl<R: Read> Decoded<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, named: None, state: State::Begin, text: Vec::new(), given: 0 }
    }

    /// Names the encoding, before anything is read.
    pub(crate) fn name(&mut self, encoding: Option<Encoding>) {
        self.named = encoding;
    }

    /// Reads and decodes what comes next.
    fn fill(&mut self) -> io::Result<()> {
        const MARK_BYTES: u64 = 2;
        let mut bytes = Vec::new();
        if matches!(self.state, State::Begin) {
            self.input.by_ref().take(MARK_BYTES).read_to_end(&mut bytes)?;
            let marked = match bytes[..] {
                [0xFF, 0xFE] => Some(encoding_rs::UTF_16LE),
                [0xFE, 0xFF] => Some(encoding_rs::UTF_16BE),
                _ => None,
            };
            let encoding = marked.or(self.named.map(|Encoding(named)| named));
            let Some(encoding) = encoding.filter(|&encoding| encoding != encoding_rs::UTF_8) else {
                self.state = State::Plain;
                self.text = bytes;
                return Ok(());
            };
            let decoder = Box::new(encoding.new_decoder_with_bom_removal());
            self.state = State::Text { decoder, has_ended: false };
        }
        let State::Text { decoder, has_ended } = &mut self.state else { return Ok(()) };
        *has_ended = self.input.by_ref().take(READ_BYTES).read_to_end(&mut bytes)? == 0;
        let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
        self.text.resize(room.unwrap_or_default(), 0);
        let (result, _, written) =
            decoder.decode_to_utf8_without_replacement(&bytes, &mut self.text, *has_ended);
        self.text.truncate(written);
        match result {
            encoding_rs::DecoderResult::InputEmpty => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, Malformed(decoder.encoding().name()))),
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            match self.state {
                State::Plain => return self.input.read(buffer),
                State::Text { has_ended: true, .. } => return Ok(0),
                _ => {}
            }
            self.given = 0;
            self.text.clear();
            self.fill()?;
        }
        let rest = &self.text[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], name: Option<&str>) -> Result<String, String> {
        let mut decoded = Decoded::new(bytes);
        decoded.name(name.map(|name| name.parse().unwrap()));
        let mut text = Vec::new();
        decoded.read_to_end(&mut text).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(text).unwrap())
    }

    fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(order).collect()
    }

    #[test]
    fn texts_are_decoded() {
        let long = "prefix,city\n10.0.0.0/8,Zürich 東京 🗼\n".repeat(9000);
        for text in ["", "a", &long] {
            assert_eq!(read(text.as_bytes(), None).as_deref(), Ok(text));
            assert_eq!(read(text.as_bytes(), Some("utf-8")).as_deref(), Ok(text));
            assert_eq!(read(&utf16(text, u16::to_le_bytes), None).as_deref(), Ok(text));
            assert_eq!(read(&utf16(text, u16::to_be_bytes), None).as_deref(), Ok(text));
        }
        assert_eq!(read(b"Z\xFCrich \x80", Some("Latin-1")).as_deref(), Ok("Zürich €"));
        assert_eq!(read(&utf16("é", u16::to_le_bytes)[2..], Some("utf-16")).as_deref(), Ok("é"));
    }

    #[test]
    fn what_is_no_text_is_an_error() {
        let odd = &utf16("ab", u16::to_le_bytes)[..5];
        assert_eq!(read(odd, None).unwrap_err(), "the bytes are no text in UTF-16LE");
        let surrogate = [0xFF, 0xFE, 0x00, 0xD8, 0x61, 0x00];
        assert!(read(&surrogate, None).is_err());
        assert_eq!(
            "latin".parse::<Encoding>().unwrap_err().to_string(),
            "no encoding \"latin\", expected one such as utf-8, latin-1, utf-16le"
        );
    }
}
