#![no_main]

// The four magic numbers of pcap and pcapng, so that most inputs reach the capture readers.
const MAGIC: [[u8; 4]; 4] =
    [[0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x0A, 0x0D, 0x0D, 0x0A], [0x4D, 0x3C, 0xB2, 0xA1]];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let capture = [&MAGIC[usize::from(choice % 4)], rest].concat();
    if let Ok((addresses, _)) = fibula_io::trace::parse(&capture, &fibula_io::Source::StandardInput) {
        assert!(addresses.len() <= capture.len());
    }
});
