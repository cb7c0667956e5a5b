//! Snapshots: all arrays as they are in memory. Each index that a lookup computes is checked where
//! it is used.

use super::{PlanB, PlanBView};
use crate::Error;
use crate::engine::{Config, Persist, Width};
use crate::sections::{SectionWriter, Sections, unsound};

const TREES: &str = "trees";
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
        let (had, expected) =
            (view.marks.len(), if view.trees.len() > 1 { intervals.div_ceil(64) } else { 0 });
        if had != expected {
            return Err(unsound(MARKS, format!("has {had} words, expected {expected}")));
        }
        Ok(view)
    }
}
