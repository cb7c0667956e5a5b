//! What comes in and goes out: routing tables and updates in the formats the field uses, address traces, and made
//! ones of every kind, the same bytes on every machine.
#![forbid(unsafe_code)]

mod error;
pub mod generate;
mod source;
pub mod table;
pub mod trace;
pub mod update;

pub use error::{Damage, Error};
pub use source::Source;
