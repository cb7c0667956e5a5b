//! [`Members`]: a compressed file as its streams one after the other, and what comes after the
//! last.
//!
//! gzip calls them members, zstd frames. Zeros after the last are padding, as tapes and some tools
//! leave it. Anything else is an error by itself ([`Garbage`]), which says where the content ends.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::marker::PhantomData;

/// A kind of compression.
pub(crate) trait Kind {
    /// What decompresses one stream.
    type Decoder<R: BufRead>: Read;

    /// Returns whether a stream may begin with this byte.
    fn begins(first: u8) -> bool;

    /// Begins a stream.
    fn begin<R: BufRead>(input: R) -> io::Result<Self::Decoder<R>>;

    /// Returns the input behind a stream that has ended.
    fn end<R: BufRead>(decoder: Self::Decoder<R>) -> R;
}

/// gzip (RFC 1952).
pub(crate) struct Gzip;

impl Kind for Gzip {
    type Decoder<R: BufRead> = flate2::bufread::GzDecoder<R>;

    fn begins(first: u8) -> bool {
        first == 0x1F
    }

    fn begin<R: BufRead>(input: R) -> io::Result<Self::Decoder<R>> {
        Ok(flate2::bufread::GzDecoder::new(input))
    }

    fn end<R: BufRead>(decoder: Self::Decoder<R>) -> R {
        decoder.into_inner()
    }
}

/// bzip2.
pub(crate) struct Bzip2;

impl Kind for Bzip2 {
    type Decoder<R: BufRead> = bzip2::bufread::BzDecoder<R>;

    fn begins(first: u8) -> bool {
        first == b'B'
    }

    fn begin<R: BufRead>(input: R) -> io::Result<Self::Decoder<R>> {
        Ok(bzip2::bufread::BzDecoder::new(input))
    }

    fn end<R: BufRead>(decoder: Self::Decoder<R>) -> R {
        decoder.into_inner()
    }
}

/// Zstandard (RFC 8878), with skippable frames.
pub(crate) struct Zstd;

impl Kind for Zstd {
    type Decoder<R: BufRead> = zstd::stream::read::Decoder<'static, R>;

    fn begins(first: u8) -> bool {
        first == 0x28 || first & 0xF0 == 0x50
    }

    fn begin<R: BufRead>(input: R) -> io::Result<Self::Decoder<R>> {
        Ok(zstd::stream::read::Decoder::with_buffer(input)?.single_frame())
    }

    fn end<R: BufRead>(decoder: Self::Decoder<R>) -> R {
        decoder.finish()
    }
}

/// The error of bytes after the last stream. Its place is where the input is now.
#[derive(Debug)]
pub(crate) struct Garbage;

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes that are neither zeros nor another stream after the end")
    }
}

impl std::error::Error for Garbage {}

/// The content of all streams.
pub(crate) struct Members<K: Kind, R: BufRead> {
    /// `None` after the end.
    decoder: Option<K::Decoder<R>>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind, R: BufRead> Members<K, R> {
    pub(crate) fn new(input: R) -> io::Result<Self> {
        Ok(Self { decoder: Some(K::begin(input)?), kind: PhantomData })
    }
}

impl<K: Kind, R: BufRead> Read for Members<K, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let input = self.decoder.take().map(K::end);
            self.decoder = input.map(next::<K, R>).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Begins the next stream, if there is one.
fn next<K: Kind, R: BufRead>(mut input: R) -> io::Result<Option<K::Decoder<R>>> {
    let mut is_padded = false;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let Some(&first) = bytes.first() else { return Ok(None) };
        let zeros = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
        if zeros > 0 {
            is_padded = true;
            input.consume(zeros);
        } else if is_padded || !K::begins(first) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, Garbage));
        } else {
            return K::begin(input).map(Some);
        }
    }
}
