//! [`Chunk`]: the rows that are looked up at once.

use crate::Lookups;
use fibula::{Address, NextHop};
use fibula_io::address::{Embedded, Found};

/// The rows of a chunk. Its arrays take some 80 KiB if all addresses are IPv6, and 28 KiB if all
/// are IPv4.
pub(crate) const ROWS: usize = 2048;

/// The addresses of a few rows, and what was found for them.
pub(crate) struct Chunk {
    rows: usize,
    pub(crate) ipv4: Half<u32>,
    pub(crate) ipv6: Half<u128>,
    /// The rows that are not null and hold no address.
    pub(crate) invalid: Vec<u16>,
    /// Whether the addresses of a family may be in another order than their rows.
    is_mixed: bool,
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

    /// Returns the row of each address, and the address.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (usize, A)> {
        let rows = self.rows[..self.count].iter().map(|&row| usize::from(row));
        rows.zip(self.addresses[..self.count].iter().copied())
    }

    /// Returns the addresses, and the row of each.
    pub(crate) fn parts(&self) -> (&[A], &[u16]) {
        (&self.addresses[..self.count], &self.rows[..self.count])
    }

    /// Returns the row and the answer of each address.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (usize, NextHop)> {
        let rows = self.rows[..self.count].iter().map(|&row| usize::from(row));
        rows.zip(self.answers[..self.count].iter().copied())
    }
}

impl Chunk {
    pub(crate) fn new() -> Box<Self> {
        let (ipv4, ipv6, invalid) = (Half::new(), Half::new(), Vec::new());
        Box::new(Self { rows: 0, ipv4, ipv6, invalid, is_mixed: false, answers: [NextHop::NONE; ROWS] })
    }

    /// Begins a chunk of at most [`ROWS`] rows.
    pub(crate) fn begin(&mut self, rows: usize) {
        self.rows = rows;
        self.ipv4.count = 0;
        self.ipv6.count = 0;
        self.invalid.clear();
        self.is_mixed = false;
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
            Found::Invalid => self.invalid.push(row as u16),
        }
    }

    /// Adds the address of a row that was taken for invalid.
    pub(crate) fn push_late(&mut self, row: usize, found: Found) {
        self.is_mixed = true;
        self.push(row, found);
    }

    /// Takes IPv6 addresses for the IPv4 addresses they hold. Returns the number of those.
    pub(crate) fn unmap(&mut self, embedded: &Embedded) -> usize {
        let (count, mut kept) = (self.ipv6.count, 0);
        self.is_mixed |= self.ipv4.count > 0;
        for at in 0..count {
            let (address, row) = (self.ipv6.addresses[at], self.ipv6.rows[at]);
            if let Some(ipv4) = embedded.ipv4(address) {
                self.ipv4.push(ipv4, row.into());
            } else {
                self.ipv6.addresses[kept] = address;
                self.ipv6.rows[kept] = row;
                kept += 1;
            }
        }
        self.ipv6.count = kept;
        count - kept
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
        let Self { rows, ipv4, ipv6, answers, is_mixed, .. } = self;
        // Where each row has an address of one family, they are in order.
        if ipv4.count == *rows && !*is_mixed {
            return &ipv4.answers[..*rows];
        }
        if ipv6.count == *rows && !*is_mixed {
            return &ipv6.answers[..*rows];
        }
        let answers = &mut answers[..*rows];
        answers.fill(NextHop::NONE);
        ipv4.answers().chain(ipv6.answers()).for_each(|(row, answer)| answers[row] = answer);
        answers
    }
}
