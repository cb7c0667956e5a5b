//! Lookups while the table changes: a feed is followed beside the stream of addresses.

use super::answer::Answer;
use super::lines::{Line, Lines, blocks};
use super::{mapped, no_address};
use crate::addresses::Addresses;
use crate::exit::{Verdict, tell};
use crate::feed::{Feed, PolicyName};
use crate::following::Following;
use crate::output::Output;
use crate::reading::Reading;
use anyhow::anyhow;
use fibula::IpPrefix;
use fibula_io::Source;
use std::io::{self, Write};
use std::net::IpAddr;

/// Answers standard input by tables that `feeds` change.
pub(super) fn run(
    feeds: &[Feed],
    policy: PolicyName,
    reading: &Reading,
    addresses: &Addresses,
    output: &Output,
) -> anyhow::Result<Verdict> {
    let following = Following::start(feeds, policy, reading, "-")?;
    let bad = answer(&following, reading.keep_going, addresses, output)?;
    Ok(if bad == 0 { following.verdict() } else { Verdict::Bad })
}

/// Answers the lines of standard input as they come. Returns the number of those that are no
/// addresses.
fn answer(
    following: &Following,
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
                let followed = following.lock();
                for (number, Line { field, found, start }) in (first_line..).zip(Lines::new(&text)) {
                    let Some(found) = found else { continue };
                    let address = found.ip().or_else(|| addresses.cleaned(field).ip());
                    let router = following.by_router().then(|| router_of(&text[start + field.len()..]));
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
