//! Studies: many engines on one table, measured in every way, as a report.

mod accesses;
mod engines;
mod page;
mod triec;
mod update_rate;

pub use accesses::{AccessCount, count_accesses};
pub use engines::{EngineRow, EngineStudy, StudyOptions, Trace, study_engines};
pub use page::engines_page;
pub use triec::{TriecRow, study_triec};
pub use update_rate::{UpdateRate, update_rate};
