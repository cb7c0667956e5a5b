//! [`Machine`]: what a figure was measured on.

use fibula::engine::Level;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// The machine, as a report's header names it. What the system does not tell is empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The processor's own name.
    pub processor: String,
    /// The cores this process may run on.
    pub cores: usize,
    /// The caches of the first core, nearest first.
    pub caches: Vec<Cache>,
    /// Main memory, in bytes.
    pub memory_bytes: u64,
    /// When the kernel uses transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: String,
    /// The instruction sets that engines can be run with here.
    pub instruction_sets: Vec<&'static str>,
    /// Operating system and architecture.
    pub system: String,
}

/// One cache of a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// As in "L1 data".
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Machine {
    /// Reads the figures of this machine.
    #[must_use]
    pub fn here() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            processor: field(&text("/proc/cpuinfo"), "model name").unwrap_or_default().into(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            memory_bytes: field(&text("/proc/meminfo"), "MemTotal").and_then(size).unwrap_or_default(),
            transparent_huge_pages: chosen(&text("/sys/kernel/mm/transparent_hugepage/enabled")).into(),
            instruction_sets: Level::available().iter().map(|level| level.name()).collect(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = |text: &str| if text.is_empty() { "unknown".into() } else { text.to_owned() };
        write!(f, "{}, {} cores", unknown(&self.processor), self.cores)?;
        for Cache { name, bytes } in &self.caches {
            write!(f, ", {name} {} KiB", bytes >> 10)?;
        }
        let pages = unknown(&self.transparent_huge_pages);
        write!(f, ", memory {} MiB, transparent huge pages {pages}", self.memory_bytes >> 20)?;
        write!(f, ", {}, {}", self.instruction_sets.join(" "), self.system)
    }
}

/// Returns the value of the first line `name: value`.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(key, value)| (key.trim(), value.trim())).find(|&(key, _)| key == name).map(|(_, value)| value)
}

/// Reads a size as the kernel writes it: `32K`, `16096 kB`, `8M`.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "" => Some(number),
        "K" | "kB" => Some(number << 10),
        "M" => Some(number << 20),
        _ => None,
    }
}

/// Returns the word in brackets, by which the kernel marks a choice.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(word, _)| word)
}

/// Reads the caches in a folder of the kernel's: one folder `index*` each.
fn caches(folder: &Path) -> Vec<Cache> {
    (0..)
        .map_while(|index| {
            let folder = folder.join(format!("index{index}"));
            let read = |name| Some(std::fs::read_to_string(folder.join(name)).ok()?.trim().to_owned());
            let (level, kind) = (read("level")?, read("type")?.to_lowercase());
            let kind = if kind == "unified" { String::new() } else { format!(" {kind}") };
            Some(Cache { name: format!("L{level}{kind}"), bytes: size(&read("size")?)? })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_ways_to_write_things() {
        assert_eq!(field("processor\t: 0\nmodel name\t: A: B\n", "model name"), Some("A: B"));
        assert_eq!(
            [size("32K"), size("16 kB"), size("8M"), size("9 parsecs")].map(Option::unwrap_or_default),
            [32 << 10, 16 << 10, 8 << 20, 0]
        );
        assert_eq!(chosen("always [madvise] never"), "madvise");
    }

    #[test]
    fn this_machine_has_a_core_and_the_scalar_instructions() {
        let machine = Machine::here();
        assert!(machine.cores > 0 && machine.instruction_sets.contains(&"scalar"));
        assert!(machine.to_string().contains("cores"));
    }
}
