//! [`Table`]: routes of both families with values of 64 bits.

use fibula::live::turns::{Panic, Turn};
use fibula::table::Settings;
use fibula::{IpPrefix, ValueTable};
use std::sync::Arc;

/// A value. Aligned to four bytes, so that a table keeps it in twelve and not in sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C, packed(4))]
pub(crate) struct Number(u64);

impl Number {
    pub(crate) fn new(value: u64) -> Self {
        Self(value)
    }

    #[inline]
    pub(crate) fn get(self) -> u64 {
        self.0
    }
}

/// The routes of both families.
pub(crate) type Routes = ValueTable<Number>;

/// A change that C asks for: a value, or none where a route is removed.
pub(crate) type Asked = (IpPrefix, Option<Number>);

/// What C has a pointer to.
pub(crate) struct Table {
    pub(crate) routes: Routes,
    /// The texts that values stand for, in a table that was read from a file.
    pub(crate) texts: Arc<[String]>,
}

impl Table {
    pub(crate) fn new(settings: Settings) -> Result<Self, fibula::Error> {
        Ok(Self { routes: Routes::with_settings(settings)?, texts: Arc::default() })
    }

    /// Returns these routes, whose values stand for the same texts.
    pub(crate) fn with(&self, routes: Routes) -> Self {
        Self { routes, texts: Arc::clone(&self.texts) }
    }
}

/// Two take turns in a live table.
impl Turn for Table {
    type Change = Asked;

    fn copy(&self) -> Result<Self, fibula::Error> {
        Ok(self.with(self.routes.copy()?))
    }

    fn emptied(&self) -> Self {
        Self { routes: self.routes.emptied(), texts: Arc::default() }
    }

    fn change(&mut self, changes: Vec<Asked>) -> Result<Result<(), Panic>, fibula::Error> {
        self.routes.change(changes)
    }
}
