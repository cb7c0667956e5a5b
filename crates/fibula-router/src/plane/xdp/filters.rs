//! [`Filters`]: ACLs as the program reads them (`bpf/acl.h`), and what it counted of their lines.

use super::cells::{CELL, CELL_WORDS, Cells};
use super::counters::Count;
use crate::Error;
use crate::acl::{Acl, Compiled, Field, LINES_MAX};
use crate::plane::AclTrace;
use aya::maps::{Map, PerCpuArray};
use fibula::{ErrorKind, Limit, Rib};
use std::collections::HashMap;

/// The ids of the tables of sources and destinations, of each ACL two. The kernel's tables have
/// other ids.
const TABLES: u32 = 0xFFFF_FF00;

/// How many ACLs there are at most: their tables have the ids from [`TABLES`] on.
const ACLS_MAX: u64 = 100;

/// What the program counts of each ACL: its lines, and one more for what none matches.
const COUNTS: usize = LINES_MAX + 1;

/// The ACLs of a plane.
#[derive(Debug)]
pub(super) struct Filters {
    acls: Vec<Acl>,
    compiled: Compiled,
    /// What earlier generations counted.
    before: Vec<Count>,
}

impl Filters {
    /// Compiles ACLs.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn new(acls: Vec<Acl>) -> Result<Self, Error> {
        Limit::check("ACLs", acls.len() as u64, ACLS_MAX).map_err(fibula::Error::from)?;
        let compiled = Compiled::new(&acls)?;
        let before = vec![Count::default(); acls.len() * COUNTS];
        Ok(Self { acls, compiled, before })
    }

    /// Compiles ACLs that take the place of these.
    ///
    /// # Errors
    /// If they are not the ones of the same names.
    pub(super) fn followed_by(&self, acls: Vec<Acl>) -> Result<Self, Error> {
        if !acls.iter().map(|acl| &acl.name).eq(self.acls.iter().map(|acl| &acl.name)) {
            let text = "the names of the ACLs are others: start the router again";
            return Err(fibula::Error::new(ErrorKind::Usage, text).into());
        }
        Self::new(acls)
    }

    /// Goes on with what was counted before of the lines that say the same.
    pub(super) fn inherit(&mut self, before: &Self) {
        let lists = self.acls.iter().zip(&before.acls);
        let counts = self.before.chunks_mut(COUNTS).zip(before.before.chunks(COUNTS));
        for ((acl, old), (counts, counted)) in lists.zip(counts) {
            let mut known = HashMap::new();
            for (line, count) in old.lines.iter().zip(counted) {
                // Packets meet the first of equal lines.
                known.entry(line.to_string()).or_insert(*count);
            }
            for (line, count) in acl.lines.iter().zip(counts.iter_mut()) {
                *count = known.remove(&line.to_string()).unwrap_or_default();
            }
            counts[LINES_MAX] = counted[LINES_MAX];
        }
    }

    /// Returns the tables of all ACLs with their ids, in the order in which the program expects
    /// them before all others.
    pub(super) fn tables(&self) -> impl Iterator<Item = (u32, &Rib<u32>, &Rib<u128>)> {
        let tables = self.compiled.acls.iter().flat_map(|lists| lists.tables4.iter().zip(&lists.tables6));
        tables.zip(TABLES..).map(|((ipv4, ipv6), id)| (id, ipv4, ipv6))
    }

    /// Returns the cells of a set; 0 without ACLs.
    pub(super) fn set_cells(&self) -> u32 {
        if self.acls.is_empty() { 0 } else { (self.compiled.words * size_of::<u64>() / CELL) as u32 }
    }

    /// Returns the sizes of the maps: sets, fields, and counts of lines.
    pub(super) fn sizes(&self) -> [(&'static str, u32); 3] {
        let cells = |bytes: usize| (bytes.div_ceil(CELL) as u32).max(1);
        [
            ("acl_sets", cells(self.compiled.sets.len() * size_of::<u64>())),
            ("acl_fields", cells(self.acls.len() * Field::COUNT * size_of::<u16>())),
            ("of_lines", (self.before.len() as u32).max(1)),
        ]
    }

    /// Writes sets and fields.
    pub(super) fn fill(&self, sets: &Cells, fields: &Cells) {
        if self.acls.is_empty() {
            return;
        }
        let words: Vec<u32> =
            self.compiled.sets.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect();
        sets.store(0, words.into_iter());
        let field_words = Field::COUNT * size_of::<u16>() / size_of::<u32>();
        for (lists, at) in self.compiled.acls.iter().zip(0..) {
            let pairs = lists.fields.chunks_exact(2);
            fields.store(at * field_words, pairs.map(|pair| u32::from(pair[0]) | u32::from(pair[1]) << 16));
        }
        debug_assert!(field_words.is_multiple_of(CELL_WORDS), "a field begins with a cell");
    }

    /// Adds what a generation counted that ends. If the kernel fails, only that is lost: packets
    /// meet the next one already.
    pub(super) fn carry(&mut self, of_lines: &Map) {
        match self.counted(of_lines) {
            Ok(counted) => self.before = counted,
            Err(error) => tracing::error!("{error}"),
        }
    }

    /// Returns the packets of each line that matched some: the ACL's name with the number of the
    /// line, or `none`.
    ///
    /// # Errors
    /// If the kernel fails.
    pub(super) fn rows(&self, of_lines: &Map) -> Result<Vec<(String, Count)>, Error> {
        let counted = self.counted(of_lines)?;
        let mut rows = Vec::new();
        for (acl, counts) in self.acls.iter().zip(counted.chunks(COUNTS)) {
            let lines = acl.lines.iter().map(|line| line.number.to_string()).zip(counts);
            let all = lines.chain([("none".into(), &counts[LINES_MAX])]);
            let some = all.filter(|(_, count)| count.packets > 0);
            rows.extend(some.map(|(line, count)| (format!("{} {line}", acl.name), *count)));
        }
        Ok(rows)
    }

    /// Returns what a line of an ACL said, by the number of the ACL and the index of the line.
    pub(super) fn named(&self, acl: u32, line: u32, permits: bool) -> AclTrace {
        let known = self.acls.get((acl as usize).wrapping_sub(1));
        let line = known.and_then(|acl| acl.lines.get(line as usize));
        AclTrace {
            acl: known.map(|acl| acl.name.clone()).unwrap_or_default(),
            number: line.map(|line| line.number),
            line: line.map(ToString::to_string),
            permits,
        }
    }

    fn counted(&self, of_lines: &Map) -> Result<Vec<Count>, Error> {
        let failed =
            |error: &(dyn std::error::Error + 'static)| Error::of_chain("read the counters of ACLs", error);
        let map: PerCpuArray<_, [u64; 2]> = of_lines.try_into().map_err(|error| failed(&error))?;
        let mut all = self.before.clone();
        for (acl, at) in self.acls.iter().zip(0..) {
            for line in (0..acl.lines.len()).chain([LINES_MAX]) {
                let index = at * COUNTS + line;
                let values = map.get(&(index as u32), 0).map_err(|error| failed(&error))?;
                let here: Count = values.iter().map(|&[packets, bytes]| Count { packets, bytes }).sum();
                all[index] = [all[index], here].into_iter().sum();
            }
        }
        Ok(all)
    }
}
