//! Addresses that are no Arrow array, or one of one family without nulls.

use crate::Lookups;
use crate::chunk::{self, Chunk};
use fibula::NextHop;
use fibula::parts::arch::{Isa, Kernel, Level, dispatch};
use fibula::parts::blocks::pipeline::ask_ahead;
use fibula_io::address::{self, Embedded, Found, Window};

/// The addresses that are looked up at once: 128 KiB of IPv6. An engine overlaps the memory
/// accesses of a batch, but not those of two.
const ROWS: usize = 1 << 13;

/// The addresses that are prefetched at once.
const AHEAD: usize = 64;

/// Looks up IPv4 addresses that are no Arrow array: `indices[i]` becomes the index of the answer
/// for `addresses[i]`, 0 where no route matches. Allocates nothing that grows with them.
///
/// ```
/// use fibula::{NextHop, Rib, Views};
/// use fibula_arrow::lookup_ipv4;
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let mut indices = [9; 2];
/// let views = Views::of(&rib, &Rib::new())?;
/// lookup_ipv4(&[0xC000_0201, 0], &views, &mut indices);
/// assert_eq!(indices, [7, 0]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Panics
/// If the two slices differ in length.
pub fn lookup_ipv4(addresses: &[u32], lookups: &(impl Lookups + ?Sized), indices: &mut [u32]) {
    assert_eq!(addresses.len(), indices.len(), "as many answers as addresses");
    each_ipv4(addresses, lookups, writes(indices));
}

/// As [`lookup_ipv4`], for IPv6 addresses in network byte order, of which the `embedded` ones are
/// looked up as the IPv4 addresses they hold.
///
/// ```
/// use fibula::{NextHop, Rib, Views};
/// use fibula_arrow::{Embedded, lookup_ipv6};
/// use std::net::Ipv6Addr;
/// let mut rib: Rib<u128> = Rib::new();
/// rib.insert("2001:db8::/32".parse()?, NextHop(7));
/// let mut indices = [9; 2];
/// let views = Views::of(&Rib::new(), &rib)?;
/// let addresses = ["2001:db8::1", "::1"].map(|text| text.parse::<Ipv6Addr>().unwrap().octets());
/// lookup_ipv6(&addresses, &views, &Embedded::default(), &mut indices);
/// assert_eq!(indices, [7, 0]);
/// # Ok::<(), fibula::Error>(())
/// ```
///
/// # Panics
/// If the two slices differ in length.
pub fn lookup_ipv6(
    addresses: &[[u8; 16]],
    lookups: &(impl Lookups + ?Sized),
    embedded: &Embedded,
    indices: &mut [u32],
) {
    assert_eq!(addresses.len(), indices.len(), "as many answers as addresses");
    let mut write = writes(indices);
    if embedded.is_empty() {
        return each_ipv6(addresses, lookups, write);
    }
    let mut chunk = Chunk::new();
    for addresses in addresses.chunks(chunk::ROWS) {
        chunk.begin(addresses.len());
        for (row, address) in addresses.iter().enumerate() {
            chunk.push(row, Found::Ipv6(u128::from_be_bytes(*address)));
        }
        chunk.unmap(embedded);
        write(chunk.look_up(lookups));
    }
}

/// Returns what writes answers one after the other.
fn writes(mut indices: &mut [u32]) -> impl FnMut(&[NextHop]) {
    move |answers| {
        let (now, later) = std::mem::take(&mut indices).split_at_mut(answers.len());
        now.iter_mut().zip(answers).for_each(|(index, answer)| *index = answer.0);
        indices = later;
    }
}

/// Passes the answers for the addresses to `write`, some at a time.
pub(crate) fn each_ipv4(
    addresses: &[u32],
    lookups: &(impl Lookups + ?Sized),
    mut write: impl FnMut(&[NextHop]),
) {
    let mut answers = vec![NextHop::NONE; ROWS.min(addresses.len())];
    for addresses in addresses.chunks(ROWS) {
        let answers = &mut answers[..addresses.len()];
        lookups.ipv4(addresses, answers);
        write(answers);
    }
}

/// As [`each_ipv4`], for IPv6 addresses in network byte order.
pub(crate) fn each_ipv6(
    addresses: &[[u8; 16]],
    lookups: &(impl Lookups + ?Sized),
    mut write: impl FnMut(&[NextHop]),
) {
    let mut answers = vec![NextHop::NONE; ROWS.min(addresses.len())];
    let mut numbers = vec![0; answers.len()];
    for start in (0..addresses.len()).step_by(ROWS) {
        let numbers = &mut numbers[..ROWS.min(addresses.len() - start)];
        let answers = &mut answers[..numbers.len()];
        dispatch(Level::best(), Read { addresses, start, numbers });
        lookups.ipv6(numbers, answers);
        write(answers);
    }
}

/// Reads the addresses from `start` on as numbers, compiled for every instruction set.
struct Read<'a> {
    addresses: &'a [[u8; 16]],
    start: usize,
    numbers: &'a mut [u128],
}

impl Kernel for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Self { addresses, start, numbers } = self;
        for (at, numbers) in (start..).step_by(AHEAD).zip(numbers.chunks_mut(AHEAD)) {
            // The processor's own prefetches end at each page.
            ask_ahead::<AHEAD, _>(addresses, at);
            for (number, address) in numbers.iter_mut().zip(&addresses[at..]) {
                *number = u128::from_be_bytes(*address);
            }
        }
    }
}

/// Looks up texts that are no Arrow array. Holds some 130 KiB, to be used for many of them.
///
/// ```
/// use fibula::{NextHop, Rib, Views};
/// use fibula_arrow::Texts;
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let views = Views::of(&rib, &Rib::new())?;
/// let texts: [Option<&[u8]>; 4] = [Some(b"192.0.2.1"), None, Some(b"nobody"), Some(b"::1")];
/// let mut indices = Vec::new();
/// Texts::new().look_up(texts.into_iter(), &views, |found| indices.extend_from_slice(found));
/// assert_eq!(indices, [7, 0, 0, 0].map(NextHop));
/// # Ok::<(), fibula::Error>(())
/// ```
pub struct Texts(Box<Chunk>);

impl Default for Texts {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Texts")
    }
}

impl Texts {
    /// Allocates what texts are read into.
    #[must_use]
    pub fn new() -> Self {
        Self(Chunk::new())
    }

    /// Passes the index of each text's answer to `write`, in order and some at a time;
    /// [`NextHop::NONE`] where no route matches, and where there is no text or it is no address.
    pub fn look_up<'t>(
        &mut self,
        texts: impl Iterator<Item = Option<&'t [u8]>>,
        lookups: &(impl Lookups + ?Sized),
        mut write: impl FnMut(&[NextHop]),
    ) {
        let mut texts = texts.peekable();
        while texts.peek().is_some() {
            self.0.begin(chunk::ROWS);
            let mut rows = 0;
            for text in texts.by_ref().take(chunk::ROWS) {
                if let Some(text) = text {
                    self.0.push(rows, address::find(Window::of(text)));
                }
                rows += 1;
            }
            self.0.end(rows);
            write(self.0.look_up(lookups));
        }
    }
}
