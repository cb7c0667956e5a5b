#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fibula_fuzz::updates(fibula_io::update::Format::Text, bytes));
