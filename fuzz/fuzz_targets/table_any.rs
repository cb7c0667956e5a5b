#![no_main]

use fibula_io::{fuzzing, table::Format};

// The first byte chooses the format.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((&first, bytes)) = bytes.split_first() {
        fuzzing::table(bytes, Format::ALL[usize::from(first) % Format::ALL.len()], false);
        fuzzing::any_table(bytes);
    }
});
