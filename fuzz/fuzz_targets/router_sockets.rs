//! A peer of the router's socket and of its metrics. Each question has one answer, each connection
//! by HTTP at most one.
#![no_main]

use fibula_router::service::fuzzing::{http, socket};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A longer question is cut in two.
    let bytes = &bytes[..bytes.len().min(4096)];
    let answers = socket(bytes);
    let lines = answers.split_inclusive(|&byte| byte == b'\n');
    assert!(lines.clone().all(|line| line.ends_with(b"}\n")), "{:?}", String::from_utf8_lossy(&answers));
    let questions = bytes.split_inclusive(|&byte| byte == b'\n').count();
    assert_eq!(lines.count(), questions);
    let answer = http(bytes);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{:?}", String::from_utf8_lossy(&answer));
});
