#![no_main]

use fibula_io::{fuzzing, update::Format};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::updates(bytes, Format::Mrt));
