//! [`merged`]: one walk over two ordered sequences.

use std::cmp::Ordering;

/// Walks two sequences in the order of their keys, each of which a sequence has at most once. Each
/// item is a key, and what the left and the right sequence have for it. O(1) an item.
pub(crate) fn merged<K: Ord, X, Y>(
    left: impl IntoIterator<Item = (K, X)>,
    right: impl IntoIterator<Item = (K, Y)>,
) -> impl Iterator<Item = (K, Option<X>, Option<Y>)> {
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match (left.next_if(|_| order.is_le()), right.next_if(|_| order.is_ge())) {
            (Some((key, x)), y) => Some((key, Some(x), y.map(|(_, y)| y))),
            (None, y) => y.map(|(key, y)| (key, None, Some(y))),
        }
    })
}
