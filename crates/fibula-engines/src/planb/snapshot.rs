//! Snapshots: all arrays as they are in memory. Each index that a lookup computes is checked where
//! it is used.

use super::{PlanB, PlanBView};
use fibula::Error;
use fibula::engine::{Config, Persist, Width};
use fibula::parts::sections::{SectionWriter, Sections, unsound};

const TREES: &str = "trees";
/// The most levels of a tree: 9^11 intervals are more than 32 bits can number.
const LEVELS_MAX: u32 = 11;
const MARKS: &str = "marks";

impl<W: Width> Persist<u128> for PlanB<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array("inner nodes", &self.view.inner);
        sections.array("leaves", &self.view.leaves);
        sections.array("answers", &self.view.answers);
        sections.array(MARKS, &self.view.marks);
        sections.array(TREES, &self.view.trees);
    }

    fn open(sections: &Sections<'_>, _: &Config) -> Result<PlanBView<W>, Error> {
        let view = PlanBView {
            inner: sections.array("inner nodes")?,
            leaves: sections.array("leaves")?,
            answers: sections.array("answers")?,
            marks: sections.array(MARKS)?,
            trees: sections.array(TREES)?,
        };
        let Some(first) = view.trees.first() else { return Err(unsound(TREES, "are none")) };
        let intervals = view.intervals_of(0);
        if intervals == 0 || first.levels == 0 {
            return Err(unsound(TREES, "begin with an empty one"));
        }
        // A tree of as many levels holds more intervals than an index has values.
        if let Some(deep) = view.trees.iter().find(|tree| tree.levels > LEVELS_MAX) {
            return Err(unsound(TREES, format!("have up to {} levels, at most {LEVELS_MAX}", deep.levels)));
        }
        let (had, expected) =
            (view.marks.len(), if view.trees.len() > 1 { intervals.div_ceil(64) } else { 0 });
        if had != expected {
            return Err(unsound(MARKS, format!("has {had} words, expected {expected}")));
        }
        Ok(view)
    }
}
