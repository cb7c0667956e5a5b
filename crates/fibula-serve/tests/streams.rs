//! `POST /v1/lookup`: every format to every other, in parts, cut, wrong and too long.

mod common;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use common::{Answer, Service, Tables, start};
use fibula_serve::{Limits, Settings};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

const TABLE: &str = "10.0.0.0/8 192.0.2.1\n10.1.0.0/16 192.0.2.2\n2001:db8::/32 64500\n";

const TEXT: &str = "text/plain";
const NDJSON: &str = "application/x-ndjson";
const JSON: &str = "application/json";
const ARROW: &str = "application/vnd.apache.arrow.stream";

fn service() -> (Tables, Service) {
    let tables = Tables::of(&[
        ("rib", TABLE),
        ("as", "10.0.0.0/8 1\n"),
        ("sites", "prefix,country,asn\n10.0.0.0/8,BE,7\n10.1.0.0/16,,8\n"),
    ]);
    let service = start(tables.settings(&["rib", "as", "sites"]));
    (tables, service)
}

fn ask(service: &Service, target: &str, from: &str, to: &str, body: &[u8]) -> Answer {
    service.post(target, &[("Content-Type", from), ("Accept", to)], body)
}

/// Returns a stream of one column, a batch for each array.
fn stream(name: &str, arrays: &[ArrayRef]) -> Vec<u8> {
    let batch = |array: &ArrayRef| RecordBatch::try_from_iter([(name, Arc::clone(array))]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(&arrays[0]).schema()).unwrap();
    for array in arrays {
        writer.write(&batch(array)).unwrap();
    }
    writer.into_inner().unwrap()
}

fn batches(answer: &Answer) -> Vec<RecordBatch> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let reader = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
    reader.collect::<Result<_, _>>().unwrap()
}

/// Returns the values of a column of text, plain or a dictionary.
fn texts(batches: &[RecordBatch], column: &str) -> Vec<Option<String>> {
    let of = |batch: &RecordBatch| {
        let array = batch.column_by_name(column).unwrap();
        let plain = match array.as_any_dictionary_opt() {
            Some(dictionary) => {
                arrow_select::take::take(dictionary.values(), dictionary.keys(), None).unwrap()
            }
            None => Arc::clone(array),
        };
        plain.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn each_format_is_answered_in_each_other() {
    let (_tables, service) = service();
    let asked = ["10.1.2.3", "192.0.2.1", "2001:db8::7", "10.0.0.0/9"];
    let found = [
        Some(("10.1.0.0/16", "192.0.2.2")),
        None,
        Some(("2001:db8::/32", "64500")),
        Some(("10.0.0.0/8", "192.0.2.1")),
    ];
    for (from, body, count) in [
        (TEXT, "10.1.2.3\n# a comment\n\n192.0.2.1 rest\n2001:db8::7\r\n10.0.0.0/9".as_bytes().to_vec(), 4),
        (NDJSON, b"{\"addr\":\"10.1.2.3\"}\n\"192.0.2.1\"\n{\"id\":1,\"address\":\"2001:db8::7\"}\n\"10.0.0.0\\/9\"\n".to_vec(), 4),
        (JSON, b"[\"10.1.2.3\",{\"addr\":\"192.0.2.1\"}, \"2001:db8::7\" ,\"10.0.0.0/9\"]".to_vec(), 4),
        (ARROW, stream("x", &[Arc::new(StringArray::from(asked[..3].to_vec())) as ArrayRef]), 3),
    ] {
        let to = |to| {
            let answer = ask(&service, "/v1/lookup?table=rib", from, to, &body);
            assert_eq!((answer.status, answer.header("content-type"), answer.generation()), (200, Some(to), 1), "{from} to {to}: {}", answer.text());
            answer
        };
        // An AS is a number in JSON.
        let number = |text: &str| text.parse::<u32>().map_or_else(|_| json!(text), |number| json!(number));
        let rows: Vec<Value> = asked[..count].iter().zip(found).map(|(asked, found)| {
            json!({ "address": asked, "prefix": found.map(|it| it.0), "next_hop": found.map(|it| number(it.1)) })
        }).collect();
        assert_eq!(to(JSON).json(), json!(rows), "{from}");
        let lines = to(NDJSON);
        let lines: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, rows, "{from}");
        let lines: Vec<String> = found[..count].iter().map(|found| found.map_or("-\t-".into(), |it| format!("{}\t{}", it.0, it.1))).collect();
        assert_eq!(to(TEXT).text().lines().collect::<Vec<_>>(), lines, "{from}");
        let answer = ask(&service, "/v1/lookup?table=rib&prefix", from, ARROW, &body);
        let all = batches(&answer);
        let owned = |it: Option<&str>| it.map(str::to_owned);
        let prefixes: Vec<_> = found[..count].iter().map(|found| owned(found.map(|it| it.0))).collect();
        let next_hops: Vec<_> = found[..count].iter().map(|found| owned(found.map(|it| it.1))).collect();
        assert_eq!((texts(&all, "prefix"), texts(&all, "next_hop")), (prefixes, next_hops), "{from}");
        // The same format as asked, if the client does not say.
        assert_eq!(service.post("/v1/lookup?table=rib", &[("Content-Type", from)], &body).header("content-type"), Some(from));
    }
}

#[test]
fn columns_of_arrow_keep_their_types() {
    let (_tables, service) = service();
    let numbers: ArrayRef = Arc::new(UInt32Array::from(vec![Some(0x0A01_0203), None, Some(0xC000_0201)]));
    let bytes: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[10_u8, 0, 0, 1]].iter()).unwrap());
    for (array, expected) in [(numbers, vec![Some(1), None, None]), (bytes, vec![Some(1)])] {
        let twice = [Arc::clone(&array), array];
        let answer = ask(&service, "/v1/lookup?table=as", ARROW, ARROW, &stream("ip", &twice));
        let all = batches(&answer);
        assert_eq!(all.len(), 2);
        for batch in &all {
            let found: Vec<_> =
                batch.column_by_name("next_hop").unwrap().as_primitive::<UInt32Type>().iter().collect();
            assert_eq!(found, expected);
        }
    }
    let text: ArrayRef = Arc::new(StringArray::from(vec!["10.2.0.0", "10.1.0.0"]));
    let answer = ask(&service, "/v1/lookup?table=sites", ARROW, ARROW, &stream("ip", &[text]));
    let all = batches(&answer);
    assert_eq!(texts(&all, "next_hop_country"), [Some("BE".into()), None]);
    let asn = all[0].column_by_name("next_hop_asn").unwrap();
    assert_eq!(asn.as_primitive::<arrow_array::types::Int64Type>().values(), &[7, 8]);
    // A null is answered by nulls in rows too.
    let nulls: ArrayRef = Arc::new(StringArray::from(vec![None, Some("10.1.0.0")]));
    let rows = ask(&service, "/v1/lookup?table=as", ARROW, JSON, &stream("ip", &[nulls]));
    assert_eq!(rows.json()[0], json!({ "address": null, "prefix": null, "next_hop": null }));
    assert_eq!(rows.json()[1]["next_hop"], 1);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let (_tables, service) = service();
    let bad: ArrayRef = Arc::new(StringArray::from(vec!["10.0.0.1", "nobody"]));
    let good: ArrayRef = Arc::new(StringArray::from(vec!["10.0.0.1"]));
    let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.0]));
    let mut two = stream("x", std::slice::from_ref(&good));
    for (from, body, what) in [
        (
            TEXT,
            b"10.0.0.1\n10.0.0\n".to_vec(),
            "line 2: \"10.0.0\": expected an IPv4 or IPv6 address or prefix",
        ),
        (NDJSON, b"\n{\"adr\":1}\n".to_vec(), "line 2: expected \"ADDRESS\" or {\"addr\": \"ADDRESS\"}"),
        (JSON, b"[\"10.0.0.1\",7]".to_vec(), "element 2: expected \"ADDRESS\" or"),
        (JSON, b"[\"10.0.0.1\"".to_vec(), "element 1: the array ends early"),
        (ARROW, stream("x", &[good.clone(), bad]), "row 3: \"nobody\" is not an IPv4 or IPv6 address"),
        (ARROW, stream("x", &[floats]), "a column of type Float64 holds no addresses"),
        (ARROW, b"what is this?".to_vec(), "the Arrow stream after row 0: "),
        (ARROW, Vec::new(), "the Arrow stream after row 0: "),
        (ARROW, two.drain(..two.len() / 2).collect(), "the Arrow stream after row 0: "),
    ] {
        let answer = ask(&service, "/v1/lookup?table=rib", from, from, &body);
        assert_eq!(answer.status, 400, "{what}: {}", String::from_utf8_lossy(&answer.body));
        assert!(answer.error().starts_with(what), "{}", answer.text());
    }
    let answer = ask(&service, "/v1/lookup?table=rib&column=y", ARROW, ARROW, &stream("x", &[good]));
    assert!(answer.error().starts_with("no column \"y\" among [\"x\"]"), "{}", answer.text());
    assert_eq!(ask(&service, "/v1/lookup", TEXT, TEXT, b"").status, 400);
    assert_eq!(ask(&service, "/v1/lookup?table=rib", "image/png", TEXT, b"").status, 415);
    assert_eq!(ask(&service, "/v1/lookup?table=rib", TEXT, "image/png", b"").status, 406);
    assert_eq!(ask(&service, "/v1/lookup?table=rib", TEXT, TEXT, b"").text(), "");
    assert_eq!(ask(&service, "/v1/lookup?table=rib", JSON, JSON, b"[]").json(), json!([]));
    assert!(batches(&ask(&service, "/v1/lookup?table=rib", TEXT, ARROW, b"")).is_empty());
}

#[test]
fn damaged_streams_are_refused_and_cost_no_memory() {
    let (_tables, service) = service();
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("10.0.0.1"), None, Some("2001:db8::1")]));
    let numbers: ArrayRef = Arc::new(UInt32Array::from(vec![0x0A00_0001; 100]));
    let before = common::resident();
    let mut random = fastrand::Rng::with_seed(1);
    let mut client = service.client();
    for array in [texts, numbers] {
        let good = stream("x", &[Arc::clone(&array), array]);
        for _ in 0..400 {
            let mut body = good.clone();
            for _ in 0..random.usize(1..=4) {
                let at = random.usize(..body.len());
                body[at] = if random.bool() { random.u8(..) } else { 0xFF };
            }
            let answer = client.ask("POST", "/v1/lookup?table=rib", &[("Content-Type", ARROW)], &body);
            assert!([200, 400, 413].contains(&answer.status), "{}: {}", answer.status, answer.text());
            if answer.header("connection") == Some("close") || !answer.is_whole {
                client = service.client();
            }
        }
    }
    let more = common::resident().saturating_sub(before);
    assert!(more < 100 << 20, "{more} bytes for damaged streams");
}

#[test]
fn a_late_error_is_told_and_the_answer_is_cut() {
    let (_tables, service) = service();
    let mut body = "10.1.2.3\n".repeat(100_000);
    body += "nobody\n";
    let answer = ask(&service, "/v1/lookup?table=rib", TEXT, NDJSON, body.as_bytes());
    assert_eq!((answer.status, answer.is_whole), (200, false));
    let last: Value = serde_json::from_str(answer.text().lines().last().unwrap()).unwrap();
    assert_eq!(last["error"], "line 100001: \"nobody\": expected an IPv4 or IPv6 address or prefix");
    assert_eq!(answer.text().lines().count(), 100_001);
}

#[test]
fn answers_come_while_the_body_is_sent() {
    let (_tables, service) = service();
    let mut client = service.client();
    let head = "POST /v1/lookup?table=rib HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    client.stream().write_all(head.as_bytes()).unwrap();
    let line = "{\"addr\":\"10.1.2.3\"}\n";
    let mut status = None;
    for _ in 0..3 {
        write!(client.stream(), "{:x}\r\n{line}\r\n", line.len()).unwrap();
        if status.is_none() {
            status = Some(client.head().unwrap());
        }
        let part = client.chunk().unwrap().unwrap();
        assert_eq!(
            part,
            b"{\"address\":\"10.1.2.3\",\"prefix\":\"10.1.0.0/16\",\"next_hop\":\"192.0.2.2\"}\n"
        );
    }
    client.stream().write_all(b"0\r\n\r\n").unwrap();
    assert_eq!(client.chunk().unwrap().unwrap(), b"");
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let tables = Tables::of(&[("rib", TABLE)]);
    let limits = Limits { body: 1000, ..Limits::default() };
    let service = start(Settings { limits, ..tables.settings(&["rib"]) });
    assert_eq!(service.post("/v1/lookup", &[], &[b'\n'; 1000]).status, 200);
    let answer = service.post("/v1/lookup", &[], &[b'\n'; 1001]);
    assert_eq!((answer.status, answer.error().as_str()), (413, "the body is longer than 1000 bytes"));
    // Of a length that is not told.
    let mut client = service.client();
    let head = "POST /v1/lookup HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.stream().write_all(head.as_bytes()).unwrap();
    for _ in 0..2 {
        write!(client.stream(), "{:x}\r\n{}\r\n", 600, "\n".repeat(600)).unwrap();
    }
    assert_eq!(client.read().unwrap().status, 413);
}

#[test]
fn a_client_that_does_not_read_stops_the_writer_and_not_the_service() {
    let tables = Tables::of(&[("rib", TABLE)]);
    let limits = Limits { time: Duration::from_secs(1), ..Limits::default() };
    let service = start(Settings { limits, ..tables.settings(&["rib"]) });
    let before = common::resident();
    let mut client = service.client();
    let head = "POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nAccept: application/json\r\n\
                Content-Length: 500000000\r\n\r\n";
    client.stream().write_all(head.as_bytes()).unwrap();
    let lines = "10.1.2.3\n".repeat(10_000);
    let begin = Instant::now();
    // It is ended when the request has taken too long.
    while client.stream().write_all(lines.as_bytes()).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
    let more = common::resident().saturating_sub(before);
    assert!(more < 100 << 20, "{more} bytes for an answer that nobody reads");
    assert_eq!(service.get("/healthz").status, 200);
}
