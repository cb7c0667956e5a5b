//! Studies: many measurements of many engines, as rows. `fibula-kit` makes pages of them.

mod accesses;
mod best;
mod compare;
mod engines;
mod growth;
mod parallel;
mod update_rate;
mod vrf;
mod worst;
mod worst_changes;
mod worst_tables;

pub use accesses::{AccessCount, count_accesses};
pub use best::{BestRow, BestStudy, study_best};
pub use compare::{CompareRow, Comparison, LostRow, compare};
pub use engines::{EngineEvidence, EngineRow, EngineStudy, StudyOptions, Trace, study_engines};
pub use growth::{GrowthRow, growth_rows};
pub use parallel::{ParallelOptions, ParallelRow, ParallelStudy, study_parallel};
pub use update_rate::{UpdateRate, update_rate};
pub use vrf::{ManyTables, VrfKind, VrfRow, VrfWork, study_vrf, study_vrf_of};
pub use worst::{WorstOptions, WorstRow, WorstStudy, study_worst};
pub use worst_tables::{worst_ipv4_tables, worst_ipv6_tables};
