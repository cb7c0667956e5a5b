//! [`SailLPrintedTable`]: SAIL_L with the arrays that its paper prints, in the form that a kernel
//! reads.
//!
//! Yang, Xie, Li, Fu, Liu, Li and Mathy, "Guarantee IP Lookup Performance with FIB Explosion"
//! (SIGCOMM 2014), section 5.3. It is the structure of the engine
//! [`sail_l`](fibula_engines::sail_l).
//!
//! # Layout
//! ```text
//! part     holds
//! root     BCN16: a flag, and a next hop or the number of a chunk, in 32 bits
//! leaves   BN24: the next hops of chunks of level 24; 0: C24 has a chunk
//! nodes    C24: the numbers of chunks of level 32, in 32 bits
//! ends     N32: the next hops of chunks of level 32
//! ```
//! Beside it, [`SailL`](super::layout::SailL) has one array on level 24 and stores equal chunks
//! once.
//!
//! # What differs from the paper
//! - Entries of BCN16 have 32 bits, chunks are numbered from 1, and chunk 0 is "no route", as in
//!   the engine.
//! - A change compiles the whole table again.

use super::{PARTS, Patch, Touched, Version};
use crate::{Image, Kernel, host};
use fibula::engine::{About, Config, Engine, Lookup, Meter, Update, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Memory, Pages};
use fibula::{Delta, Error, Rib};
use fibula_engines::sail_l::{NEXT_HOPS_MAX, Parts, SailL};
use zerocopy::IntoBytes;

/// The name of its kernels, before the width.
pub const KERNEL: &str = "sail_l_printed";

/// Its description as an engine.
pub const ABOUT: About = About {
    name: "gpu-sail-l-printed",
    paper: "Yang, Xie, et al., Guarantee IP Lookup Performance with FIB Explosion, SIGCOMM 2014 (SAIL_L as printed, on \
            a GPU, section 5.3)",
    year: 2014,
    updates: Updates::Rebuild,
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// The entries of a chunk.
const CHUNK: usize = 256;

/// A compiled table; see the [module page](self).
#[derive(Debug)]
pub struct SailLPrintedTable<W: Width> {
    engine: SailL<W>,
    version: Version,
    pages: Pages,
}

impl<W: Width> SailLPrintedTable<W> {
    /// The bytes of an element of each part.
    const BLOCKS: [usize; PARTS] =
        [size_of::<u32>(), CHUNK * size_of::<u32>(), CHUNK * size_of::<W>(), 1, CHUNK * size_of::<W>()];

    /// Compiles a table.
    ///
    /// # Errors
    /// If it has a next hop past 31 bits.
    pub fn compile(rib: &Rib<u32>, pages: Pages) -> Result<Self, Error> {
        let mut config = Config::default();
        config.pages = pages;
        Ok(Self { engine: Engine::build(rib, &config)?, version: Version::first(), pages })
    }

    /// Compiles the table again as the next version of this one. Returns the patch, which is all of
    /// it.
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn compile_again(&mut self, rib: &Rib<u32>) -> Result<Patch, Error> {
        *self = Self { version: self.version.next(), ..Self::compile(rib, self.pages)? };
        let touched = Touched { after: self.version, all: true, ..Touched::default() };
        Ok(touched.into_patch(self.parts(), Self::BLOCKS))
    }

    /// Returns the table as an image for a device.
    #[must_use]
    pub fn image(&self) -> Image<'_> {
        let (version, parts) = (self.version, self.parts());
        Image { kernel: Kernel::of_sail_l_printed::<W>(), version, parts, blocks: Self::BLOCKS }
    }

    pub(crate) fn parts(&self) -> [&[u8]; PARTS] {
        let Parts { bcn16, bn24, c24, n32 } =
            self.engine.parts().expect("entries of 32 bits are the default");
        [bcn16.as_bytes(), c24.as_bytes(), bn24.as_bytes(), &[], n32.as_bytes()]
    }
}

impl<W: Width> Lookup<u32> for SailLPrintedTable<W> {
    type Width = W;

    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        host::counted(self, address, meter)
    }

    fn lookup(&self, address: u32) -> W {
        let mut found = [W::default()];
        host::look_up(self, &[address], &mut found);
        found[0]
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        host::look_up(self, addresses, next_hops);
    }
}

impl<W: Width> Engine<u32> for SailLPrintedTable<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        Self::compile(rib, config.pages)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, _: &Rib<u32>, _: &[Delta<u32>]) -> Update {
        Update::Rebuild
    }

    fn memory(&self) -> Memory {
        let [bcn16, c24, bn24, _, n32] = self.parts().map(<[u8]>::len);
        Memory::new()
            .off_chip("BCN16", bcn16)
            .off_chip("BN24", bn24)
            .off_chip("C24", c24)
            .off_chip("N32", n32)
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        Engine::validate(&self.engine, rib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Prefix, Route};

    #[test]
    fn reads_go_from_bcn16_to_n32() {
        let routes = [("10.0.0.0/8", 1), ("10.1.2.0/24", 2), ("10.1.3.7/32", 3)].map(|(prefix, hop)| {
            let prefix: Prefix<u32> = prefix.parse().unwrap();
            Route { prefix, next_hop: NextHop(hop) }
        });
        let table = SailLPrintedTable::<u8>::compile(&routes.into_iter().collect(), Pages::Small).unwrap();
        let reads = [0x0A00_0000, 0x0A01_0200, 0x0A01_0307, 0x0A01_0308, 0x0B00_0000].map(|address| {
            let mut accesses = fibula::engine::Accesses::new();
            (table.lookup_metered(address, &mut accesses), accesses.loads())
        });
        assert_eq!(reads, [(1, 1), (2, 2), (3, 4), (1, 4), (0, 1)]);
        assert_eq!(table.image().bytes(), 4 * 65_536 + 2 * 256 * (1 + 4 + 1));
    }
}
