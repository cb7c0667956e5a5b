//! [`Thrift`]: a dump without the paths that its answers do not need.

use super::{Count, Paths, family};
use crate::table::Value;
use fibula::IpPrefix;

/// Whether a dump is kept without the paths that are not chosen. A collector has a path of each of
/// sixty peers for a prefix, and what asks for a table wants one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Thrift {
    #[default]
    KeepsAll,
    KeepsChosen,
    /// Some paths are gone.
    HasDropped,
    /// What has come since depends on them.
    Lacks,
}

impl Paths {
    /// Drops the paths of dumped tables that the answers do not need.
    pub(crate) fn drop_what_dumps_do_not_choose(&mut self) {
        self.thrift = Thrift::KeepsChosen;
    }

    /// Returns whether the answers may be wrong, because an event came that needs paths that were
    /// [dropped](Self::drop_what_dumps_do_not_choose).
    pub(crate) fn lacks_some(&self) -> bool {
        self.thrift == Thrift::Lacks
    }

    /// Notes that something came which any path may matter to.
    pub(super) fn need_all(&mut self) {
        if self.thrift == Thrift::HasDropped {
            self.thrift = Thrift::Lacks;
        }
    }

    /// Drops the paths that do not matter to the answer for a prefix with this list.
    pub(super) fn drop_unchosen(&mut self, prefix: IpPrefix, list: u32) {
        let best = self.best(list);
        let has_all_origins = self.value == Value::Origins;
        let Self { lists, peers, .. } = self;
        let mut count = Count { peers, family: family(prefix) };
        let has_dropped = lists.change(list, |list| {
            let before = list.len();
            list.edit(|paths| {
                for held in paths.iter() {
                    count.gone(held);
                }
                if has_all_origins {
                    paths.sort_unstable_by_key(|held| held.value);
                    paths.dedup_by_key(|held| held.value);
                } else {
                    paths.clear();
                    paths.extend(best);
                }
                for held in paths.iter() {
                    count.came(held);
                }
            });
            list.len() < before
        });
        if has_dropped && self.thrift == Thrift::KeepsChosen {
            self.thrift = Thrift::HasDropped;
        }
    }
}
