//! [`Mapping`]: bytes that many arrays read in place, such as a mapped file.
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

/// The owner of the bytes of a [`Mapping`], which keeps them at their address.
pub(super) type Owner = dyn Send + Sync;

/// Bytes that neither move nor change, shared by all who read them: a file mapped into memory, or a
/// copy of one.
#[derive(Clone)]
pub struct Mapping {
    bytes: NonNull<[u8]>,
    owner: Arc<Owner>,
}

// SAFETY: the bytes are only read, and any thread may hold and drop their owner.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Creates a mapping of the bytes of `owner`. Calls its `as_ref` once, and then keeps it
    /// untouched until nobody reads the bytes any more.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let owner = Arc::new(owner);
        Self { bytes: NonNull::from((*owner).as_ref()), owner }
    }

    /// Maps a file: all processes that map it read the same memory. O(1); pages are loaded as they
    /// are read.
    ///
    /// Writing into a mapped file, or truncating it, removes what others read. fibula never changes
    /// its own files. It only replaces them as a whole under their name, and a mapping then still
    /// shows the old one.
    ///
    /// # Errors
    /// If the system cannot map it.
    #[cfg(feature = "mmap")]
    pub fn of_file(file: &File) -> io::Result<Self> {
        // Private writable pages stay the file's own until they are written, and they never are.
        // They must be writable because atomic loads are allowed only on memory that could be
        // written.
        // SAFETY: a file of fibula is not written to once it has its name; see above.
        Ok(Self::new(unsafe { MmapOptions::new().map_copy(file)? }))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `self` holds the owner, which nobody else can reach. It has lent the bytes for as
        // long as it lives.
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
