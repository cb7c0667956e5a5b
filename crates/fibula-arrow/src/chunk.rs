//! [`Chunk`]: the rows that are looked up at once.

use crate::Lookups;
use fibula::{Address, NextHop};
use fibula_io::address::Found;

/// The rows of a chunk. Its arrays take some 80 KiB if all addresses are IPv6, and 28 KiB if all
/// are IPv4.
pub(crate) const ROWS: usize = 2048;

/// The addresses of a few rows, and what was found for them.
pub(crate) struct Chunk {
    rows: usize,
    pub(crate) ipv4: Half<u32>,
    pub(crate) ipv6: Half<u128>,
    /// The first row without an address that is not null.
    pub(crate) invalid: Option<usize>,
    /// The answer of each row.
    answers: [NextHop; ROWS],
}

/// The addresses of one family.
pub(crate) struct Half<A> {
    count: usize,
    addresses: [A; ROWS],
    /// The row that each of them is in.
    rows: [u16; ROWS],
    answers: [NextHop; ROWS],
}

impl<A: Address> Half<A> {
    const fn new() -> Self {
        Self { count: 0, addresses: [A::ZERO; ROWS], rows: [0; ROWS], answers: [NextHop::NONE; ROWS] }
    }

    #[inline(always)]
    fn push(&mut self, address: A, row: usize) {
        self.addresses[self.count] = address;
        self.rows[self.count] = row as u16;
        self.count += 1;
    }

    /// Returns the row and the answer of each address.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (usize, NextHop)> {
        let rows = self.rows[..self.count].iter().map(|&row| usize::from(row));
        rows.zip(self.answers[..self.count].iter().copied())
    }
}

impl Chunk {
    pub(crate) fn new() -> Box<Self> {
        let (ipv4, ipv6) = (Half::new(), Half::new());
        Box::new(Self { rows: 0, ipv4, ipv6, invalid: None, answers: [NextHop::NONE; ROWS] })
    }

    /// Begins a chunk of at most [`ROWS`] rows.
    pub(crate) fn begin(&mut self, rows: usize) {
        self.rows = rows;
        self.ipv4.count = 0;
        self.ipv6.count = 0;
        self.invalid = None;
    }

    /// Sets the number of rows that there were in the end.
    pub(crate) fn end(&mut self, rows: usize) {
        self.rows = rows;
    }

    /// Returns the number of its rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the address of a row that is not null.
    #[inline(always)]
    pub(crate) fn push(&mut self, row: usize, found: Found) {
        match found {
            Found::Ipv4(address) => self.ipv4.push(address, row),
            Found::Ipv6(address) => self.ipv6.push(address, row),
            Found::Invalid => self.invalid = self.invalid.or(Some(row)),
        }
    }

    /// Looks up the addresses of both families, for [`Half::answers`].
    pub(crate) fn look_up_apart(&mut self, lookups: &(impl Lookups + ?Sized)) {
        let Self { ipv4, ipv6, .. } = self;
        if ipv4.count > 0 {
            lookups.ipv4(&ipv4.addresses[..ipv4.count], &mut ipv4.answers[..ipv4.count]);
        }
        if ipv6.count > 0 {
            lookups.ipv6(&ipv6.addresses[..ipv6.count], &mut ipv6.answers[..ipv6.count]);
        }
    }

    /// Looks up the addresses of both families. Returns the answer of each row.
    pub(crate) fn look_up(&mut self, lookups: &(impl Lookups + ?Sized)) -> &[NextHop] {
        self.look_up_apart(lookups);
        let Self { rows, ipv4, ipv6, answers, .. } = self;
        // Where each row has an address of one family, they are in order.
        if ipv4.count == *rows {
            return &ipv4.answers[..*rows];
        }
        if ipv6.count == *rows {
            return &ipv6.answers[..*rows];
        }
        let answers = &mut answers[..*rows];
        answers.fill(NextHop::NONE);
        ipv4.answers().chain(ipv6.answers()).for_each(|(row, answer)| answers[row] = answer);
        answers
    }
}
