//! What has just appeared where readers look first: until they have passed, nothing above it may change.
//!
//! A lookup that asks several places, the longest routes first, does not ask them at one moment. A reader that has missed a route
//! just before it came goes on to the shorter ones, and must find there what was there then. So a change above
//! [waits](crate::engine::Update::Waiting) until every reader has passed what came below it.

use super::retired::Retired;
use crate::Prefix;

/// How many may settle before readers have to pass: each is looked at for every change above.
const MOST: usize = 1 << 13;

/// The prefixes of what readers may have missed. Nothing is kept where nobody else reads.
///
/// ```
/// use fibula::blocks::settling::Settling;
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
    /// From now on others read.
    pub fn share(&mut self) {
        self.missed = Some(Retired::new());
    }

    /// Something has appeared where there was nothing: all under the prefix, or some.
    pub fn has_appeared(&mut self, prefix: Prefix<u32>) {
        if let Some(missed) = &mut self.missed {
            missed.retire(prefix);
        }
    }

    /// Whether a change of what stands for a prefix has to wait for readers who may have missed something longer than `len` below it. O(what
    /// has appeared since they passed).
    #[must_use]
    pub fn is_below(&self, prefix: Prefix<u32>, len: u8) -> bool {
        let Some(missed) = &self.missed else { return false };
        missed.len() > MOST || missed.iter().any(|below| below.len() > len && prefix.covers(*below))
    }

    /// Every reader has passed what appeared before the last call of this.
    pub fn readers_passed(&mut self) {
        if let Some(missed) = &mut self.missed {
            missed.readers_passed().for_each(drop);
        }
    }
}
