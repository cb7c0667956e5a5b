//! Lookups while the table changes: a feed is followed beside the stream of addresses.

use super::answer::Answer;
use super::lines::{Line, Lines, blocks};
use super::{mapped, no_address};
use crate::addresses::Addresses;
use crate::exit::{Verdict, tell};
use crate::feed::{Feed, Listener, PolicyName, SERVED};
use crate::output::Output;
use crate::reading::Reading;
use anyhow::{anyhow, ensure};
use fibula::IpPrefix;
use fibula_io::Source;
use fibula_io::follow::Followed;
use fibula_io::mrt::Event;
use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The tables as they are now. The feed changes them between the lookups of two blocks.
#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Followed>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Followed> {
        // An event is applied whole, whoever panicked after it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Shared {
    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<String>> {
        Ok(self.lock().play(router.unwrap_or_default(), event, |_, _| {}).err())
    }

    fn forget(&mut self, router: &str) -> usize {
        self.lock().forget(router)
    }
}

/// Answers standard input by tables that `feeds` change.
///
/// Files are applied whole, in their order, before the first line is answered. From the first pipe
/// on they are followed while lines are answered.
pub(super) fn run(
    feeds: &[Feed],
    reading: &Reading,
    addresses: &Addresses,
    output: &Output,
) -> anyhow::Result<Verdict> {
    let by_router = feeds.iter().any(|feed| matches!(feed, Feed::Bmp(_)));
    ensure!(!by_router || feeds.len() == 1, "routers cannot be followed beside files");
    ensure!(!feeds.contains(&Feed::Input("-".into())), "standard input is the addresses, not a feed");
    let has_routes = feeds.iter().any(|feed| matches!(feed, Feed::Routes(_)));
    ensure!(!has_routes, SERVED);
    let value = reading.value.unwrap_or_default();
    let followed = Followed::new(reading.peer.as_deref(), value, reading.budget()?);
    let mut shared = Shared(Arc::new(Mutex::new(followed.map_err(anyhow::Error::msg)?.compiled())));
    let is_whole = |feed: &&Feed| matches!(feed, Feed::Input(path) if fs::metadata(path).is_ok_and(|file| file.is_file()));
    let (files, pipes) = feeds.split_at(feeds.iter().take_while(is_whole).count());
    let mut whole = true;
    for feed in files {
        whole &= feed.follow(reading, PolicyName::default(), &mut shared)? == Verdict::Good;
    }
    let has_failed = Arc::new(AtomicBool::new(false));
    let beside = (pipes.to_vec(), reading.clone(), shared.clone(), Arc::clone(&has_failed));
    thread::spawn(move || {
        let (feeds, reading, mut shared, has_failed) = beside;
        for feed in &feeds {
            match feed.follow(&reading, PolicyName::default(), &mut shared) {
                Ok(Verdict::Good) => {}
                other => {
                    has_failed.store(true, Ordering::Relaxed);
                    // The lines go on to be answered, by what was told before.
                    other.map_or_else(|error| tell(format_args!("{error:#}")), drop);
                    return;
                }
            }
        }
    });
    let bad = answer(&shared, by_router, reading.keep_going, addresses, output)?;
    Ok(Verdict::good_if(whole && bad == 0 && !has_failed.load(Ordering::Relaxed)))
}

/// Answers the lines of standard input as they come. Returns the number of those that are no
/// addresses.
fn answer(
    shared: &Shared,
    by_router: bool,
    keep_going: bool,
    addresses: &Addresses,
    output: &Output,
) -> anyhow::Result<usize> {
    let embedded = addresses.asked().unwrap_or_default();
    let mut printer = output.asked().map(|_| output.printer());
    let mut out = io::stdout().lock();
    let mut bad = 0;
    for block in blocks(Source::StandardInput.open(None)?) {
        let mut answers: Vec<Result<Answer, anyhow::Error>> = Vec::new();
        match block? {
            Err(damage) => answers.push(Err(anyhow!("standard input, {damage}"))),
            Ok((first_line, text)) => {
                let followed = shared.lock();
                for (number, Line { field, found, start }) in (first_line..).zip(Lines::new(&text)) {
                    let Some(found) = found else { continue };
                    let address = found.ip().or_else(|| addresses.cleaned(field).ip());
                    let router = by_router.then(|| router_of(&text[start + field.len()..]));
                    answers.push(match (address, router) {
                        (None, _) => Err(no_address(number, field)),
                        (_, Some(None)) => {
                            Err(anyhow!("standard input, line {number}: expected an address and a router"))
                        }
                        (Some(address), router) => {
                            let asked = mapped(IpPrefix::host(address), &embedded);
                            let router =
                                router.flatten().map_or_else(String::new, |router| router.to_string());
                            Ok(Answer::of(asked, followed.lookup(&router, asked.first())))
                        }
                    });
                }
            }
        }
        for answer in answers {
            match (answer, &mut printer) {
                (Ok(answer), Some(printer)) => printer.row(&answer)?,
                (Ok(answer), None) => writeln!(out, "{}", answer.fields())?,
                (Err(what), _) if !keep_going => {
                    out.flush()?;
                    return Err(what);
                }
                (Err(what), printer) => {
                    tell(what);
                    bad += 1;
                    if printer.is_none() {
                        writeln!(out, "?\t?")?;
                    }
                }
            }
        }
        out.flush()?;
    }
    printer.map_or(Ok(()), crate::output::Printer::finish)?;
    Ok(bad)
}

/// Returns the router that is named after the address.
fn router_of(rest: &[u8]) -> Option<IpAddr> {
    let line = rest.split(|&byte| byte == b'\n').next()?;
    let field = line.trim_ascii_start().split(u8::is_ascii_whitespace).next()?;
    Some(str::from_utf8(field).ok()?.parse::<IpAddr>().ok()?.to_canonical())
}
