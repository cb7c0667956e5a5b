//! The engines, one module each: the paper it comes from, its layout drawn, a worked example, its
//! limits, and what differs from the paper and why.

#![forbid(unsafe_code)]

/// Defines a macro that evaluates one expression for the table inside an enum, whatever its layout:
/// `layouts!(($) with_table: Narrow, Wide)` lets an engine write `with_table!(&self.form,
/// Form::table => table.memory())`. The enum of what lookups read has the same variants.
#[cfg(feature = "papers")]
macro_rules! layouts {
    (($d:tt) $name:ident: $($variant:ident),+) => {
        macro_rules! $name {
            ($d layout:expr, $d layouts:ident::$d table:ident => $d result:expr) => {
                match $d layout {
                    $($d layouts::$variant($d table) => $d result),+
                }
            };
        }
    };
}

#[cfg(feature = "papers")]
pub mod bloom;
#[cfg(feature = "papers")]
pub mod bloom6;
#[cfg(feature = "papers")]
pub mod bloom_naive;
pub mod casement;
pub mod dir24_8;
#[cfg(feature = "papers")]
pub mod dxr;
#[cfg(feature = "papers")]
pub mod hybrid;
#[cfg(feature = "papers")]
pub mod lc_trie;
pub mod ledger;
#[cfg(feature = "papers")]
pub mod lulea;
#[cfg(feature = "papers")]
pub mod miht;
pub mod mosaic;
pub mod mosaic6;
pub mod oracle;
#[cfg(feature = "papers")]
pub mod pbf;
pub mod planb;
pub mod poptrie;
pub mod radix;
#[cfg(feature = "papers")]
pub mod sail_b;
#[cfg(feature = "papers")]
pub mod sail_l;
#[cfg(feature = "papers")]
pub mod sail_l6;
#[cfg(feature = "papers")]
pub mod sail_m;
#[cfg(feature = "papers")]
pub mod sail_u;
pub mod terrace;
#[cfg(test)]
mod testing;
#[cfg(feature = "papers")]
pub mod tree_bitmap;
#[cfg(feature = "papers")]
pub mod triec;
