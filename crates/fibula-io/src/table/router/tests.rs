//! What holds of every layout of routers' text: nothing that is not known passes without a word.

use super::super::{Format, ReadOptions, parse};
use super::samples::SAMPLES;
use super::{Account, account};
use crate::scan;

/// Returns what is told of a text and how many times, or the error.
fn told(format: Format, text: &str) -> Result<Vec<(String, u64)>, String> {
    let options = ReadOptions { format: Some(format), ..Default::default() };
    let loaded = parse(text.as_bytes(), &options).map_err(|error| error.to_string())?;
    Ok(loaded.report.notes.iter().map(|note| (note.what.to_string(), note.count)).collect())
}

#[test]
fn a_word_that_is_not_known_is_told_wherever_it_is() {
    const WORD: &str = "frobnicate";
    let mut silent = Vec::new();
    for &(format, text) in SAMPLES {
        let before = told(format, text).unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
        for (number, line) in text.lines().enumerate() {
            let inner = line.len() - line.trim_start().len()..=line.trim_end().len();
            let is_boundary = |at: &usize| {
                let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
                is_space(line[..*at].chars().next_back()) || is_space(line[*at..].chars().next())
            };
            for at in inner.filter(|at| line.is_char_boundary(*at)).filter(is_boundary) {
                let changed = format!("{} {WORD} {}", &line[..at], &line[at..]);
                let changed = if at == line.len() - line.trim_start().len() {
                    format!("{}{WORD} {}", &line[..at], &line[at..])
                } else {
                    changed
                };
                let lines: Vec<&str> = text.lines().collect();
                let whole = [&lines[..number], &[&*changed], &lines[number + 1..]].concat().join("\n");
                let count = |what: &str| {
                    before.iter().find(|(known, _)| known == what).map_or(0, |(_, count)| *count)
                };
                let is_more = |(what, after): &(String, u64)| *after > count(what);
                let is_silent = told(format, &whole).is_ok_and(|after| !after.iter().any(is_more));
                if is_silent {
                    silent.push(format!("{format}: {changed}"));
                }
            }
        }
    }
    assert!(
        silent.is_empty(),
        "not told:
{}",
        silent.join(
            "
"
        )
    );
}

#[test]
fn every_line_is_used_blank_or_told() {
    for &(format, text) in SAMPLES {
        let noisy = format!("{text}\nodd line\n\n{text}");
        let found = account(format, noisy.as_bytes()).unwrap();
        let lines = scan::lines(noisy.as_bytes()).count() as u64;
        let Account { used, blank, told, .. } = found;
        assert_eq!(used + blank + told, lines, "{format}: {found:?}");
        assert!(told > 0, "{format}");
    }
}

#[test]
fn every_layout_is_recognised_and_none_is_taken_for_text() {
    for &(format, text) in SAMPLES {
        let loaded =
            parse(text.as_bytes(), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(loaded.format, format, "{text}");
        assert!(!loaded.tables.ipv4.is_empty() || !loaded.tables.ipv6.is_empty(), "{text}");
    }
}

#[test]
fn no_line_of_a_changed_text_is_lost() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..300 {
        let count = random.usize(1..40);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(count).collect();
        crate::fuzzing::router_text(&bytes);
    }
}
