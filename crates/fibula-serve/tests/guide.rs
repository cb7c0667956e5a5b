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
    // What the examples do to files they do to copies.
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in ["today.txt", "yesterday.txt", "vrps.csv", "as-names.txt"] {
        std::fs::copy(docs.join("questions.in").join(name), file(name)).unwrap();
    }
    std::fs::write(file("tomorrow.txt"), "").unwrap();
    let service = |names: &[&str]| {
        let tables = names.iter().map(|&name| (name.to_owned(), file(&format!("{name}.txt"))));
        let (vrps, as_names) = (Some(file("vrps.csv")), Some(file("as-names.txt")));
        start(Settings { vrps, as_names, ..Settings::new(tables.collect()) })
    };
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let (answers, reloads) = page.split_once("## Reloads").unwrap();
    let mut count = 0;
    for (part, names) in
        [(answers, &["today", "yesterday"][..]), (reloads, &["today", "yesterday", "tomorrow"])]
    {
        let service = service(names);
        let blocks = part.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        for example in blocks.flat_map(|block| block.split("$ ").skip(1)) {
            let (command, expected) = example.split_once('\n').unwrap();
            let command = command.replace("127.0.0.1:8080", &service.address.to_string());
            let output = Command::new("sh").args(["-c", &command]).current_dir(&folder).output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
            // The page names its files as they are given.
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed = printed.replace(&format!("{}/", folder.path().display()), "");
            assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
            count += 1;
        }
    }
    assert_eq!(count, page.matches(" curl -s").count());
    // The line that starts it names the tables of the examples.
    assert!(
        page.contains(
            "-t today=today.txt -t yesterday=yesterday.txt --vrps vrps.csv --as-names as-names.txt"
        )
    );
}
