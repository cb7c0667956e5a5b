//! `fibula enrich` on files: every format to every other, compressed, by several threads; and what
//! it costs beside a plain copy.
//!
//! ```text
//!   records ──▶ IN.parquet, .csv.gz, .ndjson.zst ──fibula enrich──▶ OUT.* ──▶ read again ──▶ equal
//! ```
#![cfg(feature = "enrich")]

#[cfg(target_os = "linux")]
#[path = "enrich/cost.rs"]
mod cost;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

/// The rows of a row group.
const GROUP: usize = 1000;

/// Returns flows with a column of text and one of integers. Every tenth row has no address.
fn flows(first: u64, rows: usize) -> RecordBatch {
    let numbers = || (first..).take(rows).map(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 29);
    let address = |number: u64| Ipv4Addr::from_bits(10 << 24 | number as u32 >> 8);
    let text = |number: u64| (!number.is_multiple_of(10)).then(|| address(number).to_string());
    let columns: [(&str, ArrayRef); 3] = [
        ("src", Arc::new(numbers().map(text).collect::<StringArray>())),
        ("dst", Arc::new(numbers().map(|number| address(number * 7).to_bits()).collect::<UInt32Array>())),
        ("bytes", Arc::new(numbers().map(|number| (number % 1500).cast_signed()).collect::<Int64Array>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write_parquet(path: &Path, batches: impl Iterator<Item = RecordBatch>) {
    let properties = WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build();
    let mut batches = batches.peekable();
    let schema = batches.peek().unwrap().schema();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap();
    for batch in batches {
        writer.write(&batch).unwrap();
    }
    writer.close().unwrap();
}

fn read_parquet(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    reader.build().unwrap().collect::<Result<_, _>>().unwrap()
}

fn fibula(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fibula")).args(arguments).output().unwrap()
}

fn done(arguments: &[&str]) {
    let output = fibula(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Writes a table of all /16 of 10.0.0.0/8 except some, with the number of each as its value.
fn write_table(path: &Path) {
    let routes = (0..256).filter(|n| n % 8 != 0).map(|n| format!("10.{n}.0.0/16 {}\n", 64_000 + n));
    fs::write(path, routes.collect::<String>()).unwrap();
}

fn origin(address: Ipv4Addr) -> Option<u32> {
    let network = u32::from(address.octets()[1]);
    (network % 8 != 0).then_some(64_000 + network)
}

/// Compares columns of addresses and of answers with the flows. Returns the number of rows.
fn check(batches: &[RecordBatch], answers: &[(&str, &str)]) -> u64 {
    let mut row = 0;
    for batch in batches {
        let column = |name| batch.column_by_name(name).unwrap();
        let flows = flows(row, batch.num_rows());
        for &(addresses, answers) in answers {
            let column_of = flows.column_by_name(addresses).unwrap();
            let expected: UInt32Array = if let Some(texts) = column_of.as_string_opt::<i32>() {
                texts.iter().map(|text| text.and_then(|text| origin(text.parse().unwrap()))).collect()
            } else {
                let numbers = column_of.as_primitive::<UInt32Type>();
                numbers.iter().map(|bits| bits.and_then(|bits| origin(Ipv4Addr::from_bits(bits)))).collect()
            };
            assert_eq!(column(answers).as_primitive::<UInt32Type>(), &expected, "{answers} from row {row}");
        }
        row += batch.num_rows() as u64;
    }
    row
}

#[test]
fn a_table_goes_to_parquet_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let [parquet, text] = ["table.parquet", "table.txt"].map(|name| folder.path().join(name));
    let [parquet, text] = [&parquet, &text].map(|path| path.to_str().unwrap());
    let edge = "tests/fixtures/edge.txt";
    done(&["table", "convert", "-i", edge, "--to", "parquet", "-o", parquet]);
    let columns = &read_parquet(Path::new(parquet))[0];
    assert_eq!(
        columns.schema().fields().iter().map(|field| field.name()).collect::<Vec<_>>(),
        ["prefix", "value"]
    );
    done(&["table", "convert", "-i", parquet, "-o", text]);
    let direct = fibula(&["table", "convert", "-i", edge]).stdout;
    assert_eq!(fs::read(text).unwrap(), direct);
    done(&["table", "diff", edge, parquet]);
}

#[test]
fn every_format_to_every_other() {
    const GROUPS: usize = 20;
    const ROWS: u64 = (GROUPS * GROUP) as u64;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    write_table(Path::new(&at("table.txt")));
    let (table, other) = (format!("as={}", at("table.txt")), format!("again={}", at("table.txt")));
    let groups = (0..GROUPS).map(|group| flows((group * GROUP) as u64, GROUP));
    write_parquet(Path::new(&at("in.parquet")), groups);
    for threads in ["1", "3"] {
        let both = ["-c", "src", "-c", "dst", "-t", &table, "--threads", threads];
        done(&[&["enrich", &at("in.parquet"), "-o", &at("out.parquet")][..], &both].concat());
        let out = read_parquet(Path::new(&at("out.parquet")));
        assert_eq!(check(&out, &[("src", "src_as"), ("dst", "dst_as")]), ROWS);
        let mut row = 0;
        for batch in out {
            assert_eq!(&batch.columns()[..3], flows(row, batch.num_rows()).columns());
            row += batch.num_rows() as u64;
        }

        for name in ["out.csv", "out.csv.gz", "out.tsv.zst", "out.ndjson", "out.jsonl.gz", "zstd.parquet"] {
            let written = at(name);
            done(
                &[&["enrich", &at("in.parquet"), "-o", &written, "--compression", "zstd"][..], &both]
                    .concat(),
            );
            let again = ["enrich", &written, "-o", &at("again.parquet"), "-c", "src", "-t", &other];
            done(&[&again[..], &["--threads", threads]].concat());
            let again = read_parquet(Path::new(&at("again.parquet")));
            assert_eq!(check(&again, &[("src", "src_again")]), ROWS, "{name}");
            let names: Vec<_> = again[0].schema().fields().iter().map(|field| field.name().clone()).collect();
            let sorted = ["bytes", "dst", "dst_as", "src", "src_again", "src_as"];
            assert_eq!(
                names.iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>(),
                sorted,
                "{name}"
            );
        }
    }
}

/// A row group of more rows than one part has.
#[test]
fn a_large_row_group_becomes_several() {
    const ROWS: usize = (1 << 20) + 30_000;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, input, output) = (path("table.txt"), path("in.parquet"), path("out.parquet"));
    write_table(Path::new(&table));
    let column = flows(0, ROWS).project(&[1]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(ROWS)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(&input).unwrap(), column.schema(), Some(properties)).unwrap();
    writer.write(&column).unwrap();
    writer.close().unwrap();
    let groups = |path: &str| {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        reader.metadata().num_row_groups()
    };
    assert_eq!(groups(&input), 1);
    done(&["enrich", &input, "-c", "dst", "-t", &format!("as={table}"), "-o", &output]);
    assert_eq!(groups(&output), 2);
    let out = read_parquet(Path::new(&output));
    let mut row = 0;
    for batch in &out {
        let (rows, answers) = (batch.num_rows(), batch.column(1).as_primitive::<UInt32Type>());
        assert_eq!(batch.column(0).to_data(), column.column(0).slice(row, rows).to_data());
        let addresses = column.column(0).slice(row, rows);
        let expected = addresses.as_primitive::<UInt32Type>().iter();
        let expected: UInt32Array =
            expected.map(|bits| bits.and_then(|bits| origin(Ipv4Addr::from_bits(bits)))).collect();
        assert_eq!(answers, &expected, "from row {row}");
        row += rows;
    }
    assert_eq!(row, ROWS);
}

/// Numbers that no type holds, fields that differ by row, nulls that are there and that are not.
#[test]
fn rows_of_ndjson_are_written_as_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, input, output) = (path("table.txt"), path("in.ndjson"), path("out.ndjson"));
    write_table(Path::new(&table));
    let rows = [
        (r#"{"ip":"10.1.0.1","id":12345678901234567890,"of":{"id":18446744073709551615,"v":1.10}}"#, "64001"),
        (r#"{"ip":"10.2.0.1", "id" : 1, "of":{"id":-1,"v":2e7}}"#, "64002"),
        (r#"{"id":"text","ip":null}"#, "null"),
        (r#"{"big":123456789012345678901234567890.50,"ip":"nobody","é":[true,{}]}"#, "null"),
        ("{}", "null"),
    ];
    fs::write(&input, rows.map(|(row, _)| row).join("\n\n")).unwrap();
    let table = format!("as={table}");
    assert!(fibula(&["enrich", &input, "-c", "ip", "-t", &table, "-o", &output]).status.success());
    let expected = rows.map(|(row, answer)| {
        let comma = if row == "{}" { "" } else { "," };
        format!("{}{comma}\"ip_as\":{answer}}}\n", &row[..row.len() - 1])
    });
    let expected = expected.concat();
    assert_eq!(fs::read_to_string(&output).unwrap(), expected);
    for (rows, what) in [
        (r#"{"ip":"10.1.0.1"} {"ip":"10.1.0.1"}"#, "line 1: expected one JSON object a line"),
        (r#"{"ip":"10.1.0.1","ip_as":7}"#, "there are two columns \"ip_as\""),
        (r#"{"src":"10.1.0.1"}"#, "no column \"ip\", expected one of src"),
    ] {
        fs::write(&input, rows).unwrap();
        let run = fibula(&["enrich", &input, "-c", "ip", "-t", &table, "-o", &output]);
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(error.contains(what) && run.status.code() == Some(2), "{error}");
    }
    assert_eq!(fs::read_to_string(&output).unwrap(), expected);
}

#[test]
fn rows_of_csv_are_written_as_they_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(at("table.csv"), "prefix,site\n192.0.2.0/24,\"Gent, lab\"\n192.0.2.4/32,\"a\"\"b\"\n").unwrap();
    let enriched = |input: &str, more: &[&str]| {
        fs::write(at("in.csv"), input).unwrap();
        let (input, table) = (at("in.csv"), format!("site={}", at("table.csv")));
        let run = fibula(
            &[&["enrich", &input, "-c", "src", "-t", &table, "-o", "-", "--to", "csv"], more].concat(),
        );
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        String::from_utf8(run.stdout).unwrap()
    };
    let rows = [
        ("src,\"x, y\" ,z\r\n", "src_site"),
        ("192.0.2.1, \"a\"b ,\"\"\r\n", "\"Gent, lab\""),
        ("\"192.0.2.4\",,\"two\nlines, \"\"q\"\"\"\r\n", "\"a\"\"b\""),
        ("198.51.100.1,007,1.10\n", ""),
        (",+5,2e7\n", ""),
    ];
    let input: String = rows.iter().map(|(row, _)| *row).collect();
    let expected = rows.iter().map(|(row, answer)| {
        let line = row.trim_end_matches(['\r', '\n']);
        format!("{line},{answer}{}", &row[line.len()..])
    });
    let expected: String = expected.collect();
    assert_eq!(enriched(&input, &[]), expected);
    // Many rows: the parts, and where what was read is forgotten.
    let many = format!("src,n\n{}", "192.0.2.1, \"7\"\n".repeat(300_000));
    assert_eq!(
        enriched(&many, &["--threads", "3"]),
        many.replace("\"7\"\n", "\"7\",\"Gent, lab\"\n").replace("n\n", "n,src_site\n")
    );
    // Rows with other fields than the header has, and a quote that is not closed, are mended.
    let damaged = enriched("src,n\n192.0.2.1,1,2\n\n192.0.2.1\n192.0.2.1,\"x", &[]);
    let answer = "\"Gent, lab\"";
    let mended = format!("src,n,src_site\n192.0.2.1,1,{answer}\n192.0.2.1,,{answer}\n192.0.2.1,x,{answer}\n");
    assert_eq!(damaged, mended);
}

#[test]
fn addresses_within_objects_and_lists_are_answered_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, input) = (path("table.txt"), path("in.ndjson"));
    write_table(Path::new(&table));
    let rows = r#"{"flow":{"src":"10.1.0.1","hops":["10.2.0.1",null,"nobody","10.8.0.1"]},"all":[{"ip":"10.3.0.1"},{"ip":"10.4.0.1:53"}]}
{"flow":null,"all":[]}
{"flow":{"src":" 10.5.0.1","hops":null},"all":[{"ip":"10.6.0.1"}]}
"#;
    fs::write(&input, rows).unwrap();
    let enrich = |output: &str, more: &[&str]| {
        let columns = ["-c", "flow.src", "-c", "flow.hops", "-c", "all.ip"];
        let table = format!("as={table}");
        fibula(&[&["enrich", &input, "-t", &table, "-o", output], &columns[..], more].concat())
    };
    let output = path("out.ndjson");
    let run = enrich(&output, &["--format", "csv"]);
    let told = String::from_utf8(run.stderr).unwrap();
    let told: Vec<&str> = told.lines().map(|line| line.split_once("column ").unwrap().1).collect();
    let expected = [
        "flow.src: 1 of 3 rows hold no address, of which 1 have one with something around it (--clean)",
        "flow.hops: 1 of 4 rows hold no address",
        "all.ip: 1 of 3 rows hold no address, of which 1 have one with something around it (--clean)",
    ];
    assert_eq!(told, expected);
    let report = "column,table,rows,nulls,no_address,no_answer,answered,embedded,unclean\n\
        flow.src,as,3,1,1,0,1,0,1\nflow.hops,as,4,1,1,1,1,0,0\nall.ip,as,3,0,1,0,2,0,1\n";
    assert_eq!(String::from_utf8(run.stdout).unwrap(), report);
    let answers = |path: &str| -> Vec<serde_json::Value> {
        let row = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        let rows = fs::read_to_string(path).unwrap();
        rows.lines()
            .map(row)
            .map(|row| serde_json::json!([row["flow.src_as"], row["flow.hops_as"], row["all.ip_as"]]))
            .collect()
    };
    let plain = "[[64001,[64002,null,null,null],[64003,null]],[null,null,[]],[null,null,[64006]]]";
    assert_eq!(serde_json::to_string(&answers(&output)).unwrap(), plain);
    assert!(enrich(&output, &["--clean"]).status.success());
    let clean = "[[64001,[64002,null,null,null],[64003,64004]],[null,null,[]],[64005,null,[64006]]]";
    assert_eq!(serde_json::to_string(&answers(&output)).unwrap(), clean);
    let raised = enrich(&output, &["--errors", "raise", "--clean"]);
    let error = String::from_utf8(raised.stderr).unwrap();
    assert!(
        error.ends_with("row 1, column flow.hops: \"nobody\" is not an IPv4 or IPv6 address\n"),
        "{error}"
    );
    let parquet = path("out.parquet");
    assert!(enrich(&parquet, &["--clean"]).status.success());
    assert_eq!(read_parquet(Path::new(&parquet))[0].num_rows(), 3);
    let error = String::from_utf8(enrich(&path("out.csv"), &[]).stderr).unwrap();
    assert!(
        error.ends_with("lists and objects are not written as CSV, only as NDJSON and Parquet\n"),
        "{error}"
    );
}

#[test]
fn a_snapshot_gives_what_its_table_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, snapshot, input) = (path("table.ndjson"), path("table.fib"), path("in.csv"));
    let rows = r#"{"prefix":"10.0.0.0/8","asn":1,"hops":["a","b"],"share":0.5,"is_up":true,"note":"x"}
{"prefix":"10.1.0.0/16","asn":18446744073709551615,"hops":[],"share":2,"is_up":null,"note":null}
{"prefix":"2001:db8::/32","asn":3,"hops":["c"],"share":1,"is_up":false,"note":"y"}
"#;
    fs::write(&table, rows).unwrap();
    fs::write(&input, "src\n10.1.2.3\n10.2.3.4\n2001:db8::1\n192.0.2.1\n\n").unwrap();
    done(&["build", "-t", &table, "-o", &snapshot]);
    let answers = |table: &str, name: &str| {
        let output = path(name);
        done(&["enrich", &input, "-c", "src", "-t", &format!("t={table}"), "-o", &output]);
        fs::read(&output).unwrap()
    };
    for name in ["out.ndjson", "out.csv"] {
        assert_eq!(answers(&snapshot, name), answers(&table, name), "{name}");
    }
    let last = String::from_utf8(answers(&snapshot, "out.ndjson")).unwrap();
    let first = r#"{"src":"10.1.2.3","src_t_asn":18446744073709551615,"src_t_hops":[],"src_t_share":2.0,"src_t_is_up":null,"src_t_note":null}"#;
    assert_eq!(last.lines().next(), Some(first));
    answers(&table, "one.parquet");
    answers(&snapshot, "two.parquet");
    let [one, two] = ["one.parquet", "two.parquet"].map(|name| read_parquet(Path::new(&path(name))));
    assert_eq!(one, two);
    let types: Vec<String> =
        one[0].schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types[1..5], ["UInt64", "List(Utf8)", "Float64", "Boolean"]);
}

#[test]
fn mapped_addresses_of_sixteen_bytes_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, input, output) = (path("table.txt"), path("in.parquet"), path("out.parquet"));
    write_table(Path::new(&table));
    let addresses =
        (0..20_000_u32).map(|row| Ipv4Addr::from_bits(10 << 24 | row << 9).to_ipv6_mapped().octets());
    let column = FixedSizeBinaryArray::try_from_iter(addresses).unwrap();
    let column: ArrayRef = Arc::new(column);
    write_parquet(Path::new(&input), std::iter::once(RecordBatch::try_from_iter([("src", column)]).unwrap()));
    let origins = |more: &[&str]| {
        let table = format!("as={table}");
        let run = fibula(&[&["enrich", &input, "-c", "src", "-t", &table, "-o", &output], more].concat());
        assert!(run.status.success());
        let answered: usize = read_parquet(Path::new(&output))
            .iter()
            .map(|batch| batch.num_rows() - batch.column(1).null_count())
            .sum();
        (answered, String::from_utf8(run.stderr).unwrap())
    };
    let expected =
        (0..20_000_u32).filter(|row| origin(Ipv4Addr::from_bits(10 << 24 | row << 9)).is_some()).count();
    let (answered, told) = origins(&[]);
    assert_eq!(answered, 0);
    assert!(told.contains("column src: most addresses are written ::ffff:a.b.c.d"), "{told}");
    assert_eq!(origins(&["--map-ipv4"]), (expected, String::new()));
    assert_eq!(origins(&["--embedded", "none"]), (0, String::new()));
    assert_eq!(origins(&["--prefix", "--map-ipv4"]).0, expected);
}

#[test]
fn a_quote_that_is_not_closed_ends_after_few_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (table, input) = (path("table.txt"), path("in.csv"));
    write_table(Path::new(&table));
    fs::write(&input, ["src\n10.1.0.1\n\"10.2.0.1\n", &"10.3.0.1\n".repeat(4_000_000)].concat()).unwrap();
    let run = fibula(&["enrich", &input, "-c", "src", "-t", &table, "-o", &path("out.csv")]);
    let error = String::from_utf8(run.stderr).unwrap();
    assert!(error.contains("line 3: ") && error.contains("a quote may not be closed"), "{error}");
}

#[test]
fn an_input_that_fails_leaves_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    write_table(Path::new(&at("table.txt")));
    let mut lines: String = "src,bytes\n".into();
    for row in 0..400_000 {
        writeln!(lines, "10.1.2.{},{row}", row % 256).unwrap();
    }
    let cut = format!("{lines}10.1.2.3\n");
    let wrong = format!("{lines}10.1.2.256,7\n");
    fs::write(at("out.csv"), "old").unwrap();
    let cases = [
        (cut, "line 400002"),
        (wrong, "row 400001, column src: \"10.1.2.256\" is not an IPv4 or IPv6 address"),
    ];
    for (content, what) in cases {
        fs::write(at("in.csv"), content).unwrap();
        let table = at("table.txt");
        let output = fibula(&[
            "enrich",
            &at("in.csv"),
            "-o",
            &at("out.csv"),
            "-c",
            "src",
            "-t",
            &table,
            "--errors",
            "raise",
        ]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.starts_with(&format!("fibula: {}: ", at("in.csv"))) && message.contains(what),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(fs::read_to_string(at("out.csv")).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
