//! [`Budget`]: what a table may take while it is read.

use std::fmt;
use std::str::FromStr;

/// The memory and the routes that a table may take.
///
/// A reader counts what it holds: a route at four times its own size (in the list that grows, in
/// the ordered map, and in a compiled table), a next hop with its text, a document that is held as
/// a whole with its bytes. So the figure is an estimate, right within a factor of two.
///
/// ```
/// use fibula_io::table::{ReadOptions, parse};
/// use fibula_io::Budget;
/// let budget = Budget { routes: 1, ..Budget::default() };
/// let options = ReadOptions { budget: Some(budget), ..ReadOptions::default() };
/// let error = parse(b"10.0.0.0/8 a\n192.0.2.0/24 b\n", &options).unwrap_err();
/// assert_eq!(error.to_string(), "memory: the table has more than 1 routes, the limit");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The bytes of memory.
    pub memory: u64,
    /// The distinct prefixes of both families.
    pub routes: u64,
}

impl Default for Budget {
    /// Half of the machine's memory, or of what this process's container may take of it; no limit
    /// where the system does not tell.
    fn default() -> Self {
        Self { memory: of_machine().map_or(u64::MAX, |bytes| bytes / 2), routes: u64::MAX }
    }
}

impl Budget {
    /// The environment variable that [`Budget::of_environment`] reads.
    pub const VARIABLE: &str = "FIBULA_MAX_MEMORY";

    /// Returns the default, with the memory that `FIBULA_MAX_MEMORY` says, as in `512M`.
    ///
    /// # Errors
    /// If that is no [`Bytes`].
    pub fn of_environment() -> Result<Self, String> {
        let Some(text) = std::env::var_os(Self::VARIABLE) else { return Ok(Self::default()) };
        let bytes = text.to_string_lossy().parse::<Bytes>();
        let bytes = bytes.map_err(|error| format!("{}: {error}", Self::VARIABLE))?;
        Ok(Self { memory: bytes.0, ..Self::default() })
    }
}

/// A number of bytes, as in `1048576`, `1024K`, `1M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u32); 5] = [("", 0), ("K", 10), ("M", 20), ("G", 30), ("T", 40)];

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.strip_suffix("iB").unwrap_or(unit);
        let shift = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name));
        let bytes =
            number.parse::<u64>().ok().zip(shift).and_then(|(n, (_, shift))| n.checked_mul(1 << shift));
        bytes.map(Self).ok_or_else(|| format!("{text:?} is no number of bytes (expected as in 512M or 4G)"))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole =
            UNITS.iter().rfind(|(_, shift)| self.0 >= 1 << shift && self.0.trailing_zeros() >= *shift);
        let (name, shift) = whole.unwrap_or(&UNITS[0]);
        write!(f, "{}{name}", self.0 >> shift)
    }
}

/// Returns the machine's memory in bytes, or the limit of this process's control group.
fn of_machine() -> Option<u64> {
    let total = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = total.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    let limit = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    Some(limit.and_then(|limit| limit.trim().parse().ok()).map_or(total, |limit: u64| limit.min(total)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in [("0", 0), ("1000", 1000), ("4K", 4096), ("512M", 512 << 20), ("2GiB", 2 << 30)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "M", "1.5G", "-1", "1X", "99999999999T"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert_eq!([0, 1000, 4096, 3 << 30].map(|bytes| Bytes(bytes).to_string()), ["0", "1000", "4K", "3G"]);
    }

    #[test]
    fn half_of_the_machine_is_the_default() {
        assert_eq!(Budget::default().memory, of_machine().map_or(u64::MAX, |bytes| bytes / 2));
        assert!(Budget::default().memory > 1 << 20);
    }
}
