//! Texts of routers: samples of every layout, changed as bytes say.

use crate::scan;
use crate::table::{Account, Format, ReadOptions, SAMPLES, account, parse};

/// Reads a sample whose lines the bytes changed, as every layout of routers' text. No line is lost:
/// each is used, blank or told.
///
/// # Panics
/// If one is lost.
pub fn router_text(bytes: &[u8]) {
    let Some((&first, changes)) = bytes.split_first() else { return };
    let text = changed(usize::from(first), changes);
    let lines = scan::lines(text.as_bytes()).count() as u64;
    for format in Format::ALL {
        let Some(Account { used, blank, told, .. }) = account(format, text.as_bytes()) else { continue };
        assert_eq!(used + blank + told, lines, "{format}: {used} used, {blank} blank, {told} told\n{text}");
    }
    let _ = parse(text.as_bytes(), &ReadOptions::default());
}

/// Returns a sample with changes, each of three bytes: what is done, and where.
fn changed(sample: usize, changes: &[u8]) -> String {
    const LINES_MAX: usize = 200;
    let of_sample = |number: usize| SAMPLES[number % SAMPLES.len()].1;
    let line_of = |number: usize, at: usize| {
        let count = of_sample(number).lines().count();
        of_sample(number).lines().nth(at % count).unwrap_or_default()
    };
    let mut lines: Vec<String> = of_sample(sample).lines().map(str::to_owned).collect();
    for change in changes.as_chunks::<3>().0 {
        let [what, at, place] = change.map(usize::from);
        let number = at % lines.len().max(1);
        let Some(line) = lines.get(number) else { break };
        let mut boundaries = line.char_indices().map(|(at, _)| at).chain([line.len()]);
        let cut = boundaries.nth(place % (line.chars().count() + 1)).unwrap_or_default();
        let (before, after) = line.split_at(cut);
        let has_room = lines.len() < LINES_MAX;
        match what % 8 {
            0 => _ = lines.remove(number),
            1 if has_room => lines.insert(place % lines.len(), line.clone()),
            2 => lines.swap(number, 0),
            3 => {
                let other = line_of(what / 8, place);
                let word = other.split_ascii_whitespace().nth(at % 8).unwrap_or("frobnicate");
                lines[number] = format!("{before} {word} {after}");
            }
            4 if has_room => lines.insert(number, line_of(what / 8, place).to_owned()),
            5 => lines[number].truncate(cut),
            6 => {
                let odd = char::from((what / 8 * 4 + at % 4) as u8 & 0x7F);
                lines[number] = format!("{before}{odd}{after}");
            }
            _ => _ = lines[number].drain(..cut),
        }
    }
    lines.join("\n")
}
