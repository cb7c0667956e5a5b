#![no_main]

use fibula_io::fuzzing;
use std::sync::Once;

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A forged file may make a lookup panic: that is caught, and must not end the fuzzer.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    fuzzing::forged_snapshot(fibula_engines::all(), bytes);
});
