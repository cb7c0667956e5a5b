//! [`Pipeline`]: which pipelines there are; [`Sizes`]: how large their tables are.

use crate::memories::Read;
use crate::tiles::BLOCKS;
use crate::{FAR, NEAR, chunked, direct, levels, tiles};

/// A pipeline of `hdl/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipeline {
    /// SAIL_B: a bit map for each of the levels 1 to 24.
    SailB,
    /// SAIL_U: bit maps for the levels 6, 12, 18 and 24.
    SailU,
    /// SAIL_L: BCN16 and B24.
    SailL,
    /// fibula's own mosaic: root, tiles and blocks.
    Mosaic,
    /// DIR-24-8: TBL24 and TBLlong.
    Dir24_8,
}

/// The sizes of a pipeline's tables, as powers of 2. Those of next hops and numbers of chunks are
/// at most 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The bits of a next hop.
    pub next_hop_bits: u32,
    /// The bits of the number of a chunk or block of routes longer than /24.
    pub chunk_bits: u32,
    /// The bits of the number of a chunk of B24 (SAIL_L) or of a tile (mosaic).
    pub map_bits: u32,
}

impl Default for Sizes {
    /// The sizes that a full table of 2014 fits, with one next hop for each origin AS.
    fn default() -> Self {
        Self { next_hop_bits: 16, chunk_bits: 14, map_bits: 16 }
    }
}

impl Sizes {
    /// Returns the flag of an entry: the bit above its value.
    pub(crate) fn flag(&self) -> u64 {
        1 << self.next_hop_bits.max(self.chunk_bits)
    }

    /// Returns the flag of an entry of BCN16, whose value is a next hop or a chunk of B24.
    pub(crate) fn first_flag(&self) -> u64 {
        1 << self.next_hop_bits.max(self.map_bits)
    }
}

impl Pipeline {
    /// Every pipeline.
    pub const ALL: [Self; 5] = [Self::SailB, Self::SailU, Self::SailL, Self::Mosaic, Self::Dir24_8];

    /// Returns the name that files and reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SailB => "sail_b",
            Self::SailU => "sail_u",
            Self::SailL => "sail_l",
            Self::Mosaic => "mosaic",
            Self::Dir24_8 => "dir24_8",
        }
    }

    /// Returns the name of the engine of the library with the same tables.
    #[must_use]
    pub fn engine(self) -> &'static str {
        match self {
            Self::SailB => "sail-b",
            Self::SailU => "sail-u",
            Self::SailL => "sail-l",
            Self::Mosaic => "mosaic",
            Self::Dir24_8 => "dir24-8",
        }
    }

    /// Returns the number of stages on chip.
    #[must_use]
    pub fn stages(self) -> u32 {
        match self {
            Self::SailB => 24,
            Self::SailU => 4,
            Self::SailL => 2,
            Self::Mosaic => 3,
            Self::Dir24_8 => 0,
        }
    }

    /// Returns the top module, and its parameters with their values.
    #[must_use]
    pub fn module(self, sizes: &Sizes) -> (&'static str, Vec<(&'static str, u32)>) {
        let common = [("NEXT_HOP_BITS", sizes.next_hop_bits), ("CHUNK_BITS", sizes.chunk_bits)];
        let (module, own) = match self {
            Self::SailB => ("pipeline", vec![("FRONT", 1), ("STEP", 1)]),
            Self::SailU => ("pipeline", vec![("FRONT", 1), ("STEP", 6)]),
            Self::SailL => ("pipeline", vec![("FRONT", 2), ("MAP_CHUNKS", sizes.map_bits)]),
            Self::Mosaic => ("mosaic", vec![("TILE_BITS", sizes.map_bits)]),
            Self::Dir24_8 => ("pipeline", vec![("FRONT", 0)]),
        };
        (module, own.into_iter().chain(common).collect())
    }

    /// Returns the numbers and the lengths of the memories, in words.
    #[must_use]
    pub fn lengths(self, sizes: &Sizes) -> Vec<(u8, usize)> {
        let map = |level: u8| (level, 1 << level.saturating_sub(6));
        let far = (FAR, 1 << (sizes.chunk_bits + 8));
        match self {
            Self::SailB => (1..=24).map(map).chain([(NEAR, 1 << 25), far]).collect(),
            Self::SailU => [6, 12, 18, 24].map(map).into_iter().chain([(NEAR, 1 << 25), far]).collect(),
            Self::SailL => {
                let maps = [(16, 1 << 16), (24, 1 << (sizes.map_bits + 2))];
                maps.into_iter().chain([(NEAR, 1 << (sizes.map_bits + 9)), far]).collect()
            }
            Self::Mosaic => {
                vec![(18, 1 << 18), (24, 1 << (sizes.map_bits + 6)), (BLOCKS, 1 << (sizes.chunk_bits + 8))]
            }
            Self::Dir24_8 => vec![(NEAR, 1 << 24), far],
        }
    }

    /// Returns the bits of all tables on chip.
    #[must_use]
    pub fn on_chip_bits(self, sizes: &Sizes) -> u64 {
        match self {
            Self::SailB => (1..=24).map(|level| 1 << level).sum(),
            Self::SailU => [6, 12, 18, 24].map(|level| 1_u64 << level).iter().sum(),
            Self::SailL => {
                let entry = 1 + u64::from(sizes.next_hop_bits.max(sizes.map_bits));
                (entry << 16) + (1 << (sizes.map_bits + 8))
            }
            Self::Mosaic => {
                let entry = 1 + u64::from(sizes.next_hop_bits.max(sizes.chunk_bits));
                let blocks = u64::from(sizes.next_hop_bits) << (sizes.chunk_bits + 8);
                (u64::from(sizes.map_bits) << 18) + (entry << (sizes.map_bits + 6)) + blocks
            }
            Self::Dir24_8 => 0,
        }
    }

    /// Returns the bits of the two memories off chip.
    #[must_use]
    pub fn off_chip_bits(self, sizes: &Sizes) -> u64 {
        let entry = 1 + u64::from(sizes.next_hop_bits.max(sizes.chunk_bits));
        let bits = |(memory, words): (u8, usize)| match memory {
            NEAR => entry * words as u64,
            FAR => u64::from(sizes.next_hop_bits) * words as u64,
            _ => 0,
        };
        self.lengths(sizes).into_iter().map(bits).sum()
    }

    /// Returns the answer of the pipeline with these memories, by the reads of the hardware. The
    /// model of SAIL_B and SAIL_U reads the bit maps from the longest level on and stops at the
    /// first hit; the hardware reads all.
    ///
    /// # Panics
    /// If the memories are not those of the pipeline.
    #[must_use]
    pub fn lookup(self, memories: &impl Read, sizes: &Sizes, address: u32) -> u32 {
        match self {
            Self::SailB => levels::lookup(memories, sizes, 1, address),
            Self::SailU => levels::lookup(memories, sizes, 6, address),
            Self::SailL => chunked::lookup(memories, sizes, address),
            Self::Mosaic => tiles::lookup(memories, sizes, address),
            Self::Dir24_8 => direct::lookup(memories, sizes, address),
        }
    }
}
