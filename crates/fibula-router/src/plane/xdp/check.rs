//! [`check`]: what a machine lacks for the plane, without touching anything.

use super::drivers::{longest_sent, programs, runs_programs};
use super::pins::Pins;
use super::{Attachment, Mode, Options, interfaces};
use crate::Error;
use crate::feed::kernel;
use crate::message::{Kind, Link};
use crate::routes::MAIN;
use aya::util::KernelVersion;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub what: String,
    /// What is wrong with it: the plane cannot run, or loses packets, until that is mended. `None`
    /// if it is well.
    pub wrong: Option<String>,
    /// What the kernel does in place of the plane, which runs all the same.
    pub note: Option<String>,
}

/// The first kernel that the plane is made for: it has programs that take frames of several
/// buffers.
const KERNEL: KernelVersion = KernelVersion::new(5, 18, 0);

/// The capabilities, their bits, and another one that includes each.
const CAPABILITIES: [(&str, u32, u32); 3] =
    [("CAP_BPF", 39, SYS_ADMIN), ("CAP_PERFMON", 38, SYS_ADMIN), ("CAP_NET_ADMIN", 12, 12)];
const SYS_ADMIN: u32 = 21;

/// Looks at the kernel, the capabilities, the BPF file system and the interfaces.
#[must_use]
pub fn check(options: &Options) -> Vec<Finding> {
    let mut findings = vec![version(), type_information()];
    // Only what is attached is pinned.
    let pins = Pins::new(&options.name).ok().filter(|_| options.mode != Mode::Unattached);
    if let Some(pins) = &pins {
        findings.push(file_system());
        let wrong = pins.conflict().unwrap_or_else(|error| Some(error.to_string()));
        findings.push(Finding { what: format!("plane {}", options.name), wrong, note: None });
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    findings.extend(capabilities(&status));
    findings.extend(interfaces(&options.interfaces, options.mode, pins.as_ref()));
    findings.extend(rules());
    findings
}

fn finding(what: impl Into<String>, is_well: bool, wrong: impl Into<String>) -> Finding {
    Finding { what: what.into(), wrong: (!is_well).then(|| wrong.into()), note: None }
}

fn version() -> Finding {
    let is_well = KernelVersion::current().is_ok_and(|version| version >= KERNEL);
    finding("kernel", is_well, "it is older than 5.18")
}

fn type_information() -> Finding {
    let is_well = Path::new("/sys/kernel/btf/vmlinux").exists();
    finding("type information (BTF)", is_well, "the kernel was built without CONFIG_DEBUG_INFO_BTF")
}

fn file_system() -> Finding {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_well = mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq(["/sys/fs/bpf", "bpf"]));
    let wrong = "it is not mounted: mount -t bpf bpf /sys/fs/bpf";
    finding("BPF file system at /sys/fs/bpf", is_well, wrong)
}

/// Compares the effective capabilities of a process, as the kernel tells them.
fn capabilities(status: &str) -> Vec<Finding> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or_default();
    let each = CAPABILITIES.iter().map(|&(name, bit, other)| {
        finding(name, bits >> bit & 1 != 0 || bits >> other & 1 != 0, "the process does not have it")
    });
    each.collect()
}

/// Looks at the ways in, and at the interfaces that packets may leave by: those that are up.
fn interfaces(attachments: &[Attachment], mode: Mode, pins: Option<&Pins>) -> Vec<Finding> {
    let links = kernel::links();
    let mut findings: Vec<Finding> =
        attachments.iter().map(|attachment| way_in(attachment, mode, &links, pins)).collect();
    if mode == Mode::Native {
        findings.extend(links.iter().flatten().filter_map(|(&index, link)| way_out(index, link)));
    }
    findings
}

fn way_in(
    attachment: &Attachment,
    mode: Mode,
    links: &Result<BTreeMap<u32, Link>, Error>,
    pins: Option<&Pins>,
) -> Finding {
    let found = match links {
        Ok(links) => interfaces::resolve(links, attachment),
        Err(error) => Err(error.to_string()),
    };
    let mut note = None;
    let wrong = match found {
        Err(wrong) => Some(wrong),
        Ok(devices) => {
            let of_vrf = links.as_ref().ok().and_then(|links| vrf_table(links, &attachment.interface));
            let table = attachment.table;
            note = of_vrf
                .filter(|&of_vrf| table != MAIN && table != of_vrf)
                .map(|of_vrf| format!("the plane forwards by table {table}, and its VRF by {of_vrf}"));
            devices.iter().find_map(|device| in_the_way(device.index, mode, pins))
        }
    };
    Finding { what: format!("interface {}", attachment.interface), wrong, note }
}

/// Returns the table of the VRF that has an interface.
fn vrf_table(links: &BTreeMap<u32, Link>, name: &str) -> Option<u32> {
    let link = links.values().find(|link| link.name == name)?;
    match links.get(&link.master?)?.kind {
        Kind::Vrf { table } => Some(table),
        _ => None,
    }
}

/// Says what keeps the program from running on a device.
fn in_the_way(index: u32, mode: Mode, pins: Option<&Pins>) -> Option<String> {
    if mode == Mode::Native && runs_programs(index) == Some(false) {
        return Some("its driver runs no XDP programs: the mode `generic` does without".into());
    }
    let ours = pins.map_or_else(|| Ok(BTreeSet::new()), |pins| pins.programs(index));
    let ours = match ours {
        Ok(ours) => ours,
        Err(error) => return Some(error.to_string()),
    };
    let other = programs(index).difference(&ours).next().copied()?;
    Some(format!("another XDP program (id {other}) runs on it: detach that"))
}

/// Says which rules of the kernel may concern packets; `None` if there are none.
fn rules() -> Option<Finding> {
    let note = match kernel::rules() {
        Ok(rules) if rules.is_empty() => return None,
        Ok(rules) => {
            let numbers: BTreeSet<u32> = rules.iter().map(|rule| rule.priority).collect();
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            format!("{}: the kernel forwards packets that they may concern", numbers.join(", "))
        }
        Err(error) => error.to_string(),
    };
    Some(Finding { what: "rules (ip rule)".into(), wrong: None, note: Some(note) })
}

/// Says what the kernel does with packets that leave by an interface; `None` if the plane sends
/// them, or none leave by it.
fn way_out(index: u32, link: &Link) -> Option<Finding> {
    let is_of_others = !matches!(link.kind, Kind::Device | Kind::Bond);
    if !link.is_up || link.mac.is_none() || is_of_others {
        return None;
    }
    let note = match longest_sent(index) {
        0 => "its driver takes no redirected frames: the kernel forwards what leaves by it".into(),
        longest if u32::from(longest) < link.mtu => {
            format!("the kernel forwards what is longer than {longest} bytes and leaves by it")
        }
        _ => return None,
    };
    Some(Finding { what: format!("interface {}, as a way out", link.name), wrong: None, note: Some(note) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let names = |status: &str| -> Vec<String> {
            let missing = capabilities(status).into_iter().filter(|finding| finding.wrong.is_some());
            missing.map(|finding| finding.what).collect()
        };
        assert_eq!(names("Name:\tx\nCapEff:\t000001ffffffffff\n"), [""; 0]);
        assert_eq!(names("CapEff:\t0000000000201000\n"), [""; 0], "CAP_SYS_ADMIN includes both");
        assert_eq!(names("CapEff:\t0000008000000000\n"), ["CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(""), ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        let attachment = Attachment::of("none-such");
        let options = Options::new("x", vec![attachment], Mode::Native);
        let findings = check(&options);
        let finding = findings.iter().find(|finding| finding.what == "interface none-such").unwrap();
        assert_eq!(finding.wrong.as_deref(), Some("there is none of this name"));
    }
}
