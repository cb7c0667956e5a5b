//! The registry: every engine of this crate, one line each; and how other crates make theirs.

use super::{About, Config, View, Whole, WidthBits};
use crate::sections::Sections;
use crate::{Address, Error, ErrorKind, Family, Rib};

/// Compiles a table with an engine of one family, at a width of its answers.
pub type Builder<A> = fn(&Rib<A>, &Config, WidthBits) -> Result<Box<dyn Whole<A>>, Error>;

/// Opens a snapshot of an engine of one family, whose answers have the given width.
pub type Opener<A> = fn(&Sections<'_>, &Config, WidthBits) -> Result<Box<dyn View<A>>, Error>;

/// The constructors of an engine's compiled tables for one family.
#[derive(Clone, Copy, Debug)]
pub struct Makers<A: Address> {
    /// From a routing table.
    pub build: Builder<A>,
    /// From a snapshot.
    pub open: Opener<A>,
    /// The width of all its answers, if its layout has only one; else they have the width that is
    /// asked for.
    pub one_width: Option<WidthBits>,
}

/// One engine as the framework knows it: its description and its constructors.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its description.
    pub about: &'static About,
    /// The constructors for IPv4, if it supports IPv4.
    pub ipv4: Option<Makers<u32>>,
    /// The constructors for IPv6, if it supports IPv6.
    pub ipv6: Option<Makers<u128>>,
}

impl Entry {
    /// Returns the families it supports.
    pub fn families(&self) -> impl Iterator<Item = Family> {
        let ipv4 = self.ipv4.map(|_| Family::Ipv4);
        let ipv6 = self.ipv6.map(|_| Family::Ipv6);
        ipv4.into_iter().chain(ipv6)
    }

    /// Returns the width of all its answers, if its layout has only one.
    #[must_use]
    pub fn one_width(&self) -> Option<WidthBits> {
        let ipv4 = self.ipv4.and_then(|makers| makers.one_width);
        ipv4.or(self.ipv6.and_then(|makers| makers.one_width))
    }

    /// Returns whether it supports a family.
    #[must_use]
    pub fn does(&self, family: Family) -> bool {
        self.families().any(|f| f == family)
    }
}

/// Finds an engine by name among `engines`.
///
/// # Errors
/// If there is none of that name; the error lists the names there are.
pub fn find<'e>(engines: &'e [Entry], name: &str) -> Result<&'e Entry, Error> {
    engines.iter().find(|entry| entry.about.name == name).ok_or_else(|| {
        let names: Vec<&str> = engines.iter().map(|entry| entry.about.name).collect();
        Error::new(ErrorKind::UnknownEngine, format!("no engine {name:?} (there are: {})", names.join(", ")))
    })
}

/// Creates an [`Entry`] from a description and an engine type that is generic over the width, or
/// over family and width. A type of which answers always have 32 bits is called `wide`: it has no
/// parameter for the width. Without the feature `narrow` all are
/// compiled for 32 bits alone. Other crates use it to add their own engines.
#[macro_export]
macro_rules! engine_entry {
    ($about:expr, [ipv4] $($engine:ident)::+) => {
        $crate::engine::Entry {
            about: &$about,
            ipv4: Some($crate::engine_entry!(@make u32, $($engine)::+ <>)),
            ipv6: None,
        }
    };
    ($about:expr, [ipv6] $($engine:ident)::+) => {
        $crate::engine::Entry {
            about: &$about,
            ipv4: None,
            ipv6: Some($crate::engine_entry!(@make u128, $($engine)::+ <>)),
        }
    };
    ($about:expr, [ipv4 ipv6] $($engine:ident)::+) => {
        $crate::engine::Entry {
            about: &$about,
            ipv4: Some($crate::engine_entry!(@make u32, $($engine)::+ <u32,>)),
            ipv6: Some($crate::engine_entry!(@make u128, $($engine)::+ <u128,>)),
        }
    };
    ($about:expr, [ipv6] wide $($engine:ident)::+) => {
        $crate::engine::Entry {
            about: &$about,
            ipv4: None,
            ipv6: Some($crate::engine_entry!(@wide u128, $($engine)::+)),
        }
    };
    ($about:expr, [ipv4 ipv6] wide $($engine:ident)::+) => {
        $crate::engine::Entry {
            about: &$about,
            ipv4: Some($crate::engine_entry!(@wide u32, $($engine)::+ <u32>)),
            ipv6: Some($crate::engine_entry!(@wide u128, $($engine)::+ <u128>)),
        }
    };
    (@wide $address:ty, $engine:ty) => {
        $crate::engine::Makers::<$address> {
            build: |rib, config, _| $crate::engine::boxed::<$address, $engine>(rib, config),
            open: |sections, config, _| $crate::engine::opened::<$address, $engine>(sections, config),
            one_width: Some($crate::engine::WidthBits::U32),
        }
    };
    (@make $address:ty, $($engine:ident)::+ <$($family:ty,)?>) => {
        $crate::engine_of_widths!($address, $($engine)::+ <$($family,)?>)
    };
}

/// The constructors of an engine of every width.
#[cfg(any(test, feature = "narrow"))]
#[doc(hidden)]
#[macro_export]
macro_rules! engine_of_widths {
    ($address:ty, $($engine:ident)::+ <$($family:ty,)?>) => {
        $crate::engine::Makers::<$address> {
            build: |rib, config, width| {
                use $crate::engine::{WidthBits, boxed};
                match width {
                    WidthBits::U8 => boxed::<$address, $($engine)::+<$($family,)? u8>>(rib, config),
                    WidthBits::U16 => boxed::<$address, $($engine)::+<$($family,)? u16>>(rib, config),
                    WidthBits::U32 => boxed::<$address, $($engine)::+<$($family,)? u32>>(rib, config),
                }
            },
            open: |sections, config, width| {
                use $crate::engine::{WidthBits, opened};
                match width {
                    WidthBits::U8 => opened::<$address, $($engine)::+<$($family,)? u8>>(sections, config),
                    WidthBits::U16 => opened::<$address, $($engine)::+<$($family,)? u16>>(sections, config),
                    WidthBits::U32 => opened::<$address, $($engine)::+<$($family,)? u32>>(sections, config),
                }
            },
            one_width: None,
        }
    };
}

/// The constructors of an engine of 32-bit answers alone, to be compiled once.
#[cfg(not(any(test, feature = "narrow")))]
#[doc(hidden)]
#[macro_export]
macro_rules! engine_of_widths {
    ($address:ty, $($engine:ident)::+ <$($family:ty,)?>) => {
        $crate::engine_entry!(@wide $address, $($engine)::+ <$($family,)? u32>)
    };
}

/// Defines a static `ENGINES`, with one line for each engine of a crate: an identifier, the
/// description, the families, the type, and `(wide)` where its answers always have 32 bits. The
/// identifier is the engine's name with `-` written `_`. A line may begin with a `#[cfg(...)]`.
///
/// It also exports a macro `for_each_engine!`, which calls another macro with `identifier
/// [families]` for each engine, so that a test suite can be stamped on all of them. For one whose
/// answers always have 32 bits, `(wide)` follows.
#[macro_export]
macro_rules! registry {
    ($($(#[$if:meta])? $test_name:ident: $about:path, [$($family:ident)+] $($engine:ident)::+ $(($width:ident))?;)+) => {
        /// The engines of this crate.
        pub static ENGINES: &[$crate::engine::Entry] =
            &[$($(#[$if])? $crate::engine_entry!($about, [$($family)+] $($width)? $($engine)::+)),+];

        /// Calls `$callback!` with one `identifier [families]` for each engine of this crate, and
        /// `(wide)` after those whose answers always have 32 bits.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! for_each_engine {
            ($callback:ident) => { $callback! { $($test_name [$($family)+] $(($width))?)+ } };
        }
    };
}

use crate::engines;

registry! {
    oracle: engines::oracle::ABOUT, [ipv4 ipv6] engines::oracle::Oracle;
    intervals: engines::intervals::ABOUT, [ipv4 ipv6] engines::intervals::Intervals;
    #[cfg(any(test, feature = "engines"))]
    radix: engines::radix::ABOUT, [ipv4 ipv6] engines::radix::Radix;
    #[cfg(any(test, feature = "engines"))]
    dir24_8: engines::dir24_8::ABOUT, [ipv4] engines::dir24_8::Dir24_8;
    mosaic: engines::mosaic::ABOUT, [ipv4] engines::mosaic::Mosaic;
    mosaic_runs: engines::mosaic::RUNS, [ipv4] engines::mosaic::MosaicRuns;
    mosaic_deep: engines::mosaic::DEEP, [ipv4] engines::mosaic::MosaicDeep;
    mosaic_spans: engines::mosaic::SPANS, [ipv4] engines::mosaic::MosaicSpans;
    poptrie: engines::poptrie::ABOUT, [ipv4 ipv6] engines::poptrie::Poptrie;
    ledger: engines::front::exact::ABOUT, [ipv4 ipv6] engines::front::exact::Ledger (wide);
    casement: engines::front::window::ABOUT, [ipv4 ipv6] engines::front::window::Casement (wide);
    terrace: engines::terrace::ABOUT, [ipv6] engines::terrace::Terrace (wide);
    mosaic6: engines::mosaic6::ABOUT, [ipv6] engines::mosaic6::Mosaic6;
}
