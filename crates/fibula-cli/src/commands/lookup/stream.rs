//! Streams of addresses: blocks go to two workers in turn and come back in order, as text.

use super::compiled::Compiled;
use super::lines::{Lines, Owned};
use super::table::{ADDRESSES_ALONE, Table};
use super::text::{Style, Texts};
use super::{no_address, prefix_of};
use crate::addresses::Addresses;
use crate::exit::tell;
use crate::workers::in_order;
use anyhow::{anyhow, ensure};
use fibula::parts::arch::{Isa, Kernel, Level, dispatch};
use fibula::{IpPrefix, NextHop, NextHops};
use fibula_io::address::{Embedded, Found};
use std::io::Write;
use std::sync::Arc;

/// The number of blocks in work at once. Each has a thread.
const WORKERS: usize = 2;

/// The result of a block.
#[derive(Default)]
struct Answered {
    text: Vec<u8>,
    /// The errors of the lines that are no addresses.
    bad: Vec<anyhow::Error>,
}

/// The data that all workers share.
struct Shared {
    ipv4: Compiled<u32>,
    ipv6: Compiled<u128>,
    next_hops: NextHops,
    how: How,
}

/// How a stream is answered.
#[derive(Clone)]
pub(super) struct How {
    pub(super) style: Style,
    /// Whether lines that are no addresses are skipped.
    pub(super) keep_going: bool,
    pub(super) addresses: Addresses,
    /// The IPv6 addresses that are looked up as IPv4 ones.
    pub(super) embedded: Embedded,
}

/// Answers a stream of addresses. Returns the number of lines that are no addresses.
///
/// # Errors
/// If reading or writing fails. Without `keep_going`, also at the first line that is no address:
/// all lines before it are answered.
pub(super) fn run(
    table: Table,
    blocks: impl Iterator<Item = anyhow::Result<Owned>> + Send + 'static,
    how: &How,
    out: &mut impl Write,
) -> anyhow::Result<usize> {
    let (ipv4, ipv6, next_hops) = table.compiled()?;
    let shared = Arc::new(Shared { ipv4, ipv6, next_hops, how: how.clone() });
    let worker = || {
        let mut worker = Worker::new(Arc::clone(&shared));
        move |block| Ok(worker.answer(block))
    };
    out.write_all(how.style.header())?;
    let mut bad = 0;
    in_order(WORKERS, 1, blocks, worker, |answered: Answered| {
        out.write_all(&answered.text)?;
        for what in answered.bad {
            if !how.keep_going {
                out.flush()?;
                return Err(what);
            }
            tell(what);
            bad += 1;
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(bad)
}

/// One thread's own memory.
struct Worker {
    shared: Arc<Shared>,
    ipv4: Texts,
    ipv6: Texts,
    /// The content of each line of the block, in order.
    lines: Vec<Entry>,
    addresses_ipv4: Vec<u32>,
    addresses_ipv6: Vec<u128>,
    places_ipv4: Vec<NextHop>,
    places_ipv6: Vec<NextHop>,
    prefixes: Vec<IpPrefix>,
}

/// A line that is to be answered.
#[derive(Clone, Copy)]
struct Entry {
    kind: Kind,
    /// The offset and length of its address in the block.
    start: u32,
    len: u32,
}

/// The content of a line.
#[derive(Clone, Copy)]
enum Kind {
    Ipv4,
    Ipv6,
    /// A prefix, of either family.
    Prefix,
    Bad,
}

/// Reads lines, compiled for every instruction set.
struct Read<'r> {
    worker: &'r mut Worker,
    first_line: u64,
    block: &'r [u8],
    answered: &'r mut Answered,
}

impl Kernel for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        self.worker.read(self.first_line, self.block, self.answered);
    }
}

impl Worker {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            ipv4: Texts::new(shared.ipv4.len()),
            ipv6: Texts::new(shared.ipv6.len()),
            shared,
            lines: Vec::new(),
            addresses_ipv4: Vec::new(),
            addresses_ipv6: Vec::new(),
            places_ipv4: Vec::new(),
            places_ipv6: Vec::new(),
            prefixes: Vec::new(),
        }
    }

    fn answer(&mut self, block: Owned) -> Answered {
        let mut answered = Answered::default();
        let (first_line, block) = match block {
            Ok(block) => block,
            Err(damage) => {
                let text = if self.shared.how.keep_going {
                    self.shared.how.style.bad().to_vec()
                } else {
                    Vec::new()
                };
                return Answered { text, bad: vec![anyhow!("standard input, {damage}")] };
            }
        };
        let read = Read { worker: self, first_line, block: &block, answered: &mut answered };
        dispatch(Level::best(), read);
        self.shared.ipv4.places(&self.addresses_ipv4, &mut self.places_ipv4);
        self.shared.ipv6.places(&self.addresses_ipv6, &mut self.places_ipv6);
        self.write(&block, &mut answered);
        answered
    }

    /// Reads the block's lines, up to the first bad one unless bad lines are skipped.
    #[inline(always)]
    fn read(&mut self, first_line: u64, block: &[u8], answered: &mut Answered) {
        self.lines.clear();
        self.addresses_ipv4.clear();
        self.addresses_ipv6.clear();
        self.prefixes.clear();
        for (number, line) in (first_line..).zip(Lines::new(block)) {
            let found = match line.found {
                None => continue,
                Some(Found::Invalid) => self.shared.how.addresses.cleaned(line.field),
                Some(found) => found,
            };
            let kind = match found {
                Found::Ipv4(address) => {
                    self.addresses_ipv4.push(address);
                    Kind::Ipv4
                }
                Found::Ipv6(address) => {
                    if let Some(ipv4) = self.shared.how.embedded.ipv4(address) {
                        self.addresses_ipv4.push(ipv4);
                        Kind::Ipv4
                    } else {
                        self.addresses_ipv6.push(address);
                        Kind::Ipv6
                    }
                }
                Found::Invalid => match self.prefix(number, line.field) {
                    Ok(prefix) => {
                        self.prefixes.push(prefix);
                        Kind::Prefix
                    }
                    Err(what) => {
                        answered.bad.push(what);
                        if !self.shared.how.keep_going {
                            break;
                        }
                        Kind::Bad
                    }
                },
            };
            let (start, len) = (line.start as u32, line.field.len() as u32); // a block has some MiB at most
            self.lines.push(Entry { kind, start, len });
        }
    }

    /// Returns the prefix of a line that is no address.
    fn prefix(&self, number: u64, field: &[u8]) -> anyhow::Result<IpPrefix> {
        let prefix = prefix_of(field).ok_or_else(|| no_address(number, field))?;
        let is_known = self.shared.ipv4.knows_routes() && self.shared.ipv6.knows_routes();
        ensure!(is_known, "standard input, line {number}: {prefix}: {ADDRESSES_ALONE}");
        Ok(prefix)
    }

    /// Writes the lines' answers.
    fn write(&mut self, block: &[u8], answered: &mut Answered) {
        let Shared { ipv4, ipv6, next_hops, how: How { style, .. } } = &*self.shared;
        let (mut places_ipv4, mut places_ipv6) = (self.places_ipv4.iter(), self.places_ipv6.iter());
        let mut prefixes = self.prefixes.iter();
        let text = &mut answered.text;
        text.reserve(self.lines.len() * 32);
        for &Entry { kind, start, len } in &self.lines {
            let answer = match kind {
                Kind::Ipv4 => places_ipv4.next().map(|&place| self.ipv4.of(place, ipv4, next_hops, *style)),
                Kind::Ipv6 => places_ipv6.next().map(|&place| self.ipv6.of(place, ipv6, next_hops, *style)),
                Kind::Prefix => prefixes.next().map(|&prefix| match prefix {
                    IpPrefix::V4(prefix) => self.ipv4.of(ipv4.cover(prefix), ipv4, next_hops, *style),
                    IpPrefix::V6(prefix) => self.ipv6.of(ipv6.cover(prefix), ipv6, next_hops, *style),
                }),
                Kind::Bad => None,
            };
            let Some(answer) = answer else {
                text.extend_from_slice(style.bad());
                continue;
            };
            if let Some(before) = style.before_address() {
                text.extend_from_slice(before);
                text.extend_from_slice(&block[start as usize..][..len as usize]);
            }
            text.extend_from_slice(answer);
        }
    }
}
