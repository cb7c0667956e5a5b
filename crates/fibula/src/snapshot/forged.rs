//! [`forged`]: files with right checksums and hostile contents, for tests and fuzzers.

use super::header::{ALIGN, Header};
use xxhash_rust::xxh3::xxh3_64;

/// Returns a whole snapshot with the contents of some sections altered, and the checksums and
/// offsets that fit them.
///
/// `choose` returns any number below its argument: of a random generator, or of a fuzzer's bytes.
/// `probes` are the first 64 bits of addresses that are going to be looked up. Some alterations are
/// made at their share of an array, which is where a table indexed by the first bits of an address
/// holds what those lookups read.
///
/// # Panics
/// If `whole` is not a whole snapshot.
#[doc(hidden)]
#[must_use]
pub fn forged(whole: &[u8], probes: &[u64], mut choose: impl FnMut(u64) -> u64) -> Vec<u8> {
    let mut header = Header::begin(whole).expect("a whole snapshot");
    let mut file = whole.to_vec();
    for _ in 0..=choose(8) {
        let which = choose(header.sections.len() as u64) as usize;
        let section = header.sections[which];
        let (start, bytes) = (section.offset as usize, section.bytes as usize);
        let element = section.element.max(1) as usize;
        let elements = bytes / element;
        if elements == 0 {
            continue;
        }
        let at = if choose(3) == 0 && !probes.is_empty() {
            let probe = probes[choose(probes.len() as u64) as usize];
            ((u128::from(probe) * elements as u128) >> u64::BITS) as usize
        } else {
            choose(elements as u64) as usize
        };
        let place = start + at * element;
        let contents = &mut file[place..place + element];
        match choose(16) {
            0..4 => contents.fill_with(|| choose(256) as u8),
            4..6 => contents[choose(element as u64) as usize] ^= 1 << choose(8),
            // A small number, as indices are.
            6..9 => {
                let bits = choose(24);
                let number = choose(1 << bits).to_ne_bytes();
                let len = element.min(number.len());
                contents[..len].copy_from_slice(&number[..len]);
            }
            9 => contents.fill(if choose(2) == 0 { 0 } else { 0xFF }),
            10..13 => {
                let from = start + choose(elements as u64) as usize * element;
                file.copy_within(from..from + element, place);
            }
            13..15 => {
                // This element again and again.
                for copy in at..elements.min(at + 1 + choose(64) as usize) {
                    file.copy_within(place..place + element, start + copy * element);
                }
            }
            _ => {
                let kept = at * element;
                let end = start + bytes.next_multiple_of(ALIGN);
                file[start + kept..end].fill(0);
                file.drain(start + kept.next_multiple_of(ALIGN)..end);
                header.sections[which].bytes = kept as u64;
                header.place();
            }
        }
    }
    let file_bytes = header.place();
    for section in &mut header.sections {
        let bytes = (section.bytes as usize).next_multiple_of(ALIGN);
        section.checksum = xxh3_64(&file[section.offset as usize..][..bytes]);
    }
    let header = header.write(file_bytes);
    file[..header.len()].copy_from_slice(&header);
    file
}
