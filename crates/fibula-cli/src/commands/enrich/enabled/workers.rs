//! [`in_order`]: work in parts on several threads, whose results come in the order of the parts.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Calls `work` for each part, on `threads` threads, and `take` for each result, in the order of
/// the parts. Ends at the first error. No thread is more than two parts ahead of `take`.
pub(super) fn in_order<P: Send, R: Send>(
    threads: usize,
    parts: impl Iterator<Item = anyhow::Result<P>> + Send,
    work: impl Fn(P) -> anyhow::Result<R> + Sync,
    mut take: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let work = &work;
    thread::scope(|scope| {
        let mut to_workers: Vec<SyncSender<anyhow::Result<P>>> = Vec::new();
        let mut results: Vec<Receiver<anyhow::Result<R>>> = Vec::new();
        for _ in 0..threads {
            let (to_worker, given) = sync_channel::<anyhow::Result<P>>(0);
            let (to_taker, result) = sync_channel(0);
            to_workers.push(to_worker);
            results.push(result);
            scope.spawn(move || {
                for part in given {
                    if to_taker.send(part.and_then(work)).is_err() {
                        return;
                    }
                }
            });
        }
        scope.spawn(move || {
            for (part, to_worker) in parts.zip(to_workers.iter().cycle()) {
                let is_last = part.is_err();
                if to_worker.send(part).is_err() || is_last {
                    return;
                }
            }
        });
        // The worker whose turn it is has ended only if there are no more parts, or it panicked:
        // then the scope panics, too.
        for result in results.iter().cycle().map_while(|results| results.recv().ok()) {
            take(result?)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_end_at_an_error() {
        for threads in [1, 2, 5] {
            let mut taken = Vec::new();
            let parts = (0..100_u64).map(Ok);
            in_order(
                threads,
                parts,
                |part| Ok(part * 2),
                |result| {
                    taken.push(result);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(taken, (0..100).map(|part| part * 2).collect::<Vec<_>>());

            taken.clear();
            let work = |part| if part == 7 { Err(anyhow::anyhow!("part 7")) } else { Ok(part) };
            let ended = in_order(threads, (0..).map(Ok), work, |result| {
                taken.push(result);
                Ok(())
            });
            assert_eq!((ended.unwrap_err().to_string(), taken.len()), ("part 7".into(), 7));

            let parts = (0..).map(|part| if part == 3 { Err(anyhow::anyhow!("cut off")) } else { Ok(part) });
            let ended = in_order(threads, parts, Ok, |_: u64| Ok(()));
            assert_eq!(ended.unwrap_err().to_string(), "cut off");

            let ended = in_order(threads, (0..).map(Ok), Ok, |part: u64| {
                if part == 5 { Err(anyhow::anyhow!("disk full")) } else { Ok(()) }
            });
            assert_eq!(ended.unwrap_err().to_string(), "disk full");
        }
    }
}
