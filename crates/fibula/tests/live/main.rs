//! One writer, and readers in threads of their own, of all that is published whole: each guard
//! shows one publication. These also run under the thread sanitizer.

mod set;
#[cfg(feature = "mmap")]
mod snapshot;
mod table;
