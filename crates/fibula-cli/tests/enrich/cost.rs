//! What `fibula enrich` costs.

use super::{done, flows, read_parquet, write_parquet};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// What enriching 10 million rows costs beside a copy of them by the same crates, and how much
/// memory it takes:
///
/// `cargo test --release -p fibula-cli --features enrich --test enrich -- --ignored --nocapture`
#[test]
#[ignore = "takes a minute, and prints figures instead of judging them"]
fn cost() {
    const ROWS: usize = 10_000_000;
    const ROW_GROUP: usize = 1 << 20;
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let shared =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ipv4-202401-tier1-joinedasn.tsv.gz");
    let source = Some(shared.to_owned()).filter(|path| Path::new(path).exists()).unwrap_or_else(|| {
        done(&["table", "gen", "internet", "-o", &at("table.txt")]);
        at("table.txt")
    });
    done(&["build", "-t", &source, "--family", "ipv4", "-o", &at("table.fib")]);
    done(&["trace", "gen", "prefix", "-t", &source, "-n", &ROWS.to_string(), "-o", &at("src.txt")]);
    let sources = fs::read_to_string(at("src.txt")).unwrap();
    let sources: Vec<&str> = sources.lines().collect();
    let batches = sources.chunks(8192).zip(0_u64..).map(|(sources, number)| {
        let flows = flows(number * 8192, sources.len());
        let src: ArrayRef = Arc::new(sources.iter().map(|src| Some(*src)).collect::<StringArray>());
        let columns = [src, Arc::clone(flows.column(1)), Arc::clone(flows.column(2))];
        RecordBatch::try_new(flows.schema(), columns.into()).unwrap()
    });
    write_parquet(Path::new(&at("in.parquet")), batches);
    drop(sources);

    for _ in 0..3 {
        let before = processor_seconds();
        let properties = WriterProperties::builder()
            .set_compression(parquet::basic::Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP));
        let input = ParquetRecordBatchReaderBuilder::try_new(File::open(at("in.parquet")).unwrap()).unwrap();
        let input = input.with_batch_size(8192).build().unwrap();
        let output = File::create(at("copy.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(
            output,
            arrow_array::RecordBatchReader::schema(&input),
            Some(properties.build()),
        )
        .unwrap();
        for batch in input {
            writer.write(&batch.unwrap()).unwrap();
        }
        writer.close().unwrap();
        let copied = processor_seconds();
        for threads in ["1", "2"] {
            let before = processor_seconds();
            let arguments =
                ["-o", &at("out.parquet"), "-c", "src", "-t", &at("table.fib"), "--threads", threads];
            let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
            let mut child = command.arg("enrich").arg(at("in.parquet")).args(arguments).spawn().unwrap();
            let mut peak = 0;
            while child.try_wait().unwrap().is_none() {
                peak = peak.max(peak_kib(child.id()));
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let seconds = processor_seconds() - before;
            println!("enrich by {threads} threads: {seconds:.2} s of processors, {} MB at most", peak / 1000);
        }
        println!("copy: {:.2} s of processors", copied - before);
    }
    let rows: usize = read_parquet(Path::new(&at("out.parquet"))).iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, ROWS);
}

/// Returns the processor time of this process and of those that it waited for, in seconds.
fn processor_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // User and system time, of the process and of its children, are fields 14 to 17.
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(4);
    fields.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS_A_SECOND
}

/// Returns the most memory that a process has taken, in KiB; 0 once it has ended.
fn peak_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
