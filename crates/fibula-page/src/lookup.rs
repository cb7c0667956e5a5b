//! [`Matches`]: the answers for one address or prefix, of one table or several.

use crate::{Beside, Shown, asked};
use fibula::{IpPrefix, NextHop};
use std::io::Write;

/// Answers for one address or prefix, as one JSON array or a line each.
#[derive(Debug)]
pub struct Matches<'b> {
    out: Vec<u8>,
    asked: IpPrefix,
    all: bool,
    is_array: bool,
    beside: &'b Beside,
}

impl<'b> Matches<'b> {
    /// Begins without an answer. With `all` there will be every route that covers what is asked,
    /// longest first, and else the longest match. Each row has what is known `beside` its value.
    #[must_use]
    pub fn new(asked: IpPrefix, all: bool, is_array: bool, beside: &'b Beside) -> Self {
        Self { out: Vec::with_capacity(256), asked, all, is_array, beside }
    }

    /// Adds what a table answers.
    pub fn add(&mut self, shown: &Shown) {
        if !self.all {
            return self.row(shown, shown.best(self.asked));
        }
        let mut covering = shown.table.covering(self.asked).peekable();
        if covering.peek().is_none() {
            self.row(shown, None);
        }
        covering.for_each(|(prefix, &next_hop)| self.row(shown, Some((prefix, next_hop))));
    }

    fn row(&mut self, shown: &Shown, route: Option<(IpPrefix, NextHop)>) {
        let asked = asked(self.asked);
        let out = &mut self.out;
        if self.is_array {
            out.push(if out.is_empty() { b'[' } else { b',' });
        }
        // Memory can always be written.
        let _ = write!(out, "{{\"address\":\"{asked}\",");
        shown.write_route(out, route);
        self.beside.write(out, shown, route);
        let _ = write!(out, ",\"table\":\"{}\",\"generation\":{}}}", shown.name, shown.generation);
        if !self.is_array {
            out.push(b'\n');
        }
    }

    /// Returns the answers.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if self.is_array {
            self.out.extend_from_slice(if self.out.is_empty() { b"[]\n" } else { b"]\n" });
        }
        self.out
    }
}
