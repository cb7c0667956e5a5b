//! [`Settings`]: how a table is compiled, and how much it may take.

use super::compiled::ENGINE;
use crate::engine::{Config, ENGINES};
use crate::{Address, Error, ErrorKind, Fib, Rib};
use std::sync::Arc;

/// How a [`Table`](super::Table) is compiled, and how much it may take; see
/// [`Table::with_settings`](super::Table::with_settings).
#[derive(Clone, Debug)]
pub struct Settings {
    /// The specification of the engine, as [`Fib::build`] takes it. By default the best for calls
    /// of one address as well as of many.
    pub engine: String,
    /// The pages, the instruction set and the width of the answers.
    pub config: Config,
    /// The most bytes that [`Table::memory`](super::Table::memory) may come to; `None` for no
    /// limit.
    pub most_bytes: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { engine: ENGINE.to_owned(), config: Config::default(), most_bytes: None }
    }
}

/// The settings of both families; `None` where they are the default.
pub(super) type Shared = Option<Arc<Settings>>;

impl Settings {
    /// Fails if there is no such engine, which may be of one family.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.build(&Rib::<u32>::new()).map(drop).or_else(|error| match error.kind() {
            ErrorKind::Family => self.build(&Rib::<u128>::new()).map(drop),
            _ => Err(error),
        })
    }

    /// Compiles routes as a table of these settings does.
    ///
    /// # Errors
    /// As [`Fib::build_from`].
    pub fn build<A: Address>(&self, rib: &Rib<A>) -> Result<Fib<A>, Error> {
        Fib::build_from(ENGINES, &self.engine, rib, self.config.clone())
    }
}
