//! [`Compiled`]: a function compiled for every instruction set, of which one is chosen beforehand.
//!
//! [`dispatch`](super::dispatch) chooses at each call, which a batch does not notice. A call for
//! one address would.
#![allow(unsafe_code, reason = "calling code compiled for more than the baseline instruction set")]

#[cfg(target_arch = "aarch64")]
use super::Neon;
use super::{Isa, Level, Scalar, Set, Sets};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use std::fmt;

/// A function of a table and a key that [`Compiled`] compiles for every instruction set.
pub trait Function {
    /// What it reads.
    type Table;
    /// What it looks for.
    type Key;
    /// The type of its result.
    type Output;

    /// The sets that it is compiled for; see [`dispatch`](super::dispatch).
    const SETS: Sets = Sets::All;

    /// Runs the function. Implementations, and all they call on the hot path, are
    /// `#[inline(always)]`, as with [`Kernel::run`](super::Kernel::run).
    fn call<I: Isa>(isa: I, table: &Self::Table, key: Self::Key) -> Self::Output;
}

/// A copy of a [`Function`] for one instruction set.
pub(super) type Pointer<F> =
    unsafe fn(&<F as Function>::Table, <F as Function>::Key) -> <F as Function>::Output;

/// A [`Function`] compiled for the instruction set of a [`Level`]: a pointer to that copy.
pub struct Compiled<F: Function> {
    level: Level,
    /// The copy for `level`.
    pointer: Pointer<F>,
}

impl<F: Function> Compiled<F> {
    /// Chooses the copy for an instruction set.
    #[must_use]
    pub(crate) fn for_level(level: Level) -> Self {
        Self { level, pointer: Self::pointer(level) }
    }

    fn pointer(level: Level) -> Pointer<F> {
        let baseline: Pointer<F> = |table: &F::Table, key: F::Key| F::call(Scalar, table, key);
        if const { matches!(F::SETS, Sets::Baseline) } {
            return baseline;
        }
        #[cfg(target_arch = "x86_64")]
        if const { matches!(F::SETS, Sets::Words) } {
            return if level.0 == Set::Scalar { baseline } else { avx2::function::<F>() };
        }
        match level.0 {
            Set::Scalar => baseline,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => avx2::function::<F>(),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => avx512::function::<F>(),
            #[cfg(target_arch = "aarch64")]
            Set::Neon => |table: &F::Table, key: F::Key| F::call(Neon, table, key),
        }
    }

    /// Returns the instruction set.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Calls the function.
    #[inline(always)]
    pub fn call(&self, table: &F::Table, key: F::Key) -> F::Output {
        // SAFETY: the copy needs the instructions of `level` and nothing else, and a `Level` exists
        // only where the processor has them.
        unsafe { (self.pointer)(table, key) }
    }
}

impl<F: Function> fmt::Debug for Compiled<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiled for {}", self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::KEYS;

    struct CountBelow;
    impl Function for CountBelow {
        type Table = [u64; KEYS];
        type Key = u64;
        type Output = (&'static str, u32);
        #[inline(always)]
        fn call<I: Isa>(isa: I, line: &[u64; KEYS], key: u64) -> (&'static str, u32) {
            (I::NAME, isa.count_below(line, key))
        }
    }

    #[test]
    fn each_level_calls_its_own_copy() {
        let line = [9, 4, 7, u64::MAX, 0, 7, 1 << 63, 2];
        for &level in Level::available() {
            let compiled = Compiled::<CountBelow>::for_level(level);
            assert_eq!((compiled.level(), compiled.call(&line, 7)), (level, (level.name(), 3)));
        }
    }
}
