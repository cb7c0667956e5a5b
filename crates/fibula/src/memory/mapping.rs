//! [`Mapping`]: bytes that many arrays lie in, as a mapped file.
#![allow(unsafe_code, reason = "a slice that lives as long as what is held beside it")]

#[cfg(feature = "mmap")]
use memmap2::MmapOptions;
use std::fmt;
#[cfg(feature = "mmap")]
use std::fs::File;
#[cfg(feature = "mmap")]
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// What keeps the bytes of a [`Mapping`] where they are.
pub(super) type Owner = dyn Send + Sync;

/// Bytes that do not move and are not written, shared by whoever reads them: a file mapped into memory, or a copy of one.
#[derive(Clone)]
pub struct Mapping {
    bytes: NonNull<[u8]>,
    owner: Arc<Owner>,
}

// SAFETY: the bytes are only read, and their owner may be held and let go by any thread.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The bytes that `owner` gives out, which is asked once and then kept untouched until nobody reads them any more.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let owner = Arc::new(owner);
        Self { bytes: NonNull::from((*owner).as_ref()), owner }
    }

    /// A file, mapped: all processes that map it read the same memory. O(1), pages come as they are read.
    ///
    /// Whoever writes into a mapped file or cuts it short takes what others read from under them. fibula's own files are
    /// never changed, only replaced as a whole under their name: then a mapping goes on showing the old one.
    ///
    /// # Errors
    /// If the system cannot map it.
    #[cfg(feature = "mmap")]
    pub fn of_file(file: &File) -> io::Result<Self> {
        // Private pages that could be written are not written either, and are the file's own until then. Only memory that could be
        // may be read by atomic loads.
        // SAFETY: a file of fibula is not written to once it has its name, see above.
        Ok(Self::new(unsafe { MmapOptions::new().map_copy(file)? }))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the owner, which nobody else can reach, is held and has lent them for as long as it is borrowed.
        unsafe { self.bytes.as_ref() }
    }

    pub(super) fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping of {} bytes", self.bytes.len())
    }
}
