//! [`AnyTable`]: a table of any layout and width behind one pointer, chosen by name.

#[cfg(feature = "papers")]
use super::bloom::BloomTable;
use super::layout::{Dir24_8Table, Mosaic6Table, MosaicTable, SailLTable};
#[cfg(feature = "papers")]
use super::sail::SailLPrintedTable;
use super::{Layout, Patch, Table};
use crate::{Image, Key};
use fibula::engine::Pages;
use fibula::engine::{Width, WidthBits};
use fibula::{Address, Error, ErrorKind};
use fibula::{Prefix, Rib};
use std::fmt::Debug;

/// A [`Table`], or one of another structure, without its types.
pub trait AnyTable<A: Address>: Debug + Send + Sync {
    /// See [`Table::image`].
    fn image(&self) -> Image<'_>;

    /// See [`Table::follow`] and [`Table::patch`].
    ///
    /// # Errors
    /// See there.
    fn follow(&mut self, rib: &Rib<A>, changed: &[Prefix<A>]) -> Result<Patch, Error>;

    /// See [`Table::defer`].
    fn defer(&mut self);

    /// See [`Table::readers_passed`].
    fn readers_passed(&mut self);

    /// See [`Table::waiting`].
    fn waiting(&self) -> usize;
}

impl<L: Layout, W: Width, const N: usize, const E: usize> AnyTable<L::Address> for Table<L, W, N, E> {
    fn image(&self) -> Image<'_> {
        Table::image(self)
    }

    fn follow(&mut self, rib: &Rib<L::Address>, changed: &[Prefix<L::Address>]) -> Result<Patch, Error> {
        let touched = Table::follow(self, rib, changed.iter().copied())?;
        Ok(self.patch(touched))
    }

    fn defer(&mut self) {
        Table::defer(self);
    }

    fn readers_passed(&mut self) {
        Table::readers_passed(self);
    }

    fn waiting(&self) -> usize {
        Table::waiting(self)
    }
}

/// Tables of other structures. Every change is a whole table, so nothing is written where a reader
/// may be.
#[cfg(feature = "papers")]
macro_rules! compiled_again {
    ($($table:ident)+) => {$(
        impl<W: Width> AnyTable<u32> for $table<W> {
            fn image(&self) -> Image<'_> {
                Self::image(self)
            }

            /// Compiles the table again: the patch is all of it.
            fn follow(&mut self, rib: &Rib<u32>, _: &[Prefix<u32>]) -> Result<Patch, Error> {
                self.compile_again(rib)
            }

            fn defer(&mut self) {}

            fn readers_passed(&mut self) {}

            fn waiting(&self) -> usize {
                0
            }
        }
    )+};
}

#[cfg(feature = "papers")]
compiled_again!(BloomTable SailLPrintedTable);

/// Compiles a table at a width chosen at run time.
macro_rules! at_width {
    ($table:ident, $width:expr, $rib:expr) => {
        match $width {
            WidthBits::U8 => Box::new($table::<u8>::compile($rib, Pages::Small)?) as Box<dyn AnyTable<_>>,
            WidthBits::U16 => Box::new($table::<u16>::compile($rib, Pages::Small)?),
            WidthBits::U32 => Box::new($table::<u32>::compile($rib, Pages::Small)?),
        }
    };
}

pub(crate) fn ipv4(name: &str, width: WidthBits, rib: &Rib<u32>) -> Result<Box<dyn AnyTable<u32>>, Error> {
    Ok(match name {
        "gpu-dir24-8" => at_width!(Dir24_8Table, width, rib),
        "gpu-sail-l" => at_width!(SailLTable, width, rib),
        "gpu-mosaic" => at_width!(MosaicTable, width, rib),
        #[cfg(feature = "papers")]
        "gpu-sail-l-printed" => at_width!(SailLPrintedTable, width, rib),
        #[cfg(feature = "papers")]
        "gpu-bloom" => at_width!(BloomTable, width, rib),
        _ => return Err(unknown(name)),
    })
}

pub(crate) fn ipv6(name: &str, width: WidthBits, rib: &Rib<u128>) -> Result<Box<dyn AnyTable<u128>>, Error> {
    Ok(match name {
        "gpu-mosaic6" => at_width!(Mosaic6Table, width, rib),
        _ => return Err(unknown(name)),
    })
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = crate::ENGINES.iter().map(|entry| entry.about.name).collect();
    let text = format!("{name} does not run on a card ({} do)", names.join(", "));
    Error::new(ErrorKind::UnknownEngine, text)
}

/// Compiles a table for a card, at the narrowest width that holds it if none is given.
///
/// # Errors
/// If the engine has no kernel for this family, or the table exceeds a limit.
pub fn compile<A: Key>(
    name: &str,
    width: Option<WidthBits>,
    rib: &Rib<A>,
) -> Result<Box<dyn AnyTable<A>>, Error> {
    let needed = rib.max_next_hop();
    if let Some(entry) = crate::ENGINES.iter().find(|entry| entry.about.name == name) {
        entry.about.check_next_hop(needed)?;
    }
    let width = width.unwrap_or(WidthBits::holding(needed));
    fibula::Limit::check(fibula::Limit::NEXT_HOPS, needed.0.into(), width.max().0.into())?;
    A::compile(name, width, rib)
}
