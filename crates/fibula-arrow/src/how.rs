//! [`How`] rows are read as addresses, and [`Counts`] of what they were.

use crate::column::Column;
use arrow_array::Array;
use fibula_io::address::{Embedded, Found};
use std::ops::AddAssign;

/// What is made of a row that is not null and holds no address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Null.
    #[default]
    Null,
    /// An error that names the first such row.
    Error,
}

/// How the rows of a column are read as addresses. The default takes each as it is, and invalid
/// ones as null.
///
/// ```
/// use fibula::{NextHop, Rib, Views};
/// use fibula_arrow::{Embedded, How, lookup_counted};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let views = Views::of(&rib, &Rib::new())?;
/// let texts = vec![Some("::ffff:192.0.2.1"), Some("192.0.2.1:443"), Some("::1"), None, Some("-")];
/// let column = arrow_array::StringArray::from(texts);
/// let how = How { clean: true, embedded: Embedded::mapped(), ..Default::default() };
/// let (indices, counts) = lookup_counted(&column, &views, &how).unwrap();
/// assert_eq!(indices.iter().collect::<Vec<_>>(), [Some(7), Some(7), None, None, None]);
/// assert_eq!((counts.rows, counts.nulls, counts.invalid), (5, 1, 1));
/// assert_eq!((counts.embedded, counts.unclean), (1, 1));
/// assert_eq!((counts.answered, counts.unanswered()), (2, 1));
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct How {
    /// What is made of rows that hold no address.
    pub invalid: Invalid,
    /// Whether white space, brackets, ports, zones and the lengths of host prefixes around text are
    /// left out, as by [`clean`](fibula_io::address::clean). Else such text holds no address.
    pub clean: bool,
    /// The IPv6 addresses that are looked up as the IPv4 addresses they hold.
    pub embedded: Embedded,
}

impl From<Invalid> for How {
    fn from(invalid: Invalid) -> Self {
        Self { invalid, ..Self::default() }
    }
}

/// What the rows of a column were, and how many were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The rows.
    pub rows: u64,
    /// Those that are null.
    pub nulls: u64,
    /// Those that are not null and hold no address.
    pub invalid: u64,
    /// Those whose text is an address with something around it: left out if so asked, else invalid.
    pub unclean: u64,
    /// Those whose IPv6 address was looked up as the IPv4 address it holds.
    pub embedded: u64,
    /// Those with an answer.
    pub answered: u64,
}

impl Counts {
    /// Returns the number of rows with an address and without an answer.
    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.rows - self.nulls - self.invalid - self.answered
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.invalid += other.invalid;
        self.unclean += other.unclean;
        self.embedded += other.embedded;
        self.answered += other.answered;
    }
}

/// What a row is, beside its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) is_invalid: bool,
    pub(crate) is_unclean: bool,
    pub(crate) is_embedded: bool,
}

impl Row {
    /// Returns what one row of a column is.
    pub(crate) fn of(column: &Column<'_>, row: usize, how: &How) -> Self {
        if column.is_null(row) {
            return Self::default();
        }
        let mut found = column.found(row);
        let mut is_unclean = false;
        if found == Found::Invalid {
            let cleaned = column.cleaned(row);
            is_unclean = cleaned != Found::Invalid;
            if how.clean {
                found = cleaned;
            }
        }
        let is_embedded = matches!(found, Found::Ipv6(address) if how.embedded.ipv4(address).is_some());
        Self { is_invalid: found == Found::Invalid, is_unclean, is_embedded }
    }
}

/// Returns whether a column is of 16 bytes a row and most of its addresses are IPv4-mapped: then
/// they are meant as IPv4 addresses. Looks at the first 8,192 rows.
///
/// ```
/// use arrow_array::FixedSizeBinaryArray;
/// use fibula_arrow::is_mostly_mapped;
/// use std::net::{Ipv4Addr, Ipv6Addr};
/// let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets();
/// let column = |rows: [_; 3]| FixedSizeBinaryArray::try_from_iter(rows.into_iter()).unwrap();
/// assert!(is_mostly_mapped(&column([mapped, Ipv6Addr::LOCALHOST.octets(), mapped])));
/// assert!(!is_mostly_mapped(&column([mapped, [0; 16], [0; 16]])));
/// ```
#[must_use]
pub fn is_mostly_mapped(column: &dyn Array) -> bool {
    const ROWS: usize = 8192;
    if !column.data_type().is_binary() {
        return false;
    }
    let Ok(column) = Column::of(column) else { return false };
    let mapped = Embedded::mapped();
    let (mut long, mut found) = (0, 0);
    for row in (0..column.len().min(ROWS)).filter(|&row| !column.is_null(row)) {
        if let Found::Ipv6(address) = column.found(row) {
            long += 1;
            found += usize::from(mapped.ipv4(address).is_some());
        }
    }
    found * 2 > long
}
