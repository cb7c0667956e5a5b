//! Chunks of one length and of several: deduplicated, reused, renumbered, checked.

use super::*;
use crate::blocks::chunks::Lines;
use proptest::prelude::*;
use std::collections::HashMap;

#[test]
fn compaction_keeps_what_is_in_use_and_gives_the_rest_back() {
    let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
    let numbers: Vec<u32> = (0..100).map(|value| chunks.insert(&[value; 4])).collect();
    let before = chunks.bytes() + chunks.book_bytes();
    for &number in &numbers[..90] {
        chunks.release(number, 1);
    }
    assert!(chunks.is_sparse());
    let renumbered = chunks.compact();
    assert_eq!((chunks.len(), chunks.numbers(), chunks.is_sparse()), (10, 10, false));
    for (value, &number) in (90..).zip(&numbers[90..]) {
        assert_eq!(chunks.get(renumbered[number as usize]), [value; 4]);
    }
    assert!(chunks.bytes() + chunks.book_bytes() < before / 4);
    chunks.validate().unwrap();
}

#[test]
fn validation_sees_twins_and_what_is_lost() {
    let sound = || {
        let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
        chunks.insert(&[1; 4]);
        chunks.insert(&[2; 4]);
        chunks
    };
    sound().validate().unwrap();
    let chunks = sound();
    (4..8).for_each(|at| chunks.words.set(at, 1));
    assert!(chunks.validate().unwrap_err().contains("chunk 1 is lost or has a twin"));
    let mut chunks = sound();
    chunks.references[0] = 0;
    assert!(chunks.validate().unwrap_err().contains("2 of 1 chunks found, 1 numbers are theirs, 2 used"));
    let mut chunks = sound();
    chunks.references.extend([1; 100]);
    assert!(chunks.validate().unwrap_err().contains("words, 102 counts, 2 numbers"));
}

#[test]
fn what_no_copy_ever_had_is_reused_at_once() {
    let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
    let one = chunks.insert(&[1; 4]);
    chunks.defer();
    chunks.show();
    let two = chunks.insert(&[2; 4]);
    chunks.release(one, 1);
    chunks.release(two, 1);
    // A copy has the first one, and none the second.
    assert_eq!((chunks.waiting(), chunks.insert(&[3; 4])), (1, two));
    chunks.validate().unwrap();
    chunks.show();
    chunks.release(two, 1);
    assert_eq!((chunks.waiting(), chunks.insert(&[4; 4])), (2, 2));
    chunks.readers_passed();
    chunks.readers_passed();
    assert_eq!(chunks.waiting(), 0);
    chunks.validate().unwrap();
}

#[test]
fn settled_chunks_have_no_room_to_spare() {
    let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
    let numbers: Vec<u32> = (0..100).map(|value| chunks.insert(&[value; 4])).collect();
    chunks.settle();
    assert_eq!(chunks.bytes(), 100 * 16);
    for (value, &number) in (0..).zip(&numbers) {
        assert_eq!((chunks.get(number), chunks.insert(&[value; 4])), ([value; 4], number));
    }
    chunks.insert(&[100; 4]);
    assert!(chunks.bytes() < 120 * 16);
    chunks.validate().unwrap();
}

#[test]
fn what_others_may_read_is_not_used_again_before_they_have_passed() {
    let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
    let one = chunks.insert(&[1; 4]);
    chunks.share(3);
    let view = chunks.view();
    chunks.release(one, 1);
    let two = chunks.insert(&[2; 4]);
    chunks.readers_passed(); // the first call frees nothing: a reader may hold the first chunk
    let three = chunks.insert(&[3; 4]);
    assert_eq!((one, two, three, chunks.room()), (0, 1, 2, 0));
    assert_eq!([one, two, three].map(|number| view.get(number as usize * 4)), [1, 2, 3]);
    chunks.validate().unwrap();
    chunks.readers_passed();
    assert_eq!((chunks.room(), chunks.insert(&[4; 4]), view.get(one as usize * 4)), (1, one, 4));
    chunks.validate().unwrap();
}

#[test]
fn copies_of_a_growing_set_keep_what_they_have() {
    let mut chunks: Unique<u32, 4> = Unique::new(Pages::Small);
    chunks.defer();
    let one = chunks.insert(&[1; 4]);
    let copy = chunks.to_vec();
    chunks.release(one, 1);
    let others: Vec<u32> = (2..1000).map(|value| chunks.insert(&[value; 4])).collect();
    assert!(!others.contains(&one) && chunks.to_vec()[..4] == copy[..4]);
    assert_eq!(chunks.waiting(), 1);
    chunks.readers_passed();
    chunks.readers_passed();
    assert_eq!((chunks.waiting(), chunks.insert(&[1000; 4])), (0, one));
    chunks.validate().unwrap();
}

proptest! {
    #[test]
    fn equal_contents_share_a_number_as_long_as_somebody_refers_to_them(
        steps in proptest::collection::vec((0..3_u8, 0..40_u16), 0..300),
    ) {
        let mut chunks: Unique<u16, 8> = Unique::new(Pages::Small);
        let mut expected: HashMap<u16, (u32, u32)> = HashMap::new();
        for (step, value) in steps {
            let contents = [value, 7, 7, 7, value / 2, 7, 7, 7];
            match (step, expected.get_mut(&value)) {
                (0, Some((number, count))) => {
                    chunks.release(*number, 1);
                    *count -= 1;
                    if *count == 0 {
                        expected.remove(&value);
                    }
                }
                (1, Some((number, count))) => {
                    chunks.retain(*number, 2);
                    *count += 2;
                }
                (_, Some((number, count))) => {
                    prop_assert_eq!(chunks.insert(&contents), *number);
                    *count += 1;
                }
                (_, None) => {
                    expected.insert(value, (chunks.insert(&contents), 1));
                }
            }
            if chunks.is_sparse() {
                let renumbered = chunks.compact();
                for (number, _) in expected.values_mut() {
                    *number = renumbered[*number as usize];
                }
            }
            chunks.validate().map_err(TestCaseError::fail)?;
            prop_assert_eq!(chunks.len(), expected.len());
        }
        for (value, (number, count)) in expected {
            prop_assert_eq!((chunks.get(number)[0], chunks.references[number as usize]), (value, count));
        }
    }
}

/// Chunks of four words a number. The first word says how many numbers a chunk takes.
#[derive(Clone, Debug)]
struct Measured;

impl Form for Measured {
    type Word = u32;
    type Chunk = Vec<u32>;
    type Space = Lines;
    const UNIT: usize = 4;
    const MOST: usize = 8;

    fn words(chunk: &Vec<u32>) -> &[u32] {
        chunk
    }

    fn read(words: &[Atomic<Self>]) -> Vec<u32> {
        words[..4 * Self::numbers(words)].iter().map(u32::load).collect()
    }

    fn numbers(words: &[Atomic<Self>]) -> usize {
        u32::load(&words[0]) as usize
    }
}

/// Returns a chunk that is different for each value; its length depends on the value.
fn measured(value: u32) -> Vec<u32> {
    let numbers = [1, 2, 4, 8][value as usize % 4];
    let mut chunk = vec![value; 4 * numbers];
    chunk[0] = numbers as u32;
    chunk
}

#[test]
fn chunks_of_several_lengths_lie_in_few_lines() {
    let mut chunks: Kept<Measured> = Kept::new(Pages::Small);
    assert_eq!([0, 1, 2, 3, 4].map(|value| chunks.insert(&measured(value))), [0, 2, 4, 8, 1]);
    assert_eq!((chunks.insert(&measured(1)), chunks.len(), chunks.numbers()), (2, 5, 16));
    chunks.release(2, 2);
    chunks.release(4, 1);
    chunks.validate().unwrap();
    let renumbered = chunks.compact();
    assert_eq!([0, 1, 8].map(|number| renumbered[number]), [0, 1, 4]);
    assert_eq!((renumbered[4], chunks.numbers(), chunks.get(4)), (u32::MAX, 12, measured(3)));
    chunks.validate().unwrap();
    chunks.share(16);
    let view = chunks.view();
    let first = || Measured::read(&view);
    assert_eq!(chunks.room(), 0);
    chunks.release(0, 1);
    assert_eq!((chunks.insert(&measured(8)), first()), (2, measured(0)));
    chunks.readers_passed();
    chunks.readers_passed();
    assert_eq!((chunks.insert(&measured(12)), first()), (0, measured(12)));
    chunks.validate().unwrap();
}

proptest! {
    #[test]
    fn chunks_of_several_lengths_stay_what_they_are(
        shared in any::<bool>(),
        steps in proptest::collection::vec((0..3_u8, 0..40_u32), 0..300),
    ) {
        let mut chunks: Kept<Measured> = Kept::new(Pages::Small);
        if shared {
            chunks.share(8 * 320);
        }
        let view = chunks.view();
        let mut held: Vec<(u32, u32)> = Vec::new();
        for (step, value) in steps {
            match step {
                0 if !held.is_empty() => {
                    let (_, number) = held.swap_remove(value as usize % held.len());
                    chunks.release(number, 1);
                }
                1 if shared => chunks.readers_passed(),
                1 => {
                    let renumbered = chunks.compact();
                    for (_, number) in &mut held {
                        *number = renumbered[*number as usize];
                    }
                    prop_assert!(chunks.space.free_total() < 4);
                }
                _ => held.push((value, chunks.insert(&measured(value)))),
            }
            chunks.validate().map_err(TestCaseError::fail)?;
            for &(value, number) in &held {
                prop_assert_eq!(chunks.get(number), measured(value));
                if shared {
                    prop_assert_eq!(Measured::read(&view[4 * number as usize..]), measured(value));
                }
            }
        }
    }
}
