//! [`Settings`]: what a user may choose of the control.

use crate::feed::Feed;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a user may choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The feeds that are there. The plane starts when all of them have told what they have.
    pub feeds: Vec<Feed>,
    /// How long FPM must be quiet before what it did not say again is removed. Quiet means that no
    /// route of an earlier session was told again, and in the first session, that the tables do
    /// not grow by a 64th: live changes come all the time. A session that begins is quiet.
    pub quiet: Duration,
    /// The share of the routes before it that a session must tell or remove before it is complete.
    /// A process that takes over knows their number from the one before.
    pub share: f64,
    /// How many routes zebra must tell at least, in each session, before it is complete: a session
    /// that tells fewer is waited for without an end. 0 is any number.
    pub least: usize,
    /// How long a session that tells less of the share is waited for, where this process knows the
    /// routes. A process that took over waits for ever: what forwards has more.
    pub hold: Duration,
    /// How long to wait after the first message of a batch for others. What comes while a batch is
    /// applied is the next batch, so that a bulk needs no wait.
    pub gather: Duration,
    /// How much feeds may tell.
    pub limits: Limits,
    /// Whether packets that a rule of the kernel (`ip rule`) may concern are left to the kernel.
    pub obeys_rules: bool,
    /// The tables of interfaces, by name, where they have another than the main one: a rule that
    /// says the same is obeyed by the plane.
    pub tables: BTreeMap<String, u32>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            feeds: vec![Feed::Fpm, Feed::Kernel],
            quiet: Duration::from_secs(10),
            share: 0.5,
            least: 0,
            hold: Duration::from_mins(6),
            gather: Duration::ZERO,
            limits: Limits::default(),
            obeys_rules: true,
            tables: BTreeMap::new(),
        }
    }
}

/// How much feeds may tell, all together. What would exceed a limit is left out and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Tables. The XDP plane keeps 1.3 MB for one without routes.
    pub tables: usize,
    /// Routes, in all tables.
    pub routes: usize,
    /// Next hops of routes, and next-hop objects: the legs of each, and the members of groups.
    pub next_hops: usize,
}

impl Limits {
    /// Returns how many routes, and how many objects, may wait until they are applied: all of them
    /// may be withdrawn, and as many others announced.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.routes.max(self.next_hops).saturating_mul(2)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { tables: 256, routes: 4_000_000, next_hops: 1_000_000 }
    }
}
