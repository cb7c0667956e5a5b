//! Snapshots: the three tables, and their layout and granule.

use super::layout::Layout;
use super::table::{GRANULE_LOG2_MAX, Table};
use super::view::TableView;
use super::{FormView, Wide, WideRanges, direct_bits};
use fibula::Error;
use fibula::engine::Config;
use fibula::memory::WordsView;
use fibula::sections::{SectionWriter, Sections, unsound};

const LAYOUT: &str = "layout";
const GRANULE: &str = "granule";

impl FormView {
    pub(super) fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let layout = sections.array::<u8>(LAYOUT)?;
        Ok(if layout[..] == *WideRanges::NAME.as_bytes() {
            Self::WideRanges(TableView::open(sections, config)?)
        } else if layout[..] == *Wide::NAME.as_bytes() {
            Self::Wide(TableView::open(sections, config)?)
        } else {
            Self::Paper(TableView::open(sections, config)?)
        })
    }
}

impl<L: Layout> Table<L> {
    pub(super) fn save(&self, sections: &mut SectionWriter<'_>) {
        sections.made(LAYOUT, L::NAME.as_bytes());
        sections.number(GRANULE, self.granule_log2.into());
        sections.made("direct table", &self.direct.to_vec());
        sections.made("short ranges", &self.short.to_vec());
        sections.made("long ranges", &self.long.to_vec());
    }
}

impl<L: Layout> TableView<L> {
    fn open(sections: &Sections<'_>, config: &Config) -> Result<Self, Error> {
        let k = direct_bits(config)?;
        let granule_log2 = sections.number(GRANULE)?;
        if granule_log2 > GRANULE_LOG2_MAX.into() {
            return Err(unsound(GRANULE, format!("is {granule_log2}")));
        }
        Ok(Self {
            k,
            granule_log2: granule_log2 as u32,
            direct: WordsView::holding(sections.array_of("direct table", 1 << k)?),
            short: WordsView::holding(sections.array("short ranges")?),
            long: WordsView::holding(sections.array("long ranges")?),
        })
    }
}
