//! [`Editing`]: changes of one family that are compiled together.

use super::half::Half;
use super::store::{Replaced, Store};
use crate::rib::Deltas;
use crate::{Address, Delta, Error, NextHop, Prefix};

/// Changes that are compiled together, when this is dropped: also when the caller's iterator panics
/// in between. Until then they can be taken back, for which next hops that routes have lost keep
/// their values.
pub(super) struct Editing<'h, A: Address, S: Store> {
    pub(super) half: &'h mut Half<A, S>,
    /// What became of the routes, in order.
    deltas: Vec<Delta<A>>,
    /// What the engine has followed, once it has.
    followed: Option<Vec<Delta<A>>>,
    /// The values that others have replaced at the next hops of their routes, in order.
    replaced: Vec<(Prefix<A>, NextHop, S::Value)>,
    /// Values that no route has. They are dropped last, since that may panic.
    dropped: Vec<S::Value>,
}

impl<'h, A: Address, S: Store> Editing<'h, A, S> {
    pub(super) fn new(half: &'h mut Half<A, S>) -> Self {
        Self { half, deltas: Vec::new(), followed: None, replaced: Vec::new(), dropped: Vec::new() }
    }

    /// Inserts a route, or gives it another value.
    ///
    /// # Panics
    /// If there are as many values as the form can number.
    pub(super) fn insert(&mut self, prefix: Prefix<A>, value: S::Value) {
        self.try_insert(prefix, value).unwrap_or_else(|error| panic!("{error}"));
    }

    /// As [`Editing::insert`].
    ///
    /// # Errors
    /// If there are as many values as the form can number. Then this change is not made.
    pub(super) fn try_insert(&mut self, prefix: Prefix<A>, value: S::Value) -> Result<(), Error> {
        let Half { store, compiled } = &mut *self.half;
        let value = match compiled.rib().get(prefix) {
            None => value,
            Some(before) => match store.replace(before, value) {
                Replaced::Was(value) => {
                    self.replaced.push((prefix, before, value));
                    return Ok(());
                }
                Replaced::Equal(value) => {
                    self.dropped.push(value);
                    return Ok(());
                }
                Replaced::Apart(value) => value,
            },
        };
        let next_hop = store.try_add(prefix.len(), value)?;
        self.deltas.extend(compiled.rib_mut().insert(prefix, next_hop));
        Ok(())
    }

    pub(super) fn remove(&mut self, prefix: Prefix<A>) {
        self.deltas.extend(self.half.compiled.rib_mut().remove(prefix));
    }

    /// Compiles the changes, after which there are no more. Returns the number of routes that are
    /// new, gone or have another value.
    ///
    /// # Errors
    /// If the engine refuses them. It is as before then, and they are to be
    /// [taken back](Self::take_back).
    pub(super) fn try_follow(&mut self) -> Result<usize, Error> {
        let deltas = self.effective();
        self.half.compiled.try_follow(&deltas)?;
        let replaced = self.replaced.iter().map(|&(prefix, ..)| prefix);
        let mut changed: Vec<Prefix<A>> =
            replaced.filter(|&prefix| self.half.rib().get(prefix).is_some()).collect();
        changed.extend(deltas.iter().map(|delta| delta.prefix));
        changed.sort_unstable();
        changed.dedup();
        self.followed = Some(deltas);
        Ok(changed.len())
    }

    /// Makes none of the changes.
    pub(super) fn take_back(mut self) {
        let Half { store, compiled } = &mut *self.half;
        for (_, next_hop, value) in self.replaced.drain(..).rev() {
            match store.replace(next_hop, value) {
                Replaced::Was(value) | Replaced::Equal(value) | Replaced::Apart(value) => {
                    self.dropped.push(value);
                }
            }
        }
        for delta in self.deltas.drain(..).rev() {
            let _: Option<Delta<A>> = compiled.rib_mut().apply(delta.inverse().change());
            self.dropped.extend(store.release(delta.after));
        }
        let inverse: Vec<_> =
            self.followed.take().unwrap_or_default().iter().map(|delta| delta.inverse()).collect();
        compiled.follow(&inverse);
    }

    /// Returns what the changes come to, at most one a prefix.
    fn effective(&self) -> Vec<Delta<A>> {
        let mut deltas = Deltas::default();
        for &delta in &self.deltas {
            deltas.push(delta);
        }
        deltas.into_effective()
    }
}

impl<A: Address, S: Store> Drop for Editing<'_, A, S> {
    fn drop(&mut self) {
        if self.followed.is_none() {
            let deltas = self.effective();
            self.half.compiled.follow(&deltas);
        }
        for delta in self.deltas.drain(..) {
            self.dropped.extend(self.half.store.release(delta.before));
        }
    }
}
