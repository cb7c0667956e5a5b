#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fibula_io::fuzzing::prefix(bytes, false);
    fibula_io::fuzzing::prefix(bytes, true);
});
