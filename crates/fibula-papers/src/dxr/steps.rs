//! Table 2: the iterations of a binary search that ends at a hit.

use super::{NEXT_HOPS, SCHEMES};
use crate::lab::narrow;
use crate::{Error, Facts, Finding, Lab, Plot, Point};
use fibula::Rib;

/// Table 2 as printed: percentages by iterations from 0 on, for D16R and D18R. The last value of
/// each is an upper bound.
const TABLE_2: [[f64; 8]; 2] =
    [[75.7, 4.00, 6.58, 5.46, 4.30, 2.68, 1.06, 0.22], [86.4, 3.55, 5.15, 3.02, 1.47, 0.40, 0.04, 0.003]];

/// The first address that is no unicast address.
const MULTICAST: u64 = 0xE000_0000;

pub(super) fn table_2(lab: &Lab) -> Result<Finding, Error> {
    let mut points = Vec::new();
    lab.table()?;
    for table in lab.ipv4.iter().map(|table| narrow(table, NEXT_HOPS)) {
        let facts = Facts::of(&table);
        for (scheme, paper) in SCHEMES.into_iter().zip(TABLE_2) {
            let shares = shares(&table.rib, scheme.direct_bits);
            for (steps, &share) in shares.iter().enumerate() {
                let point =
                    Point::new(format!("{}, {}", table.name, scheme.name), steps, "% of addresses", share);
                points.push(point.beside_any(paper.get(steps).copied()).on(&facts));
            }
        }
    }
    Ok(Finding::new("iterations", Plot::Bars, points)
        .note("The addresses are all unicast addresses, so the shares are exact. The paper's are of its LINX snapshot; its last one is an upper bound.")
        .note("A table with more routes has more ranges in a chunk, and so more iterations: the paper's has 417,523 routes.")
        .note("The search is the paper's: it ends as soon as the range that it looks at contains the address. That of `dxr` halves what is left without a test for a hit."))
}

/// Returns the percentage of unicast addresses that take each number of iterations, from 0 on.
fn shares(rib: &Rib<u32>, k: u8) -> Vec<f64> {
    let chunk_bits = u32::BITS - u32::from(k);
    let mut addresses = vec![0_u64; 1];
    // The starts of the ranges of the chunk that is being read.
    let mut starts: Vec<u64> = Vec::new();
    let mut finish = |starts: &mut Vec<u64>, end: u64| {
        let last = starts.len() - 1;
        for (index, &start) in starts.iter().enumerate() {
            let steps = iterations(index, last) as usize;
            let size = starts.get(index + 1).copied().unwrap_or(end) - start;
            if addresses.len() <= steps {
                addresses.resize(steps + 1, 0);
            }
            addresses[steps] += size;
        }
        starts.clear();
    };
    for range in rib.ranges() {
        let end = (u64::from(range.last) + 1).min(MULTICAST);
        let mut at = u64::from(range.first);
        while at < end {
            let chunk_end = ((at >> chunk_bits) + 1) << chunk_bits;
            starts.push(at);
            if end >= chunk_end {
                finish(&mut starts, chunk_end);
            }
            at = end.min(chunk_end);
        }
    }
    addresses.iter().map(|&count| 100.0 * count as f64 / MULTICAST as f64).collect()
}

/// Returns the iterations of a binary search for the range at `index` of the ranges 0 to `last`: 0
/// where there is only one.
fn iterations(index: usize, last: usize) -> u32 {
    let (mut lower, mut upper, mut iterations) = (0, last, 0);
    while lower != upper {
        iterations += 1;
        let middle = usize::midpoint(lower, upper);
        match index.cmp(&middle) {
            std::cmp::Ordering::Less => upper = middle,
            std::cmp::Ordering::Equal => break,
            std::cmp::Ordering::Greater => lower = middle + 1,
        }
    }
    iterations
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;

    #[test]
    fn a_search_ends_at_a_hit() {
        assert_eq!(iterations(0, 0), 0, "the direct table answers");
        assert_eq!([0, 1].map(|index| iterations(index, 1)), [1, 1]);
        assert_eq!([0, 1, 2].map(|index| iterations(index, 2)), [2, 1, 1]);
        // No range takes more than the logarithm, and the middle one takes one.
        assert!((0..=254).all(|index| iterations(index, 254) <= 8));
        assert_eq!(iterations(127, 254), 1);
    }

    #[test]
    fn shares_count_addresses_and_not_ranges() {
        let mut rib: Rib<u32> = Rib::new();
        rib.insert("0.0.0.0/0".parse().unwrap(), NextHop(1));
        rib.insert("10.0.1.0/24".parse().unwrap(), NextHop(2));
        let shares = shares(&rib, 16);
        let percent = |addresses: u64| 100.0 * addresses as f64 / MULTICAST as f64;
        // In the one full chunk: 256 addresses before the /24, the /24 in the middle, the rest.
        let expected = [percent(MULTICAST - 65_536), percent(256 + 65_536 - 512), percent(256)];
        assert_eq!(shares.len(), 3);
        assert!(
            shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-9),
            "{shares:?}"
        );
    }
}
