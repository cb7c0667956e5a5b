//! Streams of addresses: blocks go to two workers in turn and come back in order, as text.
//!
//! ```text
//!            +-> worker 0 -+
//!   reader --+             +--> writer (the caller)
//!            +-> worker 1 -+
//! ```
//! Block *i* goes to worker *i* mod 2 and is received from there, so the order needs no numbers.
//! The reader thread is never joined: after an error it may wait for input that never comes.

use super::compiled::Compiled;
use super::lines::{Blocks, Content, Lines};
use super::table::Table;
use super::text::{Style, Texts};
use crate::exit::tell;
use anyhow::anyhow;
use fibula::{NextHop, NextHops};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The number of blocks in work at once. Each has a thread.
const WORKERS: usize = 2;

/// The result of a block.
#[derive(Default)]
struct Answered {
    text: Vec<u8>,
    /// The number of lines, the bad ones included.
    lines: usize,
    /// The lines (from 0) that are no addresses, and their text.
    bad: Vec<(usize, String)>,
}

/// A worker's message: the result of a block, `None` after the last, or the error that ended it.
type Reply = io::Result<Option<Answered>>;

/// The data that all workers share.
struct Shared {
    ipv4: Compiled<u32>,
    ipv6: Compiled<u128>,
    next_hops: NextHops,
    style: Style,
    keep_going: bool,
}

/// Answers a stream of addresses. Returns the number of lines that are no addresses.
///
/// # Errors
/// If reading or writing fails. Without `keep_going`, also at the first line that is no address:
/// all lines before it are answered.
pub(super) fn run(
    table: Table,
    blocks: Blocks,
    style: Style,
    keep_going: bool,
    out: &mut impl Write,
) -> anyhow::Result<usize> {
    let (ipv4, ipv6, next_hops) = table.compiled()?;
    let shared = Shared { ipv4, ipv6, next_hops, style, keep_going };
    out.write_all(style.header())?;
    let (mut line, mut bad) = (0, 0);
    let answers = start(blocks, &Arc::new(shared));
    for answers in answers.iter().cycle() {
        let answered = answers.recv().map_err(|_| anyhow!("a worker stopped before the end of the input"))?;
        let Some(answered) = answered.map_err(|error| anyhow!("standard input: {error}"))? else { break };
        out.write_all(&answered.text)?;
        for (bad_line, text) in &answered.bad {
            let what = super::no_address(line + bad_line, text);
            if !keep_going {
                out.flush()?;
                return Err(what);
            }
            tell(what);
        }
        line += answered.lines;
        bad += answered.bad.len();
    }
    out.flush()?;
    Ok(bad)
}

/// Starts the reader and the workers. The answers come from the receivers in turn.
fn start(blocks: Blocks, shared: &Arc<Shared>) -> Vec<Receiver<Reply>> {
    let mut to_workers = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..WORKERS {
        let (to_worker, work) = sync_channel(1);
        let (to_writer, answer) = sync_channel(1);
        to_workers.push(to_worker);
        answers.push(answer);
        let mut worker = Worker::new(Arc::clone(shared));
        thread::spawn(move || worker.run(&work, &to_writer));
    }
    thread::spawn(move || {
        for (block, to_worker) in blocks.zip(to_workers.iter().cycle()) {
            let failed = block.is_err();
            if to_worker.send(block).is_err() || failed {
                break;
            }
        }
    });
    answers
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
    Bad,
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
        }
    }

    fn run(&mut self, work: &Receiver<io::Result<Vec<u8>>>, to_writer: &SyncSender<Reply>) {
        while let Ok(block) = work.recv() {
            if to_writer.send(block.map(|block| Some(self.answer(&block)))).is_err() {
                return;
            }
        }
        // If the writer has ended, nobody waits for this.
        let _ = to_writer.send(Ok(None));
    }

    fn answer(&mut self, block: &[u8]) -> Answered {
        let mut answered = Answered::default();
        self.read(block, &mut answered);
        self.shared.ipv4.places(&self.addresses_ipv4, &mut self.places_ipv4);
        self.shared.ipv6.places(&self.addresses_ipv6, &mut self.places_ipv6);
        self.write(block, &mut answered);
        answered
    }

    /// Reads the block's lines, up to the first bad one unless bad lines are skipped.
    fn read(&mut self, block: &[u8], answered: &mut Answered) {
        self.lines.clear();
        self.addresses_ipv4.clear();
        self.addresses_ipv6.clear();
        for line in Lines::new(block) {
            let kind = match line.content {
                Content::Blank => None,
                Content::Ipv4(address) => {
                    self.addresses_ipv4.push(address);
                    Some(Kind::Ipv4)
                }
                Content::Ipv6(address) => {
                    self.addresses_ipv6.push(address);
                    Some(Kind::Ipv6)
                }
                Content::Bad => {
                    answered.bad.push((answered.lines, String::from_utf8_lossy(line.field).into_owned()));
                    if !self.shared.keep_going {
                        break;
                    }
                    Some(Kind::Bad)
                }
            };
            let (start, len) = (line.start as u32, line.field.len() as u32); // a block has some MiB at most
            self.lines.extend(kind.map(|kind| Entry { kind, start, len }));
            answered.lines += 1;
        }
    }

    /// Writes the lines' answers.
    fn write(&mut self, block: &[u8], answered: &mut Answered) {
        let Shared { ipv4, ipv6, next_hops, style, .. } = &*self.shared;
        let (mut places_ipv4, mut places_ipv6) = (self.places_ipv4.iter(), self.places_ipv6.iter());
        let text = &mut answered.text;
        text.reserve(self.lines.len() * 32);
        for &Entry { kind, start, len } in &self.lines {
            let answer = match kind {
                Kind::Ipv4 => places_ipv4.next().map(|&place| self.ipv4.of(place, ipv4, next_hops, *style)),
                Kind::Ipv6 => places_ipv6.next().map(|&place| self.ipv6.of(place, ipv6, next_hops, *style)),
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
