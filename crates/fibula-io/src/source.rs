//! [`Source`]: where bytes come from.

use crate::encoding::{Decoded, Malformed};
use crate::members::{Bzip2, Garbage, Gzip, Members, Zstd};
use crate::{Damage, Encoding, Error, Place};
use std::fmt;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes by which the format of some content is told.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// The bytes that a read from the file fetches at most.
const BUFFER_BYTES: usize = 256 << 10;

/// The number of first bytes that tell the compression.
const MAGIC_BYTES: u64 = 6;

/// The first bytes of files that are compressed in ways that are not read.
const UNSUPPORTED: [(&[u8], &str); 5] = [
    (b"\xFD7zXZ\0", "xz"),
    (b"\x04\x22\x4D\x18", "lz4"),
    (b"\x1F\x9D", "compress (.Z)"),
    (b"PK\x03\x04", "zip"),
    (b"LZIP", "lzip"),
];

/// Returns the name of a compression that is not read, by the first bytes of a file.
fn unsupported(magic: &[u8]) -> Option<&'static str> {
    let known = UNSUPPORTED.iter().find(|(begin, _)| magic.starts_with(begin));
    // LZMA: its properties, the size of its dictionary, and a size that is mostly not known.
    let is_lzma = || magic.starts_with(&[0x5D, 0, 0]) && magic.len() > 5 && magic[5] == 0xFF;
    known.map(|(_, name)| *name).or_else(|| is_lzma().then_some("lzma"))
}

/// A file, or standard input. gz, bz2 and zst are recognised by content; several streams one after
/// the other are one content, and zeros after the last are padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input, written `-` on the command line.
    StandardInput,
    /// Bytes in memory: what [`parse`](crate::table::parse) calls its source in errors.
    Memory,
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        if text == "-" { Self::StandardInput } else { Self::File(text.into()) }
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::StandardInput } else { Self::File(path) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::StandardInput => f.write_str("standard input"),
            Self::Memory => f.write_str("memory"),
        }
    }
}

impl Source {
    /// Opens the source. The bytes read from it are decompressed; `progress` is called as they are
    /// read.
    ///
    /// # Errors
    /// If the source cannot be opened, or its first bytes cannot be read. [`Source::Memory`] cannot
    /// be opened.
    pub fn open(&self, progress: Option<Progress>) -> Result<Content, Error> {
        self.open_as(progress, false)
    }

    /// Opens the source as [`open`](Self::open) does; with `regular_only` without waiting, and
    /// refuses what is no regular file before it reads a byte.
    pub(crate) fn open_as(&self, progress: Option<Progress>, regular_only: bool) -> Result<Content, Error> {
        let failed = |error: io::Error| Error::of(self, format!("cannot be read: {error}"));
        let (raw, bytes): (Box<dyn Read + Send>, Option<u64>) = match self {
            Self::File(path) => {
                let file =
                    if regular_only { self.regular(path)? } else { File::open(path).map_err(failed)? };
                let metadata = file.metadata().map_err(failed)?;
                if metadata.is_dir() {
                    return Err(Error::of(self, "is a directory, expected a file"));
                }
                (Box::new(file), metadata.is_file().then_some(metadata.len()))
            }
            Self::StandardInput => (Box::new(io::stdin()), None),
            Self::Memory => return Err(Error::of(self, "bytes in memory are parsed, not opened")),
        };
        Content::new(raw, progress.map(|progress| (progress, bytes))).map_err(failed)
    }

    /// Opens a regular file without waiting. Asks for the type before it opens the file, since
    /// opening acts on the writer of a pipe, and again after that, since the file may have been
    /// replaced meanwhile.
    fn regular(&self, path: &Path) -> Result<File, Error> {
        let failed = |error: io::Error| Error::of(self, format!("cannot be read: {error}"));
        let check = |about: io::Result<Metadata>| {
            let kind = kind(about.map_err(failed)?.file_type());
            let refused = |kind| Error::of(self, format!("is {kind}, expected a regular file"));
            kind.map_or(Ok(()), |kind| Err(refused(kind)))
        };
        check(fs::metadata(path))?;
        let mut options = File::options();
        options.read(true);
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(path).map_err(failed)?;
        check(file.metadata())?;
        Ok(file)
    }
}

/// Returns what a file is that is no regular one.
fn kind(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a named pipe");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    if kind.is_dir() { Some("a directory") } else { (!kind.is_file()).then_some("of another type") }
}

/// A callback that receives how far a source has been read.
///
/// It is called after each read, which may be once per few kilobytes: it should return quickly.
///
/// ```
/// use fibula_io::{Progress, Source};
/// let progress = Progress::new(|bytes, total| eprintln!("{bytes} of {total:?}"));
/// # let _ = Source::from("no/such/file").open(Some(progress)).unwrap_err();
/// ```
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(u64, Option<u64>) + Send + Sync>);

impl Progress {
    /// Calls `report` with the number of bytes read, and the size of the source in bytes if it is
    /// known.
    ///
    /// Both count the bytes of the file, before decompression.
    #[must_use]
    pub fn new(report: impl Fn(u64, Option<u64>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

/// The decompressed bytes of a [`Source`], read as they are needed.
///
/// A truncated or damaged stream ends in an error, and so does one with anything else than zeros
/// after its end; [`Content::damage`] then says at which byte of the file.
pub struct Content {
    decoder: Decoded<Box<dyn Read + Send>>,
    taken: Arc<AtomicU64>,
    compression: Option<&'static str>,
    damage: Option<Damage>,
    /// The callback, and the source's size in bytes if it is known.
    progress: Option<(Progress, Option<u64>)>,
}

impl Content {
    fn new(mut raw: Box<dyn Read + Send>, progress: Option<(Progress, Option<u64>)>) -> io::Result<Self> {
        let mut magic = Vec::new();
        raw.by_ref().take(MAGIC_BYTES).read_to_end(&mut magic)?;
        let taken = Arc::new(AtomicU64::new(0));
        let kind = magic.clone();
        let inner = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(magic).chain(raw));
        let counted = Counted { inner, taken: Arc::clone(&taken) };
        let (decoder, compression): (Box<dyn Read + Send>, _) = if kind.starts_with(&[0x1F, 0x8B]) {
            (Box::new(Members::<Gzip, _>::new(counted)?), Some("gzip"))
        } else if kind.starts_with(b"BZh") {
            (Box::new(Members::<Bzip2, _>::new(counted)?), Some("bzip2"))
        } else if kind.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
            (Box::new(Members::<Zstd, _>::new(counted)?), Some("zstd"))
        } else if let Some(name) = unsupported(&kind) {
            return Err(io::Error::other(format!(
                "{name} is not supported, expected plain bytes, gz, bz2 or zst"
            )));
        } else {
            (Box::new(counted), None)
        };
        Ok(Self { decoder: Decoded::new(decoder), taken, compression, damage: None, progress })
    }

    /// Reads text of another encoding as UTF-8. Without an encoding only UTF-16 that says so is.
    #[must_use]
    pub fn encoded(mut self, encoding: Option<Encoding>) -> Self {
        self.decoder.name(encoding);
        self
    }

    /// Bytes in memory, decompressed if they are compressed.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let raw = Box::new(io::Cursor::new(bytes.to_vec()));
        Self::new(raw, None).map_err(|error| Error::of(&Source::Memory, error))
    }

    /// Reads the content by `read`, which gets the first bytes and the rest. Also returns the
    /// damage that the stream ended in, if reading is to keep going after it.
    ///
    /// A truncated stream is the cause of whatever is wrong at its end.
    pub(crate) fn read_as<T>(
        mut self,
        source: &Source,
        keep_going: bool,
        read: impl FnOnce(Vec<u8>, &mut Self) -> Result<T, Error>,
    ) -> Result<(T, Option<Damage>), Error> {
        let mut head = Vec::new();
        // The reason why reading stopped is in the damage.
        let _ = self.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
        let refused = |damage: &Option<Damage>| match damage {
            Some(cut) if !keep_going => Err(Error::at(source, cut)),
            _ => Ok(()),
        };
        refused(&self.damage)?;
        let read = read(head, &mut self);
        refused(&self.damage)?;
        Ok((read?, self.damage))
    }

    /// Returns the number of compressed bytes that were used; `None` if the source is not
    /// compressed.
    pub(crate) fn compressed_bytes(&self) -> Option<u64> {
        self.compression.map(|_| self.taken.load(Ordering::Relaxed))
    }

    /// Returns why and where the stream ended in an error, if it did.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.damage.is_some() {
            return Ok(0);
        }
        let read = self.decoder.read(buffer);
        let taken = self.taken.load(Ordering::Relaxed);
        if let Some((progress, total)) = &self.progress {
            (progress.0)(taken, *total);
        }
        match &read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let of_inner = |is: fn(&(dyn std::error::Error + Send + Sync + 'static)) -> bool| {
                    error.get_ref().is_some_and(is)
                };
                let (place, what) = match self.compression {
                    _ if of_inner(<dyn std::error::Error + Send + Sync>::is::<Malformed>) => {
                        match self.compression {
                            Some(_) => (Place::CompressedByte(taken), error.to_string()),
                            None => (Place::Byte(taken), error.to_string()),
                        }
                    }
                    Some(name) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        (Place::CompressedByte(taken), format!("the {name} stream is cut off before its end"))
                    }
                    Some(name) if of_inner(<dyn std::error::Error + Send + Sync>::is::<Garbage>) => (
                        Place::CompressedByte(taken),
                        format!("trailing garbage: {Garbage} of the {name} stream"),
                    ),
                    Some(name) => {
                        (Place::CompressedByte(taken), format!("the {name} stream is damaged: {error}"))
                    }
                    None => (Place::Byte(taken), format!("cannot be read: {error}")),
                };
                self.damage = Some(Damage { place, what });
            }
            Ok(_) => {}
        }
        read
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("compression", &self.compression)
            .field("taken", &self.taken)
            .field("damage", &self.damage)
            .finish_non_exhaustive()
    }
}

/// Counts the bytes that a decoder has used, not those that a buffer has fetched ahead. Errors name
/// the former.
struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"10.0.0.0/8 1\n11.0.0.0/8 2\n";

    #[test]
    #[cfg(unix)]
    fn only_a_regular_file_is_opened_where_that_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let what = |path: &Path| {
            let opened = Source::File(path.to_owned()).open_as(None, true);
            opened.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let is = |path: &Path, kind| {
            assert_eq!(what(path), format!("{}: is {kind}, expected a regular file", path.display()));
        };
        is(folder.path(), "a directory");
        is(Path::new("/dev/null"), "a device");
        std::os::unix::net::UnixListener::bind(&path).unwrap();
        is(&path, "a socket");
        fs::remove_file(&path).unwrap();
        // Without a writer, opening it would wait.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        is(&path, "a named pipe");
        fs::remove_file(&path).unwrap();
        assert!(what(&path).contains("cannot be read: "));
        fs::write(&path, TEXT).unwrap();
        assert_eq!(what(&path), "");
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn bzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstandard(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    fn all(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut content = Content::of_bytes(bytes).unwrap();
        let mut out = Vec::new();
        let _ = content.read_to_end(&mut out);
        (out, content.damage().map(ToString::to_string))
    }

    #[test]
    fn compression_is_recognised_also_of_several_streams() {
        assert_eq!(all(TEXT), (TEXT.to_vec(), None));
        assert_eq!(all(b""), (Vec::new(), None));
        assert_eq!(all(b"\x1F"), (vec![0x1F], None));
        for compress in [gzip, bzip, zstandard] {
            assert_eq!(all(&compress(TEXT)), (TEXT.to_vec(), None));
            let two = [compress(TEXT), compress(TEXT)].concat();
            assert_eq!(all(&two), ([TEXT, TEXT].concat(), None));
        }
    }

    #[test]
    fn zeros_after_a_stream_are_padding_and_anything_else_is_garbage() {
        for (compress, name) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (bzip, "bzip2"), (zstandard, "zstd")]
        {
            let two = [compress(TEXT), compress(TEXT)].concat();
            let both = [TEXT, TEXT].concat();
            for zeros in [1, 511, 100_000] {
                let padded = [&two[..], &vec![0; zeros]].concat();
                assert_eq!(all(&padded), (both.clone(), None));
                for garbage in [&b"x"[..], b"10.0.0.0/8 1\n", &compress(TEXT)] {
                    let what = format!(
                        "byte {} of the compressed file: trailing garbage: bytes that are neither zeros nor another \
                         stream after the end of the {name} stream",
                        padded.len()
                    );
                    assert_eq!(all(&[&padded, garbage].concat()), (both.clone(), Some(what)));
                }
            }
            let begun = [&two[..], &compress(TEXT)[..3]].concat();
            let (out, damage) = all(&begun);
            assert_eq!(out, both);
            assert!(damage.unwrap().contains("the compressed file: the "));
        }
    }

    #[test]
    fn what_is_compressed_otherwise_is_named() {
        let error = Content::of_bytes(b"\xFD7zXZ\0\0\x04").unwrap_err().to_string();
        assert_eq!(error, "memory: xz is not supported, expected plain bytes, gz, bz2 or zst");
        for (magic, name) in [
            (&b"\x04\x22\x4D\x18rest"[..], "lz4"),
            (b"\x1F\x9D\x90rest", "compress (.Z)"),
            (b"PK\x03\x04rest", "zip"),
            (b"\x5D\0\0\x80\0\xFF\xFF", "lzma"),
        ] {
            let error = Content::of_bytes(magic).unwrap_err().to_string();
            assert!(error.starts_with(&format!("memory: {name} is not supported")), "{error}");
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_names_its_last_byte() {
        let text = TEXT.repeat(10_000);
        for (compress, name) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (bzip, "bzip2"), (zstandard, "zstd")]
        {
            let whole = compress(&text);
            for cut in [whole.len() / 2, whole.len() - 1] {
                let (out, damage) = all(&whole[..cut]);
                let what =
                    format!("byte {cut} of the compressed file: the {name} stream is cut off before its end");
                assert_eq!(damage, Some(what));
                assert_eq!(out, text[..out.len()]);
            }
        }
    }

    #[test]
    fn a_damaged_stream_is_an_error() {
        let text = TEXT.repeat(10_000);
        for compress in [gzip, bzip, zstandard] {
            let mut bytes = compress(&text);
            let middle = bytes.len() / 2;
            bytes[middle..middle + 8].fill(0xA5);
            let (_, damage) = all(&bytes);
            let damage = damage.unwrap();
            assert!(damage.contains("of the compressed file: the "), "{damage}");
        }
    }

    #[test]
    fn progress_counts_the_bytes_of_the_file() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&gzip(TEXT)).unwrap();
        let size = file.as_file().metadata().unwrap().len();
        let last = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&last);
        let progress = Progress::new(move |bytes, total| {
            assert_eq!(total, Some(size));
            seen.store(bytes, Ordering::Relaxed);
        });
        let mut content = Source::from(file.path().to_owned()).open(Some(progress)).unwrap();
        let mut out = Vec::new();
        content.read_to_end(&mut out).unwrap();
        assert_eq!((out.as_slice(), last.load(Ordering::Relaxed)), (TEXT, size));
    }

    #[test]
    fn what_cannot_be_opened_is_named() {
        let error = Source::from("no/such/file").open(None).unwrap_err().to_string();
        assert!(error.starts_with("no/such/file: cannot be read: "), "{error}");
        assert!(Source::from(".").open(None).unwrap_err().to_string().contains("is a directory"));
    }
}
