//! Snapshots: the three tables, and their layout and granule.

use super::layout::Layout;
use super::table::{GRANULE_LOG2_MAX, RANGES, Table};
use super::{AsPrinted, AtHit, Form, OneTable, Wide, WideRanges};
use fibula::Error;
use fibula::parts::blocks::chunks::Pool;
use fibula::parts::memory::Pages;
use fibula::parts::sections::{SectionWriter, Sections, unsound};

const LAYOUT: &str = "layout";
const GRANULE: &str = "granule";

impl Form {
    pub(super) fn open(sections: &Sections<'_>, k: u8) -> Result<Self, Error> {
        let layout = sections.array::<u8>(LAYOUT)?;
        Ok(if layout[..] == *WideRanges::NAME.as_bytes() {
            Self::WideRanges(Table::open(sections, k)?)
        } else if layout[..] == *Wide::NAME.as_bytes() {
            Self::Wide(Table::open(sections, k)?)
        } else if layout[..] == *OneTable::NAME.as_bytes() {
            Self::OneTable(Table::open(sections, k)?)
        } else if layout[..] == *AtHit::NAME.as_bytes() {
            Self::AtHit(Table::open(sections, k)?)
        } else if layout[..] == *AsPrinted::NAME.as_bytes() {
            Self::AsPrinted(Table::open(sections, k)?)
        } else {
            Self::Paper(Table::open(sections, k)?)
        })
    }
}

impl<L: Layout> Table<L> {
    pub(super) fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made(LAYOUT, L::NAME.as_bytes());
        sections.number(GRANULE, self.granule_log2.into());
        sections.array("direct table", &self.direct);
        sections.array("short ranges", &self.short);
        sections.array("long ranges", &self.long);
    }

    fn open(sections: &Sections<'_>, k: u8) -> Result<Self, Error> {
        let granule_log2 = sections.number(GRANULE)?;
        if granule_log2 > GRANULE_LOG2_MAX.into() {
            return Err(unsound(GRANULE, format!("is {granule_log2}")));
        }
        Ok(Self {
            k,
            granule_log2: granule_log2 as u32,
            pages: Pages::Small,
            direct: sections.array_of("direct table", 1 << k)?,
            short: Pool::holding(RANGES, sections.array("short ranges")?),
            long: Pool::holding(RANGES, sections.array("long ranges")?),
        })
    }
}
