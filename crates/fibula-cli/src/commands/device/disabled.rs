//! The twin of a card in a program built without the feature `gpu`: there is never one.

#![allow(clippy::unused_self, reason = "it has the twin's methods")]

use crate::commands::devices::Row;
use crate::commands::measuring::Changes;
use crate::commands::study::gpu;
use crate::commands::{bench, verify};
use crate::exit::Verdict;
use crate::output::Output;
pub(crate) use fibula::Address as Key;
use fibula::Rib;
use fibula::engine::Entry;
use fibula_io::table::Tables;
use fibula_lab::Error;
use fibula_lab::replay::{ReplayOptions, ReplayRow, Stream};
use fibula_lab::study::{VrfRow, VrfWork};
use std::io::Write;

/// The engines that have a kernel: none.
pub(crate) const ENGINES: &[Entry] = &[];

/// A card. Nobody has one.
#[derive(Clone)]
pub(crate) enum Card {}

/// Returns the error that says which feature is lacking.
fn lacking() -> anyhow::Error {
    anyhow::anyhow!("no CUDA card: this fibula was built without the feature `gpu`")
}

/// Returns why there are no cards.
pub(crate) fn rows() -> anyhow::Result<Vec<Row>> {
    Err(lacking())
}

impl Card {
    /// Returns the error that says which feature is lacking.
    pub(crate) fn open(_both: bool, _buffer: usize, _lanes: usize) -> anyhow::Result<Self> {
        Err(lacking())
    }

    pub(crate) fn is_alone(&self) -> bool {
        match *self {}
    }

    pub(crate) fn replay<A: Key>(
        &self,
        _: &str,
        _: Stream<'_, A>,
        _: &ReplayOptions,
    ) -> anyhow::Result<ReplayRow> {
        match *self {}
    }

    pub(crate) fn study_vrf(&self, _: &str, _: VrfWork<'_>) -> Result<VrfRow, Error> {
        match *self {}
    }
}

impl<W: Write> bench::Run<'_, W> {
    pub(crate) fn on_card<A: Key>(
        &mut self,
        card: &Card,
        _: &[String],
        _: (&str, &Rib<A>),
        _: (&str, &[A]),
    ) -> anyhow::Result<()> {
        match *card {}
    }
}

impl<W: Write> verify::Run<'_, W> {
    pub(crate) fn on_card(&mut self, card: &Card, _: &Tables, _: Option<&Changes>) -> anyhow::Result<()> {
        match *card {}
    }
}

impl gpu::Arguments {
    pub(crate) fn on_card(&self, card: &Card, _: &Output) -> anyhow::Result<Verdict> {
        match *card {}
    }
}
