//! Studies: many measurements of many engines, as a report.

mod accesses;
mod best;
mod compare;
mod compare_page;
mod engines;
mod growth;
mod markdown;
mod page;
mod parallel;
mod triec;
mod update_rate;
mod vrf;
mod worst;
mod worst_changes;
mod worst_page;
mod worst_tables;

pub use accesses::{AccessCount, count_accesses};
pub use best::{BestRow, BestStudy, best_page, study_best};
pub use compare::{CompareRow, Comparison, compare};
pub use compare_page::compare_page;
pub use engines::{EngineRow, EngineStudy, StudyOptions, Trace, study_engines};
pub use growth::{GrowthRow, growth_page, growth_rows};
pub use page::engines_page;
pub use parallel::{ParallelOptions, ParallelRow, ParallelStudy, parallel_page, study_parallel};
pub use triec::{TriecRow, study_triec};
pub use update_rate::{UpdateRate, update_rate};
pub use vrf::{ManyTables, VrfKind, VrfRow, VrfWork, study_vrf, study_vrf_of};
pub use worst::{WorstOptions, WorstRow, WorstStudy, study_worst};
pub use worst_page::worst_page;
pub use worst_tables::{worst_ipv4_tables, worst_ipv6_tables};
