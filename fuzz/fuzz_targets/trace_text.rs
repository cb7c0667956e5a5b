#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok((addresses, _)) = fibula_io::trace::parse(bytes, &fibula_io::Source::StandardInput) {
        assert!(addresses.len() <= bytes.len());
    }
});
