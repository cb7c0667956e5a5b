//! [`check`]: what a machine lacks for the plane, without touching anything.

use super::drivers::runs_programs;
use super::interfaces::Interface;
use super::{Attachment, Mode, Options, sockets};
use aya::util::KernelVersion;
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
}

/// The first kernel that the plane is made for. It has the links, the mapped arrays and memory that
/// is accounted to a control group.
const KERNEL: KernelVersion = KernelVersion::new(5, 15, 0);

/// The capabilities, their bits, and another one that includes each.
const CAPABILITIES: [(&str, u32, u32); 3] =
    [("CAP_BPF", 39, SYS_ADMIN), ("CAP_PERFMON", 38, SYS_ADMIN), ("CAP_NET_ADMIN", 12, 12)];
const SYS_ADMIN: u32 = 21;

/// The first kernel that takes frames back from the plane in user space, and the capability for its
/// sockets.
const SOCKETS_KERNEL: KernelVersion = KernelVersion::new(5, 18, 0);
const SOCKETS_CAPABILITY: [(&str, u32, u32); 1] = [("CAP_NET_RAW", 13, 13)];

/// As [`check`], for the plane in user space. Nothing is pinned.
#[must_use]
pub fn check_sockets(options: &sockets::Options) -> Vec<Finding> {
    let mut findings = vec![kernel(SOCKETS_KERNEL, "it is older than 5.18"), type_information()];
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    findings.extend(capabilities(&status, &CAPABILITIES));
    findings.extend(capabilities(&status, &SOCKETS_CAPABILITY));
    findings.extend(interfaces(&options.interfaces, options.mode));
    findings
}

/// Looks at the kernel, the capabilities, the BPF file system and the interfaces.
#[must_use]
pub fn check(options: &Options) -> Vec<Finding> {
    let mut findings = vec![kernel(KERNEL, "it is older than 5.15"), type_information()];
    // Only what is attached is pinned.
    findings.extend((options.mode != Mode::Unattached).then(file_system));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    findings.extend(capabilities(&status, &CAPABILITIES));
    findings.extend(interfaces(&options.interfaces, options.mode));
    findings
}

fn finding(what: impl Into<String>, is_well: bool, wrong: impl Into<String>) -> Finding {
    Finding { what: what.into(), wrong: (!is_well).then(|| wrong.into()) }
}

fn kernel(first: KernelVersion, wrong: &str) -> Finding {
    finding("kernel", KernelVersion::current().is_ok_and(|version| version >= first), wrong)
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
fn capabilities(status: &str, wanted: &[(&str, u32, u32)]) -> Vec<Finding> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or_default();
    let each = wanted.iter().map(|&(name, bit, other)| {
        finding(name, bits >> bit & 1 != 0 || bits >> other & 1 != 0, "the process does not have it")
    });
    each.collect()
}

fn interfaces(attachments: &[Attachment], mode: Mode) -> impl Iterator<Item = Finding> {
    attachments.iter().map(move |attachment| interface(&attachment.interface, mode))
}

fn interface(name: &str, mode: Mode) -> Finding {
    let wrong = match Interface::find(name, 0) {
        Err(error) => Some(error.to_string()),
        Ok(found) => (mode == Mode::Native && runs_programs(found.index) == Some(false))
            .then(|| "its driver runs no XDP programs: the mode `generic` does without".into()),
    };
    Finding { what: format!("interface {name}"), wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let names = |status: &str| -> Vec<String> {
            let missing =
                capabilities(status, &CAPABILITIES).into_iter().filter(|finding| finding.wrong.is_some());
            missing.map(|finding| finding.what).collect()
        };
        assert_eq!(names("Name:\tx\nCapEff:\t000001ffffffffff\n"), [""; 0]);
        assert_eq!(names("CapEff:\t0000000000201000\n"), [""; 0], "CAP_SYS_ADMIN includes both");
        assert_eq!(names("CapEff:\t0000008000000000\n"), ["CAP_PERFMON", "CAP_NET_ADMIN"]);
        assert_eq!(names(""), ["CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"]);
        let attachment = Attachment { interface: "none-such".into(), table: 254, tags: Vec::new() };
        let options = Options { name: "x".into(), interfaces: vec![attachment], mode: Mode::Native };
        let last = check(&options).pop().unwrap();
        assert_eq!(last.wrong.unwrap(), "interface none-such: there is none of this name");
    }
}
