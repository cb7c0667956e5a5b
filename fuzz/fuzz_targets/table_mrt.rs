#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fibula_fuzz::table(fibula_io::table::Format::Mrt, bytes));
