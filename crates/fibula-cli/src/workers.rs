//! [`in_order`]: work in parts on several threads, whose results come in the order of the parts.

use std::sync::mpsc::sync_channel;
use std::thread;

/// Calls `take` for the result of each part, in the order of the parts. Ends at the first error.
///
/// ```text
///            +-> worker 0 -+
///   parts  --+             +--> take (the caller)
///            +-> worker 1 -+
/// ```
/// Part *i* goes to worker *i* mod `threads` and its result is received from there, so the order
/// needs no numbers. Each thread has its own `worker()`, and is at most `ahead` parts and the two
/// at hand before `take`. After an error no thread is joined: the parts may wait for input that
/// never comes.
pub(crate) fn in_order<P: Send + 'static, R: Send + 'static, W>(
    threads: usize,
    ahead: usize,
    parts: impl Iterator<Item = anyhow::Result<P>> + Send + 'static,
    worker: impl Fn() -> W,
    mut take: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()>
where
    W: FnMut(P) -> anyhow::Result<R> + Send + 'static,
{
    let (mut to_workers, mut results, mut workers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..threads {
        let (to_worker, given) = sync_channel::<anyhow::Result<P>>(ahead);
        let (to_taker, result) = sync_channel(ahead);
        to_workers.push(to_worker);
        results.push(result);
        let mut work = worker();
        workers.push(thread::spawn(move || {
            for part in given {
                if to_taker.send(part.and_then(&mut work)).is_err() {
                    return;
                }
            }
        }));
    }
    thread::spawn(move || {
        for (part, to_worker) in parts.zip(to_workers.iter().cycle()) {
            let is_last = part.is_err();
            if to_worker.send(part).is_err() || is_last {
                return;
            }
        }
    });
    for turn in (0..threads).cycle() {
        let Ok(result) = results[turn].recv() else {
            // It has ended because there are no more parts, or it panicked.
            workers.swap_remove(turn).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            break;
        };
        take(result?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_end_at_an_error() {
        for threads in [1, 2, 5] {
            let mut taken = Vec::new();
            let parts = (0..100_u64).map(Ok);
            let mut keep = |result| {
                taken.push(result);
                Ok(())
            };
            in_order(threads, threads % 2, parts, || |part| Ok(part * 2), &mut keep).unwrap();
            assert_eq!(taken, (0..100).map(|part| part * 2).collect::<Vec<_>>());

            taken.clear();
            let work = |part| if part == 7 { Err(anyhow::anyhow!("part 7")) } else { Ok(part) };
            let mut keep = |result| {
                taken.push(result);
                Ok(())
            };
            let ended = in_order(threads, 0, (0..).map(Ok), || work, &mut keep);
            assert_eq!((ended.unwrap_err().to_string(), taken.len()), ("part 7".into(), 7));

            let parts = (0..).map(|part| if part == 3 { Err(anyhow::anyhow!("cut off")) } else { Ok(part) });
            let ended = in_order(threads, 1, parts, || Ok, |_: u64| Ok(()));
            assert_eq!(ended.unwrap_err().to_string(), "cut off");

            let full = |part: u64| if part == 5 { Err(anyhow::anyhow!("disk full")) } else { Ok(()) };
            let ended = in_order(threads, 0, (0..).map(Ok), || Ok, full);
            assert_eq!(ended.unwrap_err().to_string(), "disk full");
        }
    }
}
