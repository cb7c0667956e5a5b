//! [`Way`]: what programs look up, and where.

use super::super::{Attachment, Mode, Options, ReversePath};
use super::Workload;
use crate::Error;
use crate::acl::Acl;
use crate::plane::xdp::tables::Family;
use fibula::Rib;
use serde::Serialize;
use std::fmt::Write;

/// The lines of an ACL that a packet is compared with, half of each family.
const LINES: usize = 1000;

/// Of how many packets one is sampled.
pub(super) const SAMPLED: u32 = 1000;

/// The program's way to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Not at all: what everything else takes.
    None,
    /// In fibula's table.
    Ours,
    /// There, and the source too: loose uRPF.
    ReversePath,
    /// There, and the packet in an ACL of 1,000 lines, of which none denies it.
    Acl,
    /// There, and one packet of 1,000 becomes a sample.
    Sampled,
    /// All of these.
    Checked,
    /// In the kernel's longest-prefix-match trie, `BPF_MAP_TYPE_LPM_TRIE`.
    Trie,
    /// In the kernel's own table, by `bpf_fib_lookup` without neighbours.
    Kernel,
    /// In no program: the kernel forwards, in that table.
    Forwarding,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Ours,
        Self::ReversePath,
        Self::Acl,
        Self::Sampled,
        Self::Checked,
        Self::Trie,
        Self::Kernel,
        Self::Forwarding,
    ];

    /// Those that look up inside a program.
    pub const INSIDE: [Self; 4] = [Self::None, Self::Ours, Self::Trie, Self::Kernel];

    /// Those that look at more than the destination.
    pub(super) const CHECKED: [Self; 4] = [Self::ReversePath, Self::Acl, Self::Sampled, Self::Checked];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ours | Self::ReversePath | Self::Acl | Self::Sampled | Self::Checked => "ours",
            Self::Trie => "trie",
            Self::Kernel | Self::Forwarding => "fib",
        }
    }

    /// The program that packets meet.
    pub(super) fn program(self) -> String {
        if self == Self::Forwarding { "pass".into() } else { format!("forward_{}", self.name()) }
    }

    /// Returns whether packets are sampled.
    pub(super) fn samples(self) -> bool {
        matches!(self, Self::Sampled | Self::Checked)
    }

    /// Returns the options of a plane that does what this way does with what comes in by an
    /// interface.
    pub(super) fn options(self, interface: String, workload: &Workload<'_>) -> Result<Options, Error> {
        let mut attachment = Attachment::of(interface);
        let mut acls = Vec::new();
        if matches!(self, Self::ReversePath | Self::Checked) {
            attachment.urpf = ReversePath::Loose;
        }
        if matches!(self, Self::Acl | Self::Checked) {
            let mut text = String::new();
            deny(&mut text, workload.ipv4);
            deny(&mut text, workload.ipv6);
            acls.push(Acl::parse("study", &text)?);
            attachment.acl = Some(0);
        }
        let sample_rate = if self.samples() { SAMPLED } else { 0 };
        let interfaces = vec![attachment];
        Ok(Options { acls, sample_rate, ..Options::new("study", interfaces, Mode::Unattached) })
    }
}

/// Writes lines that deny packets between prefixes of a table, of another protocol than those of
/// the generator.
fn deny<A: Family>(text: &mut String, rib: &Rib<A>) {
    let step = (rib.len() / LINES).max(1);
    let some: Vec<_> = rib.iter().step_by(step).map(|route| route.prefix).collect();
    for (line, from) in some.iter().cycle().take(if some.is_empty() { 0 } else { LINES / 2 }).enumerate() {
        let to = some[(line + LINES / 2) % some.len()];
        let _ = writeln!(text, "deny tcp from {from} to {to} port {}", 1024 + line);
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::None => "no lookup",
            Self::Ours => "fibula",
            Self::ReversePath => "fibula, uRPF",
            Self::Acl => "fibula, an ACL",
            Self::Sampled => "fibula, sampling",
            Self::Checked => "fibula, all three",
            Self::Trie => "LPM_TRIE",
            Self::Kernel => "bpf_fib_lookup",
            Self::Forwarding => "the kernel forwards",
        })
    }
}
