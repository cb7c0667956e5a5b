//! A snapshot of one of fibula's engines whose checksums fit and whose contents are altered: it is
//! refused, or every lookup in it ends. The papers' engines that keep snapshots are in the suite,
//! which forges those of every engine.
#![no_main]

use fibula::engine::ENGINES;
use fibula_io::fuzzing;
use std::sync::Once;

static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A forged file may make a lookup panic: that is caught, and must not end the fuzzer.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    fuzzing::forged_snapshot(ENGINES, bytes);
});
