//! Small files that say the same thing millions of times, or expand to it: what they take is
//! bounded by what they say once.
//!
//! ```text
//!   content, written once ──▶ fibula COMMAND ──▶ peak memory: the measure
//!   content, again and again ─▶ fibula COMMAND ──▶ peak memory: at most 3 times that
//! ```
//! `cargo test -p fibula-cli --features enrich --test bombs -- --nocapture` prints a table of all.
#![cfg(all(feature = "enrich", target_os = "linux"))]

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The bytes that a bomb of text expands to.
const BYTES: usize = 24 << 20;

/// The memory that a table may take, as the commands are told.
const BUDGET: &str = "--max-memory=64M";

/// The largest peak beside that of the plain file.
const TIMES: u64 = 3;

/// What the program takes at least, and what it takes where two threads read, answer and write
/// parts of a file of records.
const PROGRAM: u64 = 24 << 20;
const PARTS: u64 = 64 << 20;

/// What a run took.
struct Taken {
    status: Option<i32>,
    peak: u64,
    time: Duration,
    error: String,
}

/// Runs a command that reads `file`, named `{}` among its arguments, or standard input.
fn run(arguments: &[&str], file: &Path) -> Taken {
    let name = file.to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
    command.args(arguments.iter().map(|argument| argument.replace("{}", name)));
    command.stdin(if arguments.contains(&"-") { File::open(file).unwrap().into() } else { Stdio::null() });
    let errors = tempfile::NamedTempFile::new().unwrap();
    command.stdout(Stdio::null()).stderr(errors.reopen().unwrap());
    let begin = Instant::now();
    let (status, peak) = peak(&mut command.spawn().unwrap());
    let error = fs::read_to_string(errors.path()).unwrap();
    Taken { status: status.code(), peak, time: begin.elapsed(), error }
}

/// Waits for a process. Returns its status, and the most memory that it had, but for what it took
/// in its last moment.
fn peak(child: &mut Child) -> (ExitStatus, u64) {
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = kilobytes.map_or(peak, |kilobytes| kilobytes << 10);
        if let Some(status) = child.try_wait().unwrap() {
            return (status, peak);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Text that repeats a part of it.
struct Text {
    name: &'static str,
    head: &'static str,
    part: &'static str,
    tail: &'static str,
}

impl Text {
    /// Writes the text with the part once, or until there are `BYTES` bytes.
    fn write(&self, folder: &Path, compression: &str, is_bomb: bool) -> PathBuf {
        let times = if is_bomb { BYTES / self.part.len() } else { 1 };
        let kind = if is_bomb { "bomb" } else { "once" };
        let path = folder.join(format!("{kind}.{}{compression}", self.name));
        let file = File::create(&path).unwrap();
        let mut out: Box<dyn Write> = match compression {
            ".zst" => Box::new(zstd::Encoder::new(file, 3).unwrap().auto_finish()),
            ".gz" => Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::fast())),
            _ => Box::new(file),
        };
        out.write_all(self.head.as_bytes()).unwrap();
        let block = self.part.repeat(times.min(10_000));
        for _ in 0..times / times.min(10_000) {
            out.write_all(block.as_bytes()).unwrap();
        }
        out.write_all(self.tail.as_bytes()).unwrap();
        path
    }
}

const TABLES: [Text; 11] = [
    Text { name: "txt", head: "", part: "::/0 1\n", tail: "" },
    Text { name: "list", head: "", part: "10.0.0.0/8\n", tail: "" },
    Text { name: "csv", head: "prefix,asn,name\n", part: "10.0.0.0/8,64500,a\n", tail: "" },
    Text { name: "ndjson", head: "", part: "{\"prefix\":\"10.0.0.0/8\",\"asn\":64500}\n", tail: "" },
    Text { name: "ranges", head: "", part: "10.0.0.0,10.255.255.255,64500\n", tail: "" },
    Text { name: "route", head: "", part: "10.0.0.0/8 via 192.0.2.1 dev eth0\n", tail: "" },
    Text { name: "irr", head: "", part: "route: 10.0.0.0/8\norigin: AS64500\n\n", tail: "" },
    Text { name: "vrps.csv", head: "ASN,IP Prefix,Max Length\n", part: "AS64500,10.0.0.0/8,8\n", tail: "" },
    // All of a document is held before its end shows whether it is one.
    Text {
        name: "vrps.json",
        head: "{\"roas\":[{\"asn\":1,\"prefix\":\"10.0.0.0/8\",\"maxLength\":8}",
        part: ",{\"asn\":1,\"prefix\":\"10.0.0.0/8\",\"maxLength\":8}",
        tail: "]}",
    },
    Text {
        name: "ip.json",
        head: "[{\"dst\":\"10.0.0.0/8\",\"gateway\":\"192.0.2.1\",\"dev\":\"a\",\"flags\":[]}",
        part: ",{\"dst\":\"10.0.0.0/8\",\"gateway\":\"192.0.2.1\",\"dev\":\"a\",\"flags\":[]}",
        tail: "]",
    },
    Text {
        name: "json",
        head: "[{\"prefix\":\"10.0.0.0/8\",\"asn\":64500}",
        part: ",{\"prefix\":\"10.0.0.0/8\",\"asn\":64500}",
        tail: "]",
    },
];

/// Writes a column of one text, `rows` times. It is stored once, by a dictionary.
fn parquet(path: &Path, text: &str, rows: usize) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_page_size_limit(64 << 20);
    let of = |text: &str, rows| Arc::new(StringArray::from(vec![text; rows])) as ArrayRef;
    let batch = |rows| {
        RecordBatch::try_from_iter([
            ("prefix", of("10.0.0.0/8", rows)),
            ("src", of("10.1.2.3", rows)),
            ("note", of(text, rows)),
        ])
        .unwrap()
    };
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch(0).schema(), Some(properties.build())).unwrap();
    for _ in 0..rows {
        writer.write(&batch(1)).unwrap();
    }
    writer.close().unwrap();
}

/// Runs both files, and tells what they took. A bomb ends as the plain file does, or is refused for
/// its memory by a line that names the place.
fn compare(what: &str, arguments: &[&str], once: &Path, bomb: &Path) {
    let (plain, taken) = (run(arguments, once), run(arguments, bomb));
    let bytes = fs::metadata(bomb).unwrap().len();
    println!(
        "{what:40} {:>9} KB  {:>6} MB  {:>6} MB plain  {:>6.2} s  status {:?}  {}",
        bytes.div_ceil(1 << 10),
        taken.peak >> 20,
        plain.peak >> 20,
        taken.time.as_secs_f64(),
        taken.status,
        taken.error.lines().next().unwrap_or_default(),
    );
    assert_eq!(plain.status, Some(0), "{what}: {}", plain.error);
    let is_refused = taken.status == Some(2)
        && taken.error.lines().count() == 1
        && taken.error.contains("memory, the limit")
        && taken.error.contains(bomb.to_str().unwrap());
    assert!(is_refused || taken.status == plain.status, "{what}: {:?} {}", taken.status, taken.error);
    let own = if arguments.contains(&"--threads") { PARTS } else { PROGRAM };
    assert!(taken.peak <= TIMES * plain.peak.max(own), "{what}: {} of {}", taken.peak, plain.peak);
}

#[test]
fn tables_that_repeat_themselves_take_no_more_than_they_say() {
    let folder = tempfile::tempdir().unwrap();
    for (at, text) in TABLES.iter().enumerate() {
        for compression in if at == 0 { &["", ".gz", ".zst"][..] } else { &[".zst"] } {
            let [once, bomb] = [false, true].map(|it| text.write(folder.path(), compression, it));
            let what = format!("table stats {}{compression}", text.name);
            compare(&what, &["table", "stats", BUDGET, "{}"], &once, &bomb);
        }
    }
}

#[test]
fn every_command_that_reads_a_table_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let [once, bomb] = [false, true].map(|it| TABLES[0].write(folder.path(), ".zst", it));
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    let commands: [&[&str]; 7] = [
        &["lookup", BUDGET, "-t", "{}", "10.1.2.3"],
        &["table", "convert", BUDGET, "-i", "{}", "--to", "ndjson", "-o", &out],
        &["table", "diff", BUDGET, "{}", "{}"],
        &["build", BUDGET, "-t", "{}", "-o", &out],
        &["set", "aggregate", BUDGET, "{}"],
        &["table", "top", BUDGET, "-i", "{}"],
        &["inspect", BUDGET, "-t", "{}", "-e", "best"],
    ];
    for arguments in commands {
        compare(&arguments[..2].join(" "), arguments, &once, &bomb);
    }
}

#[test]
fn streams_of_addresses_and_of_changes_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.txt");
    fs::write(&table, "10.0.0.0/8 192.0.2.1\n").unwrap();
    let table = table.to_str().unwrap();
    let of = |text: Text| [false, true].map(|it| text.write(folder.path(), ".zst", it));
    let [once, bomb] = of(Text { name: "addresses", head: "", part: "10.1.2.3\n", tail: "" });
    compare("lookup -", &["lookup", "-t", table, "-"], &once, &bomb);
    let [once, bomb] = of(Text { name: "updates", head: "", part: "A 10.0.0.0/8 192.0.2.2 10\n", tail: "" });
    let at = ["table", "at", BUDGET, "20", "--rib", table, "--updates", "{}"];
    compare("table at", &at, &once, &bomb);
}

#[test]
fn records_are_enriched_by_pieces_whatever_they_expand_to() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.txt");
    fs::write(&table, "10.0.0.0/8 192.0.2.1\n").unwrap();
    let (table, out) = (table.to_str().unwrap(), folder.path().join("out.csv"));
    let enrich = ["enrich", "{}", "-c", "src", "-t", table, "-o", out.to_str().unwrap(), "--threads", "2"];
    let texts = [
        Text { name: "csv", head: "src\n", part: "10.1.2.3\n", tail: "" },
        Text { name: "ndjson", head: "", part: "{\"src\":\"10.1.2.3\"}\n", tail: "" },
    ];
    for text in texts {
        let [once, bomb] = [false, true].map(|it| text.write(folder.path(), ".zst", it));
        compare(&format!("enrich {}.zst", text.name), &enrich, &once, &bomb);
    }
    let long = "y".repeat(1 << 20);
    let [once, bomb] = ["once.parquet", "bomb.parquet"].map(|name| folder.path().join(name));
    parquet(&once, &long, 1);
    parquet(&bomb, &long, 400);
    compare("enrich parquet, a long text", &enrich, &once, &bomb);
    let short = "y".repeat(4000);
    parquet(&once, &short, 1);
    parquet(&bomb, &short, 10_000);
    compare("table stats parquet", &["table", "stats", BUDGET, "{}"], &once, &bomb);
}
