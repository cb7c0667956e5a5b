//! [`Level`]: an instruction set that this processor has, as a value.

#[cfg(target_arch = "aarch64")]
use super::Neon;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512, avx2, avx512};
use super::{Isa, Scalar};
use std::fmt;

/// An instruction set, whether or not this processor has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Set {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// An instruction set that this processor has. Only [`Level::best`] and its siblings create one, so
/// holding a `Level` is the proof that its instructions may be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub(super) Set);

impl Level {
    /// The baseline, which every processor of the architecture has.
    pub const SCALAR: Self = Self(Set::Scalar);

    /// Returns the widest instruction set of this processor.
    #[must_use]
    pub fn best() -> Self {
        *Self::available().last().unwrap_or(&Self::SCALAR)
    }

    /// Returns every instruction set of this processor, from scalar up.
    #[must_use]
    pub fn available() -> &'static [Self] {
        const ALL: &[Level] = &[
            Level(Set::Scalar),
            #[cfg(target_arch = "x86_64")]
            Level(Set::Avx2),
            #[cfg(target_arch = "x86_64")]
            Level(Set::Avx512),
            #[cfg(target_arch = "aarch64")]
            Level(Set::Neon),
        ];
        let missing = ALL.iter().rev().take_while(|level| !level.is_detected());
        &ALL[..ALL.len() - missing.count()]
    }

    /// Returns whether this processor has the instruction set. Each set contains those before it.
    fn is_detected(self) -> bool {
        match self.0 {
            Set::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => avx2::detected(),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => avx512::detected(),
            #[cfg(target_arch = "aarch64")]
            Set::Neon => true,
        }
    }

    /// Returns the instruction set of this name, if this processor has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::available().iter().copied().find(|level| level.name() == name)
    }

    /// Returns the name: `scalar`, `avx2`, `avx512` or `neon`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Scalar => Scalar::NAME,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => Avx2::NAME,
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => Avx512::NAME,
            #[cfg(target_arch = "aarch64")]
            Set::Neon => Neon::NAME,
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::best()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
