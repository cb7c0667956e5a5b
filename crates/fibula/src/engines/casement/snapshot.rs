//! Snapshots: all arrays as they are in memory, and the other engine. Each index that a lookup
//! computes is checked where it is used.

use super::window::Window;
use super::{Casement, CasementView};
use crate::Error;
use crate::engine::{Config, Persist, Width};
use crate::engines::planb::PlanB;
use crate::sections::{SectionWriter, Sections, unsound};

const SLOTS: &str = "slots";
const FIRST: &str = "first slot";
const POSITION: &str = "end of a slot";

impl<W: Width> Persist<u128> for Casement<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.array(SLOTS, &self.view.root);
        sections.array("short nodes", &self.view.shorts);
        sections.array("long nodes", &self.view.longs);
        sections.number(FIRST, self.view.first);
        sections.number(POSITION, self.view.position.into());
        self.view.others.save(sections);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<CasementView<W>, Error> {
        let root = sections.array(SLOTS)?;
        if root.is_empty() {
            return Err(unsound(SLOTS, "are none"));
        }
        let position = sections.number(POSITION)?;
        let is_one = |position: &u8| Window::POSITIONS.contains(position);
        let Some(position) = u8::try_from(position).ok().filter(is_one) else {
            return Err(unsound(POSITION, format!("is at bit {position}, expected {:?}", Window::POSITIONS)));
        };
        Ok(CasementView {
            root,
            shorts: sections.array("short nodes")?,
            longs: sections.array("long nodes")?,
            first: sections.number(FIRST)?,
            position,
            others: PlanB::holding(PlanB::open(sections, config)?),
        })
    }
}
