//! What the layouts of routers' text share: one tokenizer ([`words`]), one vocabulary of marks
//! ([`marks`]), and one place where routes are chosen and lines are accounted for ([`sink`]).
//!
//! A layout is a grammar. It reads a line as phrases, each of which it uses, or knows to be without
//! effect. A line with anything else is left out and told, and refused with `--strict`. A text of
//! which most lines are so is refused as a whole.

pub(super) mod marks;
pub(crate) mod samples;
pub(super) mod sink;
pub(super) mod terminal;
pub(super) mod words;

use super::builder::Builder;
use super::layouts::{Looks, Reader, of};
use super::{Format, ReadOptions};
use crate::Budget;
use crate::blocks::Blocks;
use std::io::Read;

pub(crate) use sink::Account;

/// Returns what became of the lines of a text, read as a layout; `None` if no line may be of it, or
/// it is none of routers.
pub(crate) fn account(format: Format, text: &[u8]) -> Option<Account> {
    let Looks::Router(is_line) = of(format).looks else { return None };
    let Reader::Lines(read) = of(format).reader else { return None };
    crate::scan::lines(text).find(|(_, line)| is_line(line))?;
    let options = ReadOptions::default();
    // What is held of a text that is in memory is little.
    let mut builder = Builder::new(&options, Budget { memory: u64::MAX, routes: u64::MAX });
    let input: &mut dyn Read = &mut &*text;
    // What is wrong with it, its reader says.
    let _ = read(&mut Blocks::new(input, true), &options, &mut builder);
    Some(builder.account)
}

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
