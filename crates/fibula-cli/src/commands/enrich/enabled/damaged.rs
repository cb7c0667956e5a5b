//! Files that something has happened to: each is answered, or refused with one line, and what was
//! there before stays. No thread panics.

use super::super::Arguments;
use super::run;
use crate::output::Output;
use clap::Parser;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The damaged files of each format.
const FILES: usize = 400;

#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    arguments: Arguments,
}

/// Adds the answers of `table`, which may have a name, to a file.
fn enriched(input: &Path, output: &Path, table: &str) -> anyhow::Result<()> {
    let [input, output] = [input, output].map(|path| path.to_str().unwrap());
    let words = ["enrich", input, "-c", "src", "-c", "flow.dst", "-t", table, "-o", output, "--threads", "2"];
    // CSV has no columns within others.
    let words = words
        .into_iter()
        .map(|word| if input.contains(".csv") { word.trim_start_matches("flow.") } else { word });
    run(&Alone::parse_from(words).arguments, &Output::new(None)).map(drop)
}

/// Does something to bytes, by a random source: what fails on a disk, in a transfer or in a program
/// that writes.
fn damage(bytes: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    const TOKENS: [&[u8]; 8] = [b"\"", b"\n", b",", b"{", b"]", b"\xff\xff\xff\x7f", b"null", b"1e999"];
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.usize(..3) {
        let at = random.usize(..bytes.len().max(1)).min(bytes.len());
        let end = (at + random.usize(..64)).min(bytes.len());
        match random.usize(..6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.u8(..)),
            3 => bytes.splice(at..at, TOKENS[random.usize(..TOKENS.len())].iter().copied()).for_each(drop),
            4 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            _ if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            _ => {}
        }
    }
    bytes
}

#[test]
fn damaged_records_are_answered_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    fs::write(of("table.csv"), "prefix,asn,name\n10.0.0.0/8,64500,a\n2001:db8::/32,64501,b\n").unwrap();
    let (mut csv, mut ndjson) = (String::from("src,dst,bytes\n"), String::new());
    for row in 0..200 {
        let (src, dst) = (format!("10.0.{row}.1"), format!("2001:db8::{row:x}"));
        let _ = writeln!(csv, "{src},\"{dst}\",{row}");
        let _ = writeln!(ndjson, r#"{{"src":"{src}","flow":{{"dst":["{dst}",null]}},"bytes":{row}}}"#);
    }
    fs::write(of("whole.csv"), csv).unwrap();
    fs::write(of("whole.ndjson"), ndjson).unwrap();
    let table = of("table.csv").to_str().unwrap().to_owned();
    enriched(&of("whole.ndjson"), &of("whole.parquet"), &format!("before={table}")).unwrap();
    let mut random = fastrand::Rng::with_seed(51);
    for ending in ["csv", "ndjson", "parquet"] {
        let whole = fs::read(of(&format!("whole.{ending}"))).unwrap();
        let (input, output) = (of(&format!("in.{ending}")), of(&format!("out.{ending}")));
        let (mut answered, mut refused) = (0, 0);
        for number in 0..FILES {
            fs::write(&input, damage(&whole, &mut random)).unwrap();
            fs::write(&output, "before").unwrap();
            match enriched(&input, &output, &table) {
                Ok(()) => answered += 1,
                Err(error) => {
                    refused += 1;
                    let text = format!("{error:#}");
                    assert!(!text.contains('\n') && !text.contains("panick"), "{ending} {number}: {text}");
                    assert_eq!(fs::read(&output).unwrap(), b"before", "{ending} {number}: {text}");
                }
            }
        }
        assert!(answered.min(refused) > FILES / 100, "{ending}: {answered} answered, {refused} refused");
        assert_eq!(
            fs::read_dir(folder.path())
                .unwrap()
                .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().contains(".part") })
                .count(),
            0
        );
    }
}
