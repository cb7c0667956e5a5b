//! Runs fibula's lookups on CUDA cards: alone, or beside the processor.
//!
//! It builds everywhere, without a CUDA toolkit or a card. The driver and NVRTC are loaded when a
//! program asks for a card. Where there is none, the error says so in one line.
//!
//! **One source, two compilers.** NVRTC compiles a lookup of [`fibula_image`] to a kernel for the
//! card. The host compiler compiles the same text to its twin, which is an engine of fibula
//! ([`ENGINES`]), so that the oracle judges what the card runs.
//!
//! | question | room |
//! | --- | --- |
//! | how is a table stored? | [`table`]: root, nodes, leaves, chains, ends; what a change writes |
//! | how do batches get to a card and back? | [`device`]: lanes; the card; its twin of threads |
//! | how does a table on a card follow changes? | [`Resident`]: two versions and patches |
//! | who gathers the changes, and who reads meanwhile? | [`live`]: one writer, a lane a reader |
//! | and if every address names its table? | [`many`]: one kernel for all of them |
//! | how do processor and card share the work? | [`cooperative`] |
//! | how are kernels compiled? | [`nvrtc`] |
//! | how fast is it, and what is the limit? | [`study`] |
//!
//! ```
//! use fibula::engine::Config;
//! use fibula::engine::Pages;
//! use fibula::{Fib, NextHop, Rib};
//! use fibula_gpu::cooperative::{Cooperative, Options};
//! use fibula_gpu::device::Twin; // or `Cuda`, where a card is
//! use fibula_gpu::table::layout::MosaicTable;
//! use fibula_gpu::{ENGINES, Resident};
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("192.0.2.0/24".parse()?, NextHop(7));
//! let table = MosaicTable::<u8>::compile(&rib, Pages::Small)?;
//! let resident = Resident::new(Twin::default(), table.image())?;
//! let fib = Fib::build_from(ENGINES, "gpu-mosaic", &rib, Config::default())?;
//! let mut both = Cooperative::new(&resident, &fib, table.image().kernel(), Options::default())?;
//! let mut next_hops = [0_u8; 2];
//! both.look_up(&[0xC000_0201, 0x0808_0808], &mut next_hops);
//! assert_eq!(next_hops, [7, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

pub mod cooperative;
pub mod device;
mod error;
pub mod live;
pub mod many;
pub mod nvrtc;
mod resident;
pub mod study;

pub use error::Error;
pub use fibula_image::host::look_up_of_many;
pub use fibula_image::{Answer, ENGINES, Key, table};
pub use resident::{Published, Resident};
