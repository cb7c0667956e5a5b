//! `fibula table at`: a table as it was at a time.

use crate::exit::Verdict;
use crate::output::Output;
use crate::reading::{Reading, verdict};
use crate::writing::Writing;
use anyhow::{Context, ensure};
use clap::Args;
use fibula_io::Source;
use fibula_io::table::Format;
use fibula_io::update::unix_time;
use std::time::{Duration, UNIX_EPOCH};

/// Write a table as it was at a time: a dump, and the updates after it up to then
///
/// Of MRT files the paths of all peers are followed. A prefix has the best path that was left, or
/// with --peer that peer's. Updates may also be text: `A|W prefix next-hop time` on each line. What
/// a router has sent by BMP is read up to the time: `--rib` is all of it or its first part.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The time: 2026-05-11, 2026-05-11T12:00:00 or 2026-05-11 12:00:00 (UTC, or with an offset as
    /// in +02:00), or seconds since 1970
    #[arg(value_name = "TIME", value_parser = time)]
    time: Duration,
    /// The table to begin with, a file
    #[arg(long, value_name = "FILE")]
    rib: String,
    /// The updates after it, files in order of time; a dump of MRT or a recording of BMP needs none
    #[arg(long, num_args = 1.., value_name = "FILE")]
    updates: Vec<String>,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

fn time(text: &str) -> anyhow::Result<Duration> {
    const DATE: usize = "2026-05-11".len();
    if let Ok(time) = unix_time(text) {
        return Ok(time);
    }
    let expected = || "expected a time as 2026-05-11T12:00:00";
    let (date, rest) = text.split_at_checked(DATE).with_context(expected)?;
    let (clock, offset) = match rest.find(['+', '-']) {
        Some(at) => (&rest[..at], Some(offset(&rest[at..]).with_context(expected)?)),
        None => (rest, None),
    };
    let clock = if rest.is_empty() { "T00:00:00" } else { clock };
    ensure!(offset.is_none() || !clock.ends_with(['Z', 'z']), "{}", expected());
    let time = humantime::parse_rfc3339_weak(&format!("{date}{clock}")).with_context(expected)?;
    let since = || "expected a time since 1970";
    let time = time.duration_since(UNIX_EPOCH).with_context(since)?;
    match offset {
        Some((true, offset)) => time.checked_sub(offset).with_context(since),
        Some((false, offset)) => Ok(time + offset),
        None => Ok(time),
    }
}

/// Reads what a clock is before UTC, `+02:00`: whether it is ahead, and by how much.
fn offset(text: &str) -> Option<(bool, Duration)> {
    let (sign, digits) = text.split_at_checked(1)?;
    let (hours, minutes) = digits.split_once(':')?;
    let number = |text: &str, below: u64| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&number: &u64| is_number && number < below)
    };
    let seconds = number(hours, 24)? * 3600 + number(minutes, 60)? * 60;
    Some((sign == "+", Duration::from_secs(seconds)))
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let updates: Vec<Source> = self.updates.iter().map(|file| Source::from(file.as_str())).collect();
        let loaded = self.reading.read_at(&Source::from(self.rib.as_str()), &updates, self.time)?;
        let has_times = matches!(loaded.format, Format::Mrt | Format::Bmp);
        ensure!(
            has_times || !self.updates.is_empty(),
            "a table of {} has no times: name its --updates",
            loaded.format
        );
        self.writing.write(&loaded.tables, output)?;
        Ok(verdict(&loaded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let of = |text: &str| time(text).unwrap();
        assert_eq!(of("1778500800.123406"), Duration::new(1_778_500_800, 123_406_000));
        assert_eq!(of("1778500800.000000001"), Duration::new(1_778_500_800, 1));
        for text in [
            "1778500800",
            "2026-05-11T12:00:00",
            "2026-05-11 12:00:00",
            "2026-05-11T12:00:00Z",
            "2026-05-11T14:00:00+02:00",
            "2026-05-11 08:30:00-03:30",
        ] {
            assert_eq!(of(text), Duration::new(1_778_500_800, 0), "{text}");
        }
        assert_eq!(of("2026-05-11"), Duration::new(1_778_457_600, 0));
        assert_eq!(of("2026-05-11T14:00:00.5+02:00"), Duration::from_millis(1_778_500_800_500));
        for text in [
            "",
            "x",
            "-1",
            "2026-05-11+02:00x",
            "2026-05-11T12:00:00Z+02:00",
            "2026-05-11T12:00:00+2",
            "1969-12-31",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(time("1970-01-01T00:00:00+01:00").is_err());
    }
}
