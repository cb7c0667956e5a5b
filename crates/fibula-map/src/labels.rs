//! The labels of a map: the first addresses of its parts, where they can be read.

use crate::View;
use crate::text::TextSize;
use crate::view::Square;
use fibula::{Address, Family, Prefix};

/// The most steps down to the parts that are labelled: 256 of them, the /8 of all IPv4 addresses.
const MOST_STEPS: u8 = 4;

/// Returns the smallest parts of a map whose labels can be read and leave most of the map free,
/// each with its label. None if there are no such parts.
pub(crate) fn labels<A: Address>(view: &View<A>, size: TextSize) -> Vec<(String, Square)> {
    for steps in (1..=MOST_STEPS.min(view.order())).rev() {
        let parts: Vec<_> = view.parts(steps).map(|(prefix, square)| (label(prefix), square)).collect();
        let is_readable = |(text, square): &(String, Square)| {
            2 * size.width(text) <= square.side && 3 * size.height() <= square.side
        };
        if parts.iter().all(is_readable) {
            return parts;
        }
    }
    Vec::new()
}

/// Returns the first address of a prefix: of IPv4 without the octets after the prefix.
fn label<A: Address>(prefix: Prefix<A>) -> String {
    let text = prefix.first().to_ip().to_string();
    match A::FAMILY {
        Family::Ipv4 => {
            let octets = usize::from(prefix.len().div_ceil(8).max(1));
            text.split('.').take(octets).collect::<Vec<_>>().join(".")
        }
        Family::Ipv6 => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<A: Address>(block: Prefix<A>, size: u32) -> Vec<String> {
        let view = View::new(block, size).unwrap();
        labels(&view, TextSize::for_map(size)).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn the_largest_blocks_are_labelled_by_their_first_octets() {
        let whole = texts(Prefix::<u32>::ALL, 1024);
        assert_eq!((whole.len(), &*whole[0], &*whole[10], &*whole[255]), (256, "0", "10", "255"));
        let part = texts::<u32>("10.0.0.0/8".parse().unwrap(), 1024);
        assert_eq!((part.len(), &*part[1], &*part[63]), (64, "10.4", "10.252"));
        let ipv6 = texts::<u128>("2000::/3".parse().unwrap(), 1024);
        assert_eq!((ipv6.len(), &*ipv6[0], &*ipv6[63]), (64, "2000::", "3f80::"));
    }

    #[test]
    fn a_map_without_room_has_no_labels() {
        assert!(texts::<u128>("2001:db8:ffff:ffff::/64".parse().unwrap(), 16).is_empty());
        assert!(texts(Prefix::host(1_u32), 4096).is_empty());
    }
}
