//! The next hops of a snapshot: a letter for the kind and the text of each, in order, and the
//! offset where each ends.

use crate::sections::{SectionWriter, Sections, unsound};

use crate::{Error, Limit, NextHop, NextHopInfo, NextHops};

const ENDS: &str = "next hop ends";
const TEXTS: &str = "next hop texts";

/// The kinds whose text [`NextHopInfo::parse`] parses, and those that are stored verbatim.
const PARSED: u8 = b'p';
const LABEL: u8 = b'l';

pub(super) fn write(next_hops: &NextHops, sections: &mut SectionWriter<'_>) {
    let (mut ends, mut texts) = (Vec::new(), Vec::new());
    for (_, info) in next_hops.iter() {
        texts.push(if matches!(info, NextHopInfo::Label(_)) { LABEL } else { PARSED });
        texts.extend_from_slice(info.to_string().as_bytes());
        ends.push(texts.len() as u64);
    }
    sections.made(ENDS, &ends);
    sections.made(TEXTS, &texts);
}

fn read(ends: &[u64], texts: &[u8], at: usize) -> Option<NextHopInfo> {
    let start = at.checked_sub(1).map_or(Some(&0), |before| ends.get(before))?;
    let bytes = texts.get(usize::try_from(*start).ok()?..usize::try_from(*ends.get(at)?).ok()?)?;
    let (&kind, text) = bytes.split_first()?;
    let text = std::str::from_utf8(text).ok()?;
    match kind {
        PARSED => Some(NextHopInfo::parse(text)),
        LABEL => Some(NextHopInfo::Label(text.into())),
        _ => None,
    }
}

/// Checks that there is a next hop of this number.
pub(super) fn check(sections: &Sections<'_>, greatest: NextHop) -> Result<(), Error> {
    Limit::check(Limit::NEXT_HOPS, greatest.0.into(), count(sections)? as u64)?;
    Ok(())
}

pub(super) fn count(sections: &Sections<'_>) -> Result<usize, Error> {
    Ok(sections.array::<u64>(ENDS)?.len())
}

pub(super) fn one(sections: &Sections<'_>, next_hop: NextHop) -> Option<NextHopInfo> {
    let at = (next_hop.0 as usize).checked_sub(1)?;
    read(&sections.array(ENDS).ok()?, &sections.array(TEXTS).ok()?, at)
}

pub(super) fn all(sections: &Sections<'_>) -> Result<NextHops, Error> {
    let (ends, texts) = (sections.array(ENDS)?, sections.array(TEXTS)?);
    let mut next_hops = NextHops::new();
    for at in 0..ends.len() {
        let info =
            read(&ends, &texts, at).ok_or_else(|| unsound(TEXTS, format!("holds no next hop {}", at + 1)))?;
        if next_hops.intern(info)?.0 as usize != at + 1 {
            return Err(unsound(TEXTS, format!("holds next hop {} twice", at + 1)));
        }
    }
    Ok(next_hops)
}
