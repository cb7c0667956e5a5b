//! Snapshots: the three tables, and which layout and granule they have.

use super::layout::Layout;
use super::table::{GRANULE_LOG2_MAX, RANGES, Table};
use super::{Form, Wide, WideRanges, direct_bits};
use crate::Error;
use crate::blocks::chunks::Pool;
use crate::engine::Config;
use crate::snapshot::{SectionWriter, Sections, unsound};

const LAYOUT: &str = "layout";
const GRANULE: &str = "granule";

impl Form {
    pub(super) fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        match self {
            Self::Paper(table) => table.save(sections),
            Self::WideRanges(table) => table.save(sections),
            Self::Wide(table) => table.save(sections),
        }
    }

    pub(super) fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let layout = sections.array::<u8>(LAYOUT)?;
        Ok(if layout[..] == *WideRanges::NAME.as_bytes() {
            Self::WideRanges(Table::open(sections, config)?)
        } else if layout[..] == *Wide::NAME.as_bytes() {
            Self::Wide(Table::open(sections, config)?)
        } else {
            Self::Paper(Table::open(sections, config)?)
        })
    }
}

impl<L: Layout> Table<L> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made(LAYOUT, L::NAME.as_bytes());
        sections.number(GRANULE, self.granule_log2.into());
        sections.array("direct table", &self.direct);
        sections.array("short ranges", &self.short);
        sections.array("long ranges", &self.long);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let k = direct_bits(config)?;
        let granule_log2 = sections.number(GRANULE)?;
        if granule_log2 > GRANULE_LOG2_MAX.into() {
            return Err(unsound(GRANULE, format!("is {granule_log2}")));
        }
        Ok(Self {
            k,
            granule_log2: granule_log2 as u32,
            pages: config.pages,
            direct: sections.array_of("direct table", 1 << k)?,
            short: Pool::holding(sections.array("short ranges")?, RANGES, 0),
            long: Pool::holding(sections.array("long ranges")?, RANGES, 0),
        })
    }
}
