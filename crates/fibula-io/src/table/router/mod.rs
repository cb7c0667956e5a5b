//! What the layouts of routers' text share: one tokenizer ([`words`]), one vocabulary of marks
//! ([`marks`]), and one place where routes are chosen and lines are accounted for ([`sink`]).
//!
//! A layout is a grammar. It reads a line as phrases, each of which it uses, or knows to be without
//! effect. A line with anything else is left out and told, and refused with `--strict`. A text of
//! which most lines are so is refused as a whole.

pub(super) mod marks;
pub(super) mod sink;
pub(super) mod words;

#[cfg(test)]
mod page;
#[cfg(test)]
mod tests;
