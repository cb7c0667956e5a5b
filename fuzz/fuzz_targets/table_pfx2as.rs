#![no_main]

use fibula_io::{fuzzing, table::Format};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::table(bytes, Format::Pfx2as, false));
