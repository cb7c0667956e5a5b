//! `fibula devices`, and the error where a card is asked for and there is none.

use std::path::Path;
use std::process::{Command, Output};

fn fibula(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fibula")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_processor_is_always_a_device_and_a_missing_card_is_one_line() {
    let listed = fibula(&["devices", "--format", "csv"]);
    let rows = text(&listed.stdout);
    assert!(listed.status.success() && rows.starts_with("device,name,memory_bytes,cores,"), "{rows}");
    assert!(rows.lines().nth(1).unwrap().starts_with("cpu,"), "{rows}");
    let why = text(&listed.stderr);
    if rows.lines().count() > 2 {
        return; // a card is here: nothing to complain of
    }
    assert!(why.starts_with("fibula: no CUDA card: ") && why.lines().count() == 1, "{why}");
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu.md");
    let page = page.to_str().unwrap();
    for arguments in [
        &["bench", "--device", "gpu"][..],
        &["bench", "--device", "both", "--engine", "gpu-mosaic"],
        &["verify", "--device", "gpu"],
        &["verify", "--device", "gpu", "--exhaustive"],
        &["verify", "--device", "both", "-u", "made=10"],
        &["replay", "--device", "gpu", "--flap", "default"],
        &["replay", "--device", "both", "-u", "made=10", "-e", "gpu-mosaic"],
        &["study", "vrf", "--device", "gpu"],
        &["study", "gpu", "-o", page],
    ] {
        let run = fibula(arguments);
        assert_eq!((run.status.code(), text(&run.stderr)), (Some(2), why.clone()), "{arguments:?}");
        assert!(run.stdout.is_empty());
    }
    assert!(!Path::new(page).exists(), "without a card nothing is written");
}
