//! Snapshots: the lines as they are in memory, and the engine of the other routes.

use super::lines::{InLines, Lines};
use super::view::Others;
use super::{Ledger, LedgerView};
use crate::Error;
use crate::engine::{Config, Persist, Width};
use crate::sections::{SectionWriter, Sections, unsound};

const LINES: [&str; 2] = ["exact lines", "second exact lines"];
const LENGTH: &str = "exact length";

impl<A: InLines, W: Width> Persist<A> for Ledger<A, W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        for (name, lines) in LINES.into_iter().zip(&self.view.lines.arrays) {
            sections.array(name, lines);
        }
        sections.number(LENGTH, self.view.length.into());
        self.kept().save(sections);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<LedgerView<A, W>, Error> {
        let lines = LINES.map(|name| {
            let lines = sections.array(name)?;
            // The number of a line is computed in 32 bits.
            if lines.is_empty() || u32::try_from(lines.len()).is_err() {
                return Err(unsound(name, format!("has {} lines", lines.len())));
            }
            Ok(lines)
        });
        let [first, second] = lines;
        let length = sections.number(LENGTH)?;
        let Some(length) = u8::try_from(length).ok().filter(|&length| length <= A::BITS) else {
            return Err(unsound(LENGTH, format!("is {length}, at most {}", A::BITS)));
        };
        let others = Others::Opened(A::Others::<W>::open(sections, config)?);
        Ok(LedgerView { lines: Lines::holding([first?, second?], length), length, others })
    }
}
