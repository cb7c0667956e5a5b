//! Every model writes every answer at its index, whatever the numbers of threads and addresses.

use super::models::*;
use super::*;
use crate::all;
use fibula::engine::WidthBits;
use fibula::{Address, NextHop, Prefix, Rib, Route};
use std::sync::atomic::{AtomicUsize, Ordering as Memory};

fn table<A: Address>() -> Rib<A> {
    let mut random = fastrand::Rng::with_seed(3);
    let routes = (0..3000).map(|_| {
        let address = A::from_bits(random.u64(..50) * 0x0512_0301, 0, 32)
            | A::from_bits(random.u64(..), A::BITS - 32, 32);
        let prefix = Prefix::containing(address, random.u8(1..=A::BITS));
        Route { prefix, next_hop: NextHop(random.u32(1..=200)) }
    });
    routes.collect()
}

/// Returns addresses in and around the routes, many times over.
fn addresses<A: Address>(rib: &Rib<A>, count: usize) -> Vec<A> {
    let ends = || rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    ends().cycle().take(count).collect()
}

#[test]
fn every_model_answers_as_the_table_does() {
    let rib = table::<u32>();
    let fib = crate::build("dir24-8", &rib).unwrap();
    let addresses = addresses(&rib, 40_000);
    let mut right = vec![0_u8; addresses.len()];
    fib.lookup_batch_into(&addresses, &mut right[..]);
    for (model, order) in Model::ALL.into_iter().flat_map(|model| Order::ALL.map(|order| (model, order))) {
        for (threads, chunk, count) in
            [(2, 64, 40_000), (4, 1000, 40_000), (3, 7, 2_000), (2, 50_000, 40_000), (5, 16, 3), (2, 8, 0)]
        {
            let begun = AtomicUsize::new(0);
            let begin = |number: usize| _ = begun.fetch_add(1 << number, Memory::Relaxed);
            let mut found = vec![0xFF_u8; count];
            Parallel { threads, model, order, chunk }
                .run(&*fib, &addresses[..count], &mut found[..], &begin)
                .unwrap();
            assert!(found == right[..count], "{model}, {order}, {threads} threads, {count} by {chunk}");
            let run = model.threads_used(threads, fib.stages());
            assert_eq!(begun.into_inner(), (1 << run) - 1);
        }
    }
}

fn stages_lead_to_the_answers<A: Address>() {
    let rib = table::<A>();
    let addresses = addresses(&rib, 6_000);
    let mut cut = 0;
    for entry in all().iter().filter(|entry| entry.does(A::FAMILY)) {
        let fib = crate::build(entry.about.name, &rib).unwrap();
        if fib.stages() > 1 {
            cut += 1;
            let mut found = vec![0; addresses.len()];
            (0..fib.stages()).for_each(|stage| fib.run_stage(stage, &addresses, &mut found));
            for (&address, &found) in addresses.iter().zip(&found) {
                assert_eq!(u64::from(fib.lookup_index(address).0), found, "{} {address:?}", entry.about.name);
            }
        }
    }
    assert!(cut > 0);
}

#[test]
fn the_stages_of_every_engine_that_has_some_lead_to_its_answers() {
    stages_lead_to_the_answers::<u32>();
    stages_lead_to_the_answers::<u128>();
}

#[test]
fn what_cannot_be_is_said() {
    let fib = crate::build("oracle", &Rib::<u32>::new()).unwrap();
    let run = |threads, model, chunk| {
        let parallel = Parallel { threads, model, order: Order::Free, chunk };
        assert_eq!(fib.width(), WidthBits::U8);
        parallel.run(&*fib, &[1, 2], &mut [0_u8; 2][..], &|_| {}).unwrap_err().to_string()
    };
    assert_eq!(run(1, Model::ByBatch, 8), "by-batch: at least 2 threads and chunks of 1 address");
    assert_eq!(run(2, Model::Own, 0), "own: at least 1 threads and chunks of 1 address");
    assert_eq!(
        run(2, Model::Pipeline, 8),
        "pipeline: the lookup of this table's engine is not cut into stages"
    );
    assert_eq!(
        "chunked".parse::<Model>().unwrap_err().to_string(),
        "model \"chunked\": expected one of own, in-turn, dynamic, round-robin, by-batch, pipeline, pipelines"
    );
    assert_eq!("kept".parse(), Ok(Order::Kept));
}

#[test]
#[should_panic(expected = "a lookup panicked")]
fn a_thread_that_panics_stops_the_others() {
    let fib = crate::build("oracle", &Rib::<u32>::new()).unwrap();
    let parallel = Parallel { threads: 3, model: Model::Own, order: Order::Kept, chunk: 1 };
    let work = Work { view: &*fib, addresses: &[1, 2, 3], chunk: 1, order: parallel.order };
    let member = |number: usize| -> team::Member<'_> {
        Box::new(move |team| {
            assert!(number != 0, "the first chunk never comes");
            work.complete(number, &mut [0_u8], team);
        })
    };
    team::run((0..3).map(member).collect(), &|_| {});
}
