//! [`Figure`]: a number that an engine's paper prints of a compiled table.

use std::borrow::Cow;

/// One number about a compiled table, in the paper's own terms: full chunks, prefixes after
/// expansion, nodes.
///
/// ```
/// use fibula::engine::Figure;
/// let chunks = Figure::count("full chunks", 41_500);
/// assert_eq!((chunks.name.as_ref(), chunks.value), ("full chunks", 41_500.0));
/// let filter = Figure::new(format!("false positives of filter {}, %", 24), 3.1);
/// assert_eq!(filter.name, "false positives of filter 24, %");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What is counted, its unit last.
    pub name: Cow<'static, str>,
    /// The value.
    pub value: f64,
}

impl Figure {
    /// Creates a figure of any kind.
    pub fn new(name: impl Into<Cow<'static, str>>, value: f64) -> Self {
        Self { name: name.into(), value }
    }

    /// Creates a figure that counts things.
    pub fn count(name: impl Into<Cow<'static, str>>, value: usize) -> Self {
        Self::new(name, value as f64)
    }
}
