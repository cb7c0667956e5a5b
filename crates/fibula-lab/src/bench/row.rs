//! [`BenchRow`]: one measurement, as scripts read it.

use fibula::engine::Memory;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// One engine's figures at one number of threads. The fields are the keys of `bench --format
/// ndjson`, in this order. They do not change: scripts rely on them.
///
/// A wrong answer leaves the fields of the speeds `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRow {
    /// The engine's specification; `best` with the name of the chosen engine, as in `best
    /// (sail-l)`.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: u64,
    /// The different next hops they have.
    pub next_hops: u64,
    /// The trace's name.
    pub trace: String,
    /// How many addresses each pass streams, all threads together.
    pub addresses: u64,
    /// The number of threads, each over its own part of the addresses.
    pub threads: u64,
    /// Addresses handed over in one call.
    pub batch: u64,
    /// The bytes of another working set that each thread walked before each batch, where any were
    /// asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polluted: Option<u64>,
    /// The instruction set.
    pub isa: String,
    /// Whether the engine was asked to use huge pages.
    pub huge_pages: bool,
    /// Million lookups a second, all threads together: the median of the passes.
    pub mlps: Option<f64>,
    /// The slowest pass.
    pub mlps_min: Option<f64>,
    /// The fastest pass.
    pub mlps_max: Option<f64>,
    /// Latency: nanoseconds for a lookup whose address depends on the answer before; the median of
    /// the passes.
    pub ns_dependent: Option<f64>,
    /// Nanoseconds for a lookup by a call of its own, whose address does not depend on the answer
    /// before; the median of the passes.
    pub ns_single: Option<f64>,
    /// The engine's memory in bytes.
    pub bytes: u64,
    /// The bytes of each part, as an object.
    #[serde(serialize_with = "by_part")]
    pub bytes_by_part: Vec<(String, u64)>,
    /// The build time in milliseconds.
    pub build_ms: f64,
    /// Addresses of the trace whose answers were compared with the oracle's before timing.
    pub checked: u64,
    /// The number of these answers, or of the same ones in the timed passes, that were wrong.
    pub mismatches: u64,
    /// The machine's ceiling: million random independent 4-byte loads a second from an array of
    /// `bytes`, in the same run and loop and with the same number of threads; the median of the
    /// passes.
    pub limit_mlps: Option<f64>,
    /// `mlps / limit_mlps`. More than 1 where a trace's locality leaves most of the table
    /// untouched.
    pub limit_share: Option<f64>,
    /// How threads shared the addresses, where they did not have one part each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When answers could be delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

fn by_part<S: Serializer>(parts: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(parts.len()))?;
    for (name, bytes) in parts {
        map.serialize_entry(name, bytes)?;
    }
    map.end()
}

/// Returns the parts of a memory with the bytes of equal names added: an object holds a name once.
pub(super) fn parts(memory: &Memory) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = Vec::new();
    for part in &memory.parts {
        match parts.iter_mut().find(|(name, _)| name == part.name) {
            Some((_, bytes)) => *bytes += part.bytes as u64,
            None => parts.push((part.name.into(), part.bytes as u64)),
        }
    }
    parts
}

/// Rounds a figure to three decimals: more would be noise.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Returns the median of some samples; the mean of the middle two where their number is even.
/// `None` of none.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn parts_of_one_name_are_one() {
        let memory = Memory::new().on_chip("B", 1).off_chip("N", 2).off_chip("N", 3);
        assert_eq!(parts(&memory), [("B".into(), 1), ("N".into(), 5)]);
    }
}
