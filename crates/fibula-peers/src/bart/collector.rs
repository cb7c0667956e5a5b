//! [`Collector`]: the routes of many peers in one table of `bart`.

unsafe extern "C" {
    fn fibula_bart_collector_new() -> usize;
    fn fibula_bart_collector_change(collector: usize, changes: *const PeerRoute, count: usize);
    fn fibula_bart_collector_lookup(collector: usize, addresses: *const u32, origins: *mut u32, count: usize);
    fn fibula_bart_return();
}

/// A route of a peer, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PeerRoute {
    /// The first address of its prefix, and the prefix's length.
    pub address: u32,
    /// From 0 to 32.
    pub length: u32,
    /// The peer's address.
    pub peer: u32,
    /// The length of the AS path. The shortest is best, then the lowest peer.
    pub path_length: u32,
    /// The AS that originates it; 0 withdraws it.
    pub origin: u32,
}

/// The routes of many peers, as flow collectors keep them: one table, whose values are lists of
/// routes. Go's memory is never freed.
#[derive(Debug)]
pub struct Collector(usize);

impl Default for Collector {
    fn default() -> Self {
        // SAFETY: it takes nothing.
        Self(unsafe { fibula_bart_collector_new() })
    }
}

impl Collector {
    /// Applies changes under one lock.
    pub fn change(&self, changes: &[PeerRoute]) {
        // SAFETY: Go reads as many as said, and only during the call. It locks the table.
        unsafe { fibula_bart_collector_change(self.0, changes.as_ptr(), changes.len()) }
    }

    /// Writes the origin of the best route for each address, or 0, under one lock.
    ///
    /// # Panics
    /// If the two have different lengths.
    pub fn lookup(&self, addresses: &[u32], origins: &mut [u32]) {
        assert_eq!(addresses.len(), origins.len());
        let (from, to) = (addresses.as_ptr(), origins.as_mut_ptr());
        // SAFETY: both arrays are as long as said. Go locks the table.
        unsafe { fibula_bart_collector_lookup(self.0, from, to, origins.len()) }
    }

    /// Collects Go's garbage and gives its memory back to the system.
    pub fn settle(&self) {
        // SAFETY: it takes nothing.
        unsafe { fibula_bart_return() }
    }
}
