//! [`Parallel`]: the models, and how one runs.

use super::team::Team;
use super::{completion, dispatcher, pipeline};
use fibula::View;
use fibula::engine::Width;
use fibula::{Address, Error, ErrorKind, NextHopSlice};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How addresses are shared among threads; see the [module page](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Run to completion: thread *t* of *n* takes chunks *t*, *t* + *n*, *t* + 2*n* ...
    Own,
    /// Run to completion: as [`Own`](Self::Own), but a thread takes its chunk only after the thread
    /// before has taken its own. With [`Order::Kept`] addresses enter and leave in turn.
    InTurn,
    /// Run to completion: the thread that is free takes the next chunk.
    Dynamic,
    /// Run to completion behind a dispatcher that hands out single addresses in turn.
    RoundRobin,
    /// Run to completion behind a dispatcher that hands out chunks in turn.
    ByBatch,
    /// Thread pipeline: a part of every lookup each, as far as the engine's lookup has stages
    /// ([`View::stages`]); further threads do nothing.
    Pipeline,
    /// Thread pipelines of two threads side by side, each for an equal part of the addresses. With
    /// an odd number of threads, the last does nothing; one thread alone is a pipeline.
    Pipelines,
}

impl Model {
    /// Every model.
    pub const ALL: [Self; 7] = [
        Self::Own,
        Self::InTurn,
        Self::Dynamic,
        Self::RoundRobin,
        Self::ByBatch,
        Self::Pipeline,
        Self::Pipelines,
    ];

    /// Returns whether each thread does a part of every lookup.
    #[must_use]
    pub fn is_pipeline(self) -> bool {
        matches!(self, Self::Pipeline | Self::Pipelines)
    }

    /// Returns how many of `threads` threads run a lookup that is cut into `stages` stages.
    #[must_use]
    pub fn threads_used(self, threads: usize, stages: usize) -> usize {
        match self {
            Self::Pipeline => threads.min(stages),
            Self::Pipelines if threads > 1 => threads - threads % 2,
            _ => threads,
        }
    }

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::InTurn => "in-turn",
            Self::Dynamic => "dynamic",
            Self::RoundRobin => "round-robin",
            Self::ByBatch => "by-batch",
            Self::Pipeline => "pipeline",
            Self::Pipelines => "pipelines",
        }
    }
}

/// When answers may leave; see the [module page](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the addresses.
    Kept,
    /// As they are finished.
    Free,
}

impl Order {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Kept, Self::Free];

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Free => "free",
        }
    }
}

/// Displays a choice by its name, and parses it.
macro_rules! named {
    ($choice:ident, $what:literal) => {
        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $choice {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
                let unknown = || Error::unknown_name($what, text, &Self::ALL.map(Self::name));
                found.ok_or_else(unknown)
            }
        }
    };
}

named!(Model, "model");
named!(Order, "order");

/// The threads, and their work.
#[derive(Clone, Copy, Debug)]
pub struct Parallel {
    /// The number of threads, a dispatcher included; at least 1, and 2 with a dispatcher.
    pub threads: usize,
    /// How they share the addresses.
    pub model: Model,
    /// When answers may leave.
    pub order: Order,
    /// The number of addresses of a chunk, at least 1: what a thread looks up at once.
    pub chunk: usize,
}

impl Parallel {
    /// Looks up all addresses and writes the answer for `addresses[i]` to `next_hops[i]`. Returns
    /// the time from the first thread's start to the last one's end.
    ///
    /// Every thread calls `begin` with its number, counted from 0, before all of them start
    /// together, for instance to pin itself. A dispatcher is thread 0.
    ///
    /// # Errors
    /// If there are no threads, or too few for the model, or a chunk has no addresses, or the
    /// engine's lookup has no stages for a pipeline.
    ///
    /// # Panics
    /// If `addresses` and `next_hops` differ in length, `next_hops` has another width than the
    /// table's answers, or a lookup panics.
    pub fn run<'n, A: Address>(
        &self,
        view: &dyn View<A>,
        addresses: &[A],
        next_hops: impl Into<NextHopSlice<'n>>,
        begin: &(dyn Fn(usize) + Sync),
    ) -> Result<Duration, Error> {
        match next_hops.into() {
            NextHopSlice::U8(next_hops) => self.go(view, addresses, next_hops, begin),
            NextHopSlice::U16(next_hops) => self.go(view, addresses, next_hops, begin),
            NextHopSlice::U32(next_hops) => self.go(view, addresses, next_hops, begin),
        }
    }

    fn go<A: Address, W: Answer>(
        &self,
        view: &dyn View<A>,
        addresses: &[A],
        next_hops: &mut [W],
        begin: &(dyn Fn(usize) + Sync),
    ) -> Result<Duration, Error> {
        assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
        assert_eq!(view.width(), W::BITS, "next hops as wide as the table keeps them");
        let Self { threads, model, order, chunk } = *self;
        let least = if matches!(model, Model::RoundRobin | Model::ByBatch) { 2 } else { 1 };
        if threads < least || chunk == 0 {
            return Err(Error::new(
                ErrorKind::Usage,
                format!("{model}: at least {least} threads and chunks of 1 address"),
            ));
        }
        let job = Job { work: Work { view, addresses, chunk, order }, next_hops, threads, begin };
        Ok(match model {
            Model::Own => completion::own(job, |_, _| ()),
            Model::InTurn => completion::own(job, Team::take_in_turn),
            Model::Dynamic => completion::dynamic(job),
            Model::RoundRobin => dispatcher::by_address(job),
            Model::ByBatch => dispatcher::by_batch(job),
            Model::Pipeline | Model::Pipelines => match view.stages() {
                0 | 1 => {
                    let what = "the lookup of this table's engine is not cut into stages";
                    return Err(Error::new(ErrorKind::Unsupported, format!("{model}: {what}")));
                }
                stages => {
                    let threads = model.threads_used(threads, stages);
                    let pipelines = if model == Model::Pipeline { 1 } else { threads.div_ceil(2) };
                    pipeline::side_by_side(Job { threads, ..job }, pipelines)
                }
            },
        })
    }
}

/// The work of all threads.
#[derive(Clone, Copy)]
pub(super) struct Work<'w, A: Address> {
    pub(super) view: &'w dyn View<A>,
    pub(super) addresses: &'w [A],
    pub(super) chunk: usize,
    pub(super) order: Order,
}

/// The work, its answers, and the number of threads.
pub(super) struct Job<'w, A: Address, W> {
    pub(super) work: Work<'w, A>,
    pub(super) next_hops: &'w mut [W],
    pub(super) threads: usize,
    /// The function that each thread calls first, with its number.
    pub(super) begin: &'w (dyn Fn(usize) + Sync),
}

/// The widths of slices that a table accepts.
pub(super) trait Answer: Width {
    fn look_up<A: Address>(view: &dyn View<A>, addresses: &[A], next_hops: &mut [Self]);
}

macro_rules! answer {
    ($($int:ty)+) => {$(
        impl Answer for $int {
            fn look_up<A: Address>(view: &dyn View<A>, addresses: &[A], next_hops: &mut [Self]) {
                view.lookup_batch_into(addresses, next_hops);
            }
        }
    )+};
}

answer!(u8 u16 u32);
