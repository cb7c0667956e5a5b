//! CRC-32C (Castagnoli), the cyclic redundancy check that processors have an instruction for.

/// The polynomial, bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The contribution to the check of each byte followed by 0 to 7 zero bytes: eight independent
/// reads instead of a chain.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut check = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            check = check >> 1 ^ if check & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        tables[0][byte] = check;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[zeros - 1][byte];
            tables[zeros][byte] = before >> 8 ^ tables[0][(before & 255) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}

/// Returns the CRC-32C of a key's eight bytes, least significant first, begun at 0 and not
/// inverted. That is the value of the instruction, on any processor. Keys that differ in at most 32
/// neighbouring bits have different checks.
///
/// ```
/// use fibula::parts::arch::crc32c;
/// assert_eq!(crc32c(0), 0);
/// assert_ne!(crc32c(0x2001_0DB8_0000_0000), crc32c(0x2001_0DB8_0000_0001));
/// ```
#[must_use]
#[inline]
pub fn crc32c(key: u64) -> u32 {
    let bytes = key.to_le_bytes();
    bytes.iter().enumerate().fold(0, |check, (at, &byte)| check ^ TABLES[7 - at][usize::from(byte)])
}

/// Computes [`crc32c`] with the instruction.
///
/// # Safety
/// The processor must have SSE 4.2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code, reason = "the instruction is an intrinsic of more than the baseline")]
pub(super) unsafe fn by_instruction(key: u64) -> u32 {
    // SAFETY: the caller promises that the processor has the instruction.
    unsafe { std::arch::x86_64::_mm_crc32_u64(0, key) as u32 }
}

#[cfg(test)]
mod tests {
    use crate::arch::{Isa, Kernel, Level, crc32c, dispatch};

    struct Checks<'k>(&'k [u64]);

    impl Kernel for Checks<'_> {
        type Output = Vec<u32>;
        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Vec<u32> {
            self.0.iter().map(|&key| isa.crc32c(key)).collect()
        }
    }

    #[test]
    fn every_level_computes_the_same_check() {
        let keys: Vec<u64> =
            (0..64).map(|bit| 1 << bit).chain([0, u64::MAX, 0x2001_0DB8_1234_5678]).collect();
        let checks: Vec<u32> = keys.iter().map(|&key| crc32c(key)).collect();
        for &level in Level::available() {
            assert_eq!(dispatch(level, Checks(&keys)), checks, "{level}");
        }
    }

    #[test]
    fn the_published_check_value() {
        // "123456789" begun at all ones and inverted at the end is E3069283. Because the check is
        // linear, the start equals ones in the first four bytes. The ninth byte is one more step.
        let eight = crc32c(u64::from_le_bytes(*b"12345678") ^ 0xFFFF_FFFF);
        let nine = eight >> 8 ^ crc32c(u64::from((eight ^ u32::from(b'9')) as u8) << 56);
        assert_eq!(!nine, 0xE306_9283);
    }
}
