//! Changes that are made together, and those that may be refused.

use super::editing::Editing;
use super::form::Form;
use super::settings::Settings;
use super::{IpPrefix, Table};
use crate::live::turns::Panic;
use crate::memory::Memory;
use crate::{Error, Limit};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

impl<V, F: Form<V>> Table<V, F> {
    /// Returns an empty table of any [form](super::form) that is compiled as `settings` say.
    ///
    /// [`try_apply`](Table::try_apply) refuses what they do not allow. The other methods refuse
    /// nothing: where the engine cannot hold the routes, they take the best that can, and
    /// [`engines`](Table::engines) tells it.
    ///
    /// # Errors
    /// If there is no such engine, or it has no such parameter.
    ///
    /// ```
    /// use fibula::table::Settings;
    /// use fibula::{ErrorKind, IpPrefix, Prefix, ValueTable};
    /// let (engine, most_bytes) = ("poptrie".into(), Some(2 << 20));
    /// let settings = Settings { engine, most_bytes, ..Default::default() };
    /// let mut table: ValueTable<u32> = ValueTable::with_settings(settings)?;
    /// let prefix: IpPrefix = "192.0.2.0/24".parse()?;
    /// assert_eq!(table.try_apply([(prefix, Some(7))])?, 1);
    /// assert_eq!(table.engines(), (Some("poptrie"), None));
    ///
    /// let hosts = (0..100_000).map(|at: u32| (IpPrefix::from(Prefix::host(at << 8)), Some(at)));
    /// let error = table.try_apply(hosts).unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Limit(_)));
    /// assert!(table.iter().eq([(prefix, &7)]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn with_settings(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self::of(Some(Arc::new(settings))))
    }

    /// Returns how the table is compiled, and how much it may take.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.ipv4.compiled.settings().as_deref().cloned().unwrap_or_default()
    }

    /// Makes changes in order, or none of them: to a value, or where there is none, to no route.
    /// Compiles once. Returns the number of routes that are new, gone or have another value.
    /// O(log n) each; if they are refused, as much again.
    ///
    /// # Errors
    /// If the engine of the [settings](Table::with_settings) refuses them, if the table would grow
    /// and take more than [`Settings::most_bytes`], or if a family has more values than its
    /// [form](super::form::Form) can number.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let [red, blue]: [IpPrefix; 2] = ["192.0.2.0/24".parse()?, "2001:db8::/32".parse()?];
    /// let mut table = Table::from([(red, 1)]);
    /// assert_eq!(table.try_apply([(red, None), (blue, Some(2)), (blue, Some(3))])?, 2);
    /// assert!(table.iter().eq([(blue, &3)]));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn try_apply<P: Into<IpPrefix>>(
        &mut self,
        changes: impl IntoIterator<Item = (P, Option<V>)>,
    ) -> Result<usize, Error> {
        // All at first: an iterator that panics changes nothing.
        let changes = changes.into_iter().map(|(prefix, value)| (prefix.into(), value)).collect();
        let (changed, dropped) = self.change(changes)?;
        dropped.unwrap_or_else(|panic| resume_unwind(panic));
        Ok(changed)
    }

    /// As [`Table::try_apply`]. A panic in dropping values, after which all is as it should be, is
    /// returned beside the number.
    pub(super) fn change(
        &mut self,
        changes: Vec<(IpPrefix, Option<V>)>,
    ) -> Result<(usize, Result<(), Panic>), Error> {
        let mut editing = self.edit();
        match editing.try_all(changes) {
            Ok(changed) => Ok((changed, editing.finish())),
            Err(error) => {
                editing.take_back();
                self.shrink_if_above();
                Err(error)
            }
        }
    }

    /// Begins changes of both families that are compiled together, when they are dropped.
    pub(super) fn edit(&mut self) -> Changes<'_, V, F> {
        let most_bytes = self.most_bytes().map(|most| most.max(self.memory().total()));
        Changes { ipv4: self.ipv4.edit(), ipv6: self.ipv6.edit(), most_bytes }
    }

    fn most_bytes(&self) -> Option<usize> {
        self.ipv4.compiled.settings().as_ref()?.most_bytes
    }

    /// Gives back what changes that were taken back have left, if that makes the table refuse all
    /// others.
    fn shrink_if_above(&mut self) {
        if self.most_bytes().is_some_and(|most| self.memory().total() > most) {
            self.ipv4.shrink_to_fit();
            self.ipv6.shrink_to_fit();
        }
    }
}

/// Changes of both families; see [`Table::edit`].
pub(super) struct Changes<'t, V, F: Form<V>> {
    pub(super) ipv4: Editing<'t, u32, F::Store>,
    pub(super) ipv6: Editing<'t, u128, F::Store>,
    /// What the table may take: its limit, or what it takes already, so that it may shrink.
    most_bytes: Option<usize>,
}

impl<V, F: Form<V>> Changes<'_, V, F> {
    /// Inserts a route, or gives it another value.
    ///
    /// # Panics
    /// If there are as many values as the form can number.
    pub(super) fn insert(&mut self, prefix: IpPrefix, value: V) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.insert(prefix, value),
            IpPrefix::V6(prefix) => self.ipv6.insert(prefix, value),
        }
    }

    pub(super) fn remove(&mut self, prefix: IpPrefix) {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.remove(prefix),
            IpPrefix::V6(prefix) => self.ipv6.remove(prefix),
        }
    }

    /// Makes changes in order, and compiles them. Returns the number of routes that changed.
    ///
    /// # Errors
    /// As [`Table::try_apply`]. Then [`take_back`](Self::take_back) comes next.
    pub(super) fn try_all(&mut self, changes: Vec<(IpPrefix, Option<V>)>) -> Result<usize, Error> {
        for (prefix, value) in changes {
            match (prefix, value) {
                (IpPrefix::V4(prefix), Some(value)) => self.ipv4.try_insert(prefix, value)?,
                (IpPrefix::V6(prefix), Some(value)) => self.ipv6.try_insert(prefix, value)?,
                (prefix, None) => self.remove(prefix),
            }
        }
        let changed = self.ipv4.try_follow()? + self.ipv6.try_follow()?;
        if let Some(most) = self.most_bytes {
            let memory = self.ipv4.half.memory([""; 3], Memory::new());
            let bytes = self.ipv6.half.memory([""; 3], memory).total();
            Limit::check("bytes of the table", bytes as u64, most as u64)?;
        }
        Ok(changed)
    }

    /// Drops what was replaced or removed, of both families whatever panics.
    pub(super) fn finish(self) -> Result<(), Panic> {
        let Self { ipv4, ipv6, .. } = self;
        let ipv4 = catch_unwind(AssertUnwindSafe(|| drop(ipv4)));
        let ipv6 = catch_unwind(AssertUnwindSafe(|| drop(ipv6)));
        ipv4.and(ipv6)
    }

    /// Makes none of the changes.
    pub(super) fn take_back(self) {
        self.ipv4.take_back();
        self.ipv6.take_back();
    }
}
