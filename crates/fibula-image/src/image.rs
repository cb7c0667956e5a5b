//! [`Image`]: a table to copy to where others read it, and the [`Kernel`] that reads it there.

#[cfg(feature = "papers")]
use crate::host;
use crate::host::Bodies;
#[cfg(feature = "papers")]
use crate::table::bloom::KERNEL as BLOOM;
#[cfg(feature = "papers")]
use crate::table::sail::KERNEL as SAIL_L_PRINTED;
use crate::table::{Layout, PARTS, Version};
use fibula::engine::{Width, WidthBits};
use fibula::{Address, Error, ErrorKind};

/// The kernel that a table needs.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    layout: &'static str,
    bodies: &'static Bodies,
    address_bytes: usize,
    width: WidthBits,
}

impl Kernel {
    pub(crate) fn of<L: Layout, W: Width>() -> Self {
        let address_bytes = usize::from(L::Address::BITS / 8);
        Self { layout: L::KERNEL, bodies: L::BODIES, address_bytes, width: W::BITS }
    }

    /// Returns the kernel of SAIL_L as printed at a width.
    #[cfg(feature = "papers")]
    pub(crate) fn of_sail_l_printed<W: Width>() -> Self {
        let (layout, bodies) = (SAIL_L_PRINTED, &host::sail_l_printed);
        Self { layout, bodies, address_bytes: size_of::<u32>(), width: W::BITS }
    }

    /// Returns the kernel of Bloom filters at a width.
    #[cfg(feature = "papers")]
    pub(crate) fn of_bloom<W: Width>() -> Self {
        Self { layout: BLOOM, bodies: &host::bloom, address_bytes: size_of::<u32>(), width: W::BITS }
    }

    /// Returns its entry point.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}_{}", self.layout, self.width)
    }

    /// Returns the entry point for addresses that each name their table.
    #[must_use]
    pub fn name_of_many(self) -> String {
        self.name() + "_of_many"
    }

    /// Checks that all tables are for this kernel.
    ///
    /// # Errors
    /// If one is not.
    pub fn check_all(self, kernels: impl Iterator<Item = Self>) -> Result<(), Error> {
        match kernels.map(Self::name).find(|name| *name != self.name()) {
            None => Ok(()),
            Some(other) => {
                let text = format!("tables of {} and {other} cannot be asked together", self.name());
                Err(Error::new(ErrorKind::Usage, text))
            }
        }
    }

    /// Returns the bytes of an address.
    #[must_use]
    pub fn address_bytes(self) -> usize {
        self.address_bytes
    }

    /// Returns the bytes of an answer.
    #[must_use]
    pub fn answer_bytes(self) -> usize {
        usize::from(self.width.bits() / 8)
    }

    pub(crate) fn bodies(self) -> &'static Bodies {
        self.bodies
    }

    /// Returns the width of an answer.
    #[must_use]
    pub fn width(self) -> WidthBits {
        self.width
    }
}

/// A table that is copied to where others read it; made by
/// [`Table::image`](crate::table::Table::image).
#[derive(Clone, Copy, Debug)]
pub struct Image<'t> {
    pub(crate) kernel: Kernel,
    pub(crate) version: Version,
    pub(crate) parts: [&'t [u8]; PARTS],
    pub(crate) blocks: [usize; PARTS],
}

impl<'t> Image<'t> {
    /// The kernel that reads it.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Returns the version of the table.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the bytes of each part.
    #[must_use]
    pub fn parts(&self) -> [&'t [u8]; PARTS] {
        self.parts
    }

    /// Returns the bytes of what a number in an entry counts, for each part: of a node, of the
    /// answers side by side; of one entry for the root.
    #[must_use]
    pub fn blocks(&self) -> [usize; PARTS] {
        self.blocks
    }

    /// Checks that the image is of this version.
    ///
    /// # Errors
    /// If it is not.
    pub fn is(&self, version: Version) -> Result<(), Error> {
        if self.version == version {
            return Ok(());
        }
        let text = format!("the table is {:?}, the patch makes {version:?}", self.version);
        Err(Error::new(ErrorKind::Usage, text))
    }

    /// Returns its bytes, without room to grow.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}
