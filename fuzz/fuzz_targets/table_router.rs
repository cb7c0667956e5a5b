#![no_main]

use fibula_io::fuzzing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::router_text(bytes));
