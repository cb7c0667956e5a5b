//! Prefixes that readers may have missed: until a grace period has ended, nothing above them may
//! change.
//!
//! A lookup that tries several levels, the longest routes first, does not read them at one moment.
//! A reader that missed a route just before it appeared goes on to the shorter ones, and must find
//! there what was there then. So a change above [waits](fibula::engine::Update::Waiting) until all
//! readers have passed a quiescent state.

use fibula::Prefix;
use fibula::blocks::retired::Retired;

/// The most prefixes that may settle before readers have to pass: each is checked for every change
/// above.
const MOST: usize = 1 << 13;

/// The prefixes that readers may have missed. Nothing is recorded where nobody else reads.
///
/// ```
/// use fibula_engines::blocks::settling::Settling;
/// let [above, below] = ["10.0.0.0/8".parse()?, "10.1.0.0/18".parse()?];
/// let mut settling = Settling::default();
/// settling.share();
/// settling.has_appeared(below);
/// assert!(settling.is_below(above, 16) && !settling.is_below(above, 18));
/// settling.readers_passed();
/// settling.readers_passed();
/// assert!(!settling.is_below(above, 16));
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Settling {
    missed: Option<Retired<Prefix<u32>>>,
}

impl Settling {
    /// Lets others read from now on.
    pub fn share(&mut self) {
        self.missed = Some(Retired::new());
    }

    /// Records that something has appeared at `prefix`, or at some slots under it, where nothing
    /// was.
    pub fn has_appeared(&mut self, prefix: Prefix<u32>) {
        if let Some(missed) = &mut self.missed {
            missed.retire(prefix);
        }
    }

    /// Returns whether a change at `prefix` has to wait: readers may have missed something below it
    /// that is longer than `len`. O(what has appeared since they passed).
    #[must_use]
    pub fn is_below(&self, prefix: Prefix<u32>, len: u8) -> bool {
        let Some(missed) = &self.missed else { return false };
        missed.len() > MOST || missed.iter().any(|below| below.len() > len && prefix.covers(*below))
    }

    /// Ends a grace period: no reader has missed what appeared before the previous call.
    pub fn readers_passed(&mut self) {
        if let Some(missed) = &mut self.missed {
            missed.readers_passed().for_each(drop);
        }
    }
}
