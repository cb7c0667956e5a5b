//! Snapshots with right checksums and hostile contents, many of them: every file is refused or
//! every lookup ends.
//!
//! `FIBULA_SECONDS=600 cargo test -p fibula-io --test forged -- --ignored --nocapture` runs for
//! that time on all cores and prints the number of files of each engine. Another `FIBULA_SEED`
//! makes other files.

use fibula_io::fuzzing::{Outcome, originals};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A file that takes longer than this has a lookup that does not end. Less is too short for a file
/// of 64 MiB on a machine where other processes go first.
const LONGEST: Duration = Duration::from_mins(2);

/// Returns the number in an environment variable, or `default` if there is none.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
#[ignore = "runs as long as it is told to"]
fn every_lookup_in_many_forged_files_ends() {
    let seconds = setting("FIBULA_SECONDS", 10);
    let first_seed = setting("FIBULA_SEED", 1);
    let originals = &originals(fibula_engines::all());
    let end = Instant::now() + Duration::from_secs(seconds);
    // For each original: refused, panicked, answered.
    let counts: Vec<[AtomicU64; 3]> = originals.iter().map(|_| [(); 3].map(|()| AtomicU64::new(0))).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // The file that each thread is at: its seed, and a count.
    let at: Vec<[AtomicU64; 2]> = (0..threads).map(|_| [(); 2].map(|()| AtomicU64::new(0))).collect();
    let is_done = AtomicBool::new(false);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ())); // a panic is one of the results
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut last: Vec<(u64, Instant)> = at.iter().map(|_| (0, Instant::now())).collect();
            while !is_done.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
                for ([seed, count], last) in at.iter().zip(&mut last) {
                    let now = count.load(Ordering::Relaxed);
                    if now != last.0 {
                        *last = (now, Instant::now());
                    } else if last.1.elapsed() > LONGEST {
                        eprintln!("file {} of a thread, seed {}: no end", now, seed.load(Ordering::Relaxed));
                        std::process::abort();
                    }
                }
            }
        });
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (counts, at) = (&counts, &at[thread]);
                scope.spawn(move || {
                    let seed = first_seed + thread as u64;
                    at[0].store(seed, Ordering::Relaxed);
                    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                    let mut round = 0_u64;
                    while Instant::now() < end {
                        for (original, counts) in originals.iter().zip(counts) {
                            // A large file takes as long as a thousand small ones.
                            if original.is_large && !round.is_multiple_of(1000) {
                                continue;
                            }
                            let outcome =
                                original.forge(fibula_engines::all(), |below| random.next_u64() % below);
                            let which = match outcome {
                                Outcome::Refused => 0,
                                Outcome::Panicked => 1,
                                Outcome::Answered => 2,
                            };
                            counts[which].fetch_add(1, Ordering::Relaxed);
                            at[1].fetch_add(1, Ordering::Relaxed);
                        }
                        round += 1;
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().expect("checksums fit");
        }
        is_done.store(true, Ordering::Relaxed);
        watch.join().expect("the watch only looks");
    });
    std::panic::set_hook(hook);
    let mut all = 0;
    println!("{:<44} {:>9} {:>9} {:>9}", "snapshot", "refused", "panicked", "answered");
    for (original, counts) in originals.iter().zip(&counts) {
        let [refused, panicked, answered] = [0, 1, 2].map(|which| counts[which].load(Ordering::Relaxed));
        println!("{:<44} {refused:>9} {panicked:>9} {answered:>9}", original.name);
        all += refused + panicked + answered;
    }
    println!("{all} files");
    assert!(all > 0);
}
