#![no_main]

use fibula_io::fuzzing;

// What is read into something other than a table: payloads of RPKI, messages of RIS Live.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzzing::vrps(bytes);
    fuzzing::ris_live(bytes);
});
