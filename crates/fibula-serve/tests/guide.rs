//! The examples of docs/serve.md are run, and print what the page says.

mod common;

use common::start;
use fibula_serve::Settings;
use std::path::Path;
use std::process::Command;

#[test]
fn the_guide_prints_what_it_says() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("serve.md")).unwrap();
    let file = |name: &str| docs.join("questions.in").join(name);
    let tables = ["today", "yesterday"].map(|name| (name.to_owned(), file(&format!("{name}.txt"))));
    let settings = Settings { vrps: Some(file("vrps.csv")), ..Settings::new(tables.to_vec()) };
    let service = start(settings);
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let blocks = page.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut count = 0;
    for example in blocks.flat_map(|block| block.split("$ ").skip(1)) {
        let (command, expected) = example.split_once('\n').unwrap();
        let command = command.replace("127.0.0.1:8080", &service.address.to_string());
        let output = Command::new("sh").args(["-c", &command]).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
        count += 1;
    }
    assert_eq!(count, page.matches("$ curl").count() + page.matches("| curl").count());
    // The line that starts it names the tables of the examples.
    assert!(page.contains("fibula serve -t today=today.txt -t yesterday=yesterday.txt --vrps vrps.csv"));
}
