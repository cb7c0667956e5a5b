//! [`Pins`]: what outlives the process: the links of the interfaces and the counters, as files of
//! the kernel's BPF file system.
//!
//! ```text
//! /sys/fs/bpf/fibula/NAME/link-INTERFACE-PORT   the link that runs the program on an interface
//! /sys/fs/bpf/fibula/NAME/of_ports              packets by interface and reason
//! /sys/fs/bpf/fibula/NAME/of_next_hops          packets by next hop
//! /sys/fs/bpf/fibula/NAME/adjacencies           the program's adjacencies, for the next process
//! /sys/fs/bpf/fibula/NAME/routes                a symbolic link: the number of routes
//! /sys/fs/bpf/fibula/NAME/namespace             the same: the network namespace of the interfaces
//! ```
//! The file system is of all network namespaces, and so are its names. A link of another namespace,
//! or of an interface that has gone there, is never switched: the interface that its name says must
//! run its program here.
//!
//! The process keeps no file descriptor of a link. So the program stays attached until its file is
//! removed, whether or not the process lives.

use super::Mode;
use super::drivers::programs;
use super::inherited::ADJACENCIES;
use super::interfaces::Interface;
use crate::Error;
use aya::maps::Map;
use aya::programs::Xdp;
use aya::programs::links::{FdLink, LinkInfo, PinnedLink};
use aya::programs::xdp::{XdpLink, XdpMode};
use fibula::ErrorKind;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The type of a BPF file system.
const BPF_MAGIC: rustix::fs::FsWord = 0xcafe_4a11;

/// The names of the symbolic links whose targets are the number of routes, and the network
/// namespace.
const ROUTES: &str = "routes";
const NAMESPACE: &str = "namespace";

/// The name of a map until it has its own.
const NEXT: &str = "next";

/// What is wrong where a process has the plane.
const HAS_IT: &str = "another process has the plane of this name: stop it, or choose another name";

/// How often the folder of a plane is emptied until it can be removed.
const REMOVALS: u32 = 10;

/// The folder of all planes.
const ROOT: &str = "/sys/fs/bpf/fibula";

/// Locks a folder, after a few tries. A child that a process has forked holds its locks, also those
/// that it has given up since, until the child runs a program.
fn lock(folder: &File, operation: FlockOperation) -> Result<(), Errno> {
    const TRIES: u32 = 20;
    const BETWEEN: Duration = Duration::from_millis(10);
    for _ in 1..TRIES {
        match rustix::fs::flock(folder, operation) {
            Err(Errno::AGAIN) => thread::sleep(BETWEEN),
            result => return result,
        }
    }
    rustix::fs::flock(folder, operation)
}

/// The folder of a plane.
#[derive(Clone, Debug)]
pub(super) struct Pins {
    folder: PathBuf,
}

/// A pinned link.
#[derive(Debug)]
pub(super) struct Link {
    /// The kernel's index of the interface.
    pub(super) interface: u32,
    /// The index of its counters.
    pub(super) port: u16,
    path: PathBuf,
}

impl Link {
    /// Opens it.
    fn open(&self) -> Result<FdLink, Error> {
        let pinned = PinnedLink::from_pin(&self.path);
        pinned.map(FdLink::from).map_err(|error| self.failed("open", &error))
    }

    /// Returns what the kernel tells of it.
    fn info(&self, link: &FdLink) -> Result<LinkInfo, Error> {
        link.info().map_err(|error| self.failed("read", &error))
    }

    fn failed(&self, what: &str, error: &(dyn std::error::Error + 'static)) -> Error {
        Error::of_chain(format!("{what} {}", self.path.display()), error)
    }

    /// Returns whether it runs its program on its interface in this network namespace.
    fn is_here(&self, link: &FdLink) -> Result<bool, Error> {
        Ok(programs(self.interface).contains(&self.info(link)?.program_id()))
    }

    /// Returns whether it has an interface still, in whatever namespace. The kernel tells that of
    /// the descriptors of a process.
    fn is_alive(&self, link: &FdLink) -> Result<bool, Error> {
        let id = self.info(link)?.id().to_string();
        let failed = |error| Error::io("list /proc/self/fdinfo", error);
        let of = |text: &str, name: &str| {
            Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
        };
        for entry in fs::read_dir("/proc/self/fdinfo").map_err(failed)? {
            // A descriptor may have been closed since.
            let text = entry.and_then(|entry| fs::read_to_string(entry.path())).unwrap_or_default();
            if of(&text, "link_id:").is_some_and(|of| of == id) {
                return Ok(of(&text, "ifindex:").is_none_or(|index| index != "0"));
            }
        }
        Ok(true)
    }
}

/// Returns the name of this thread's network namespace.
fn namespace() -> Result<PathBuf, Error> {
    let path = "/proc/thread-self/ns/net";
    fs::read_link(path).map_err(|error| Error::io(format!("read {path}"), error))
}

impl Pins {
    /// Names the folder of a plane. It need not exist.
    ///
    /// # Errors
    /// If the name has other characters than letters, digits, `-` and `_`.
    pub(super) fn new(name: &str) -> Result<Self, Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            let text = format!("plane {name:?}: expected a name of letters, digits, - and _");
            return Err(fibula::Error::new(ErrorKind::Usage, text).into());
        }
        Ok(Self { folder: Path::new(ROOT).join(name) })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn failed(what: &str, path: &Path, error: std::io::Error) -> Error {
        Error::System { what: format!("{what} {}", path.display()), error }
    }

    /// Creates the folder and locks it: as long as the result lives, no other process has the plane
    /// of this name.
    ///
    /// # Errors
    /// If another process has it, or there is no BPF file system.
    pub(super) fn create(&self) -> Result<File, Error> {
        let failed = |error: std::io::Error| Self::failed("create", &self.folder, error);
        let is_mounted = rustix::fs::statfs("/sys/fs/bpf").is_ok_and(|found| found.f_type == BPF_MAGIC);
        if !is_mounted {
            let text = "there is no BPF file system at /sys/fs/bpf: mount -t bpf bpf /sys/fs/bpf";
            return Err(failed(std::io::Error::other(text)));
        }
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let folder = File::open(&self.folder).map_err(failed)?;
        match lock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => self.own().map(|()| folder),
            Err(Errno::AGAIN) => Err(Self::failed("lock", &self.folder, std::io::Error::other(HAS_IT))),
            Err(error) => Err(Self::failed("lock", &self.folder, error.into())),
        }
    }

    /// Makes the pins those of this network namespace.
    ///
    /// # Errors
    /// If they are of another one where the program still runs.
    fn own(&self) -> Result<(), Error> {
        let (here, path) = (namespace()?, self.folder.join(NAMESPACE));
        if fs::read_link(&path).is_ok_and(|kept| kept == here) {
            return Ok(());
        }
        if let Some(wrong) = self.of_another()? {
            return Err(Self::failed("take over", &self.folder, std::io::Error::other(wrong)));
        }
        self.keep(NAMESPACE, &here)
    }

    /// Returns what is wrong if the program runs on an interface of another network namespace.
    fn of_another(&self) -> Result<Option<String>, Error> {
        for pinned in self.links()? {
            let link = pinned.open()?;
            if pinned.is_alive(&link)? && !pinned.is_here(&link)? {
                let text =
                    "its program runs in another network namespace: choose another `name`, or detach it";
                return Ok(Some(text.into()));
            }
        }
        Ok(None)
    }

    /// Returns why a process could not have the plane now; `None` if it could.
    pub(super) fn conflict(&self) -> Result<Option<String>, Error> {
        let Ok(folder) = File::open(&self.folder) else { return Ok(None) };
        match lock(&folder, FlockOperation::NonBlockingLockShared) {
            Err(Errno::AGAIN) => Ok(Some(HAS_IT.into())),
            _ => self.of_another(),
        }
    }

    /// Returns the ids of the programs of this plane's links on an interface.
    pub(super) fn programs(&self, interface: u32) -> Result<BTreeSet<u32>, Error> {
        let mut ids = BTreeSet::new();
        for pinned in self.links()?.into_iter().filter(|link| link.interface == interface) {
            ids.insert(pinned.info(&pinned.open()?)?.program_id());
        }
        Ok(ids)
    }

    /// Keeps a text, as what a symbolic link names: the file system has no other files.
    fn keep(&self, name: &str, text: &Path) -> Result<(), Error> {
        let path = self.folder.join(name);
        let failed = |error| Self::failed("write", &path, error);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => std::os::unix::fs::symlink(text, &path).map_err(failed),
        }
    }

    /// Pins a map in place of the one of its name. Whoever opens it finds one of the two.
    pub(super) fn keep_map(&self, name: &str, map: &Map) -> Result<(), Error> {
        let (path, next) = (self.folder.join(name), self.folder.join(NEXT));
        let failed = |error: &(dyn std::error::Error + 'static)| {
            Error::of_chain(format!("pin {}", path.display()), error)
        };
        // One that was killed may have left it.
        let _ = fs::remove_file(&next);
        map.pin(&next).map_err(|error| failed(&error))?;
        fs::rename(&next, &path).map_err(|error| failed(&error))
    }

    /// Keeps a number of routes.
    pub(super) fn remember(&self, routes: usize) -> Result<(), Error> {
        if self.remembered() == routes { Ok(()) } else { self.keep(ROUTES, Path::new(&routes.to_string())) }
    }

    /// Returns the number of routes that was kept; 0 if none was.
    pub(super) fn remembered(&self) -> usize {
        let kept = fs::read_link(self.folder.join(ROUTES)).ok();
        kept.and_then(|kept| kept.to_str()?.parse().ok()).unwrap_or_default()
    }

    /// Returns the links that are pinned.
    pub(super) fn links(&self) -> Result<Vec<Link>, Error> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Self::failed("list", &self.folder, error)),
        };
        let mut links = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| Self::failed("list", &self.folder, error))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let numbers = name.strip_prefix("link-").and_then(|numbers| numbers.split_once('-'));
            if let Some((interface, port)) = numbers
                && let (Ok(interface), Ok(port)) = (interface.parse(), port.parse())
            {
                links.push(Link { interface, port, path });
            }
        }
        Ok(links)
    }

    /// Runs a program on an interface: switches the link that is pinned, by one call, or attaches
    /// and pins one.
    pub(super) fn attach(&self, program: &mut Xdp, interface: &Interface, mode: Mode) -> Result<(), Error> {
        if interface.index == 0 {
            return Ok(());
        }
        let (index, port) = (interface.index, interface.port);
        let path = self.folder.join(format!("link-{index}-{port}"));
        let what = || format!("attach to {} in {mode} mode", interface.name);
        let failed = |error: &(dyn std::error::Error + 'static)| Error::of_chain(what(), error);
        if path.exists() {
            let pinned = Link { interface: index, port, path: path.clone() };
            let link = pinned.open()?;
            if pinned.is_here(&link)? {
                let link = XdpLink::try_from(link).map_err(|error| failed(&error))?;
                let switched = program.attach_to_link(link).and_then(|id| program.take_link(id));
                return switched.map(drop).map_err(|error| failed(&error));
            }
            // The interface of this link is gone, and another one has its index.
            fs::remove_file(&path).map_err(|error| Self::failed("remove", &path, error))?;
        }
        let mode = match mode {
            Mode::Native => XdpMode::Driver,
            Mode::Generic => XdpMode::Skb,
            Mode::Unattached => return Ok(()),
        };
        let attached = program.attach_to_if_index(interface.index, mode);
        let link = attached.and_then(|id| program.take_link(id)).map_err(|error| failed(&error))?;
        let link = FdLink::try_from(link).map_err(|error| failed(&error))?;
        link.pin(&path).map(drop).map_err(|error| failed(&error))
    }

    /// Removes the links of all interfaces that are not among `kept`: the program is detached from
    /// them.
    pub(super) fn detach_all_but(&self, kept: &[Interface]) -> Result<(), Error> {
        for link in self.links()? {
            let is_kept =
                |interface: &Interface| (interface.index, interface.port) == (link.interface, link.port);
            if !kept.iter().any(is_kept) {
                fs::remove_file(&link.path).map_err(|error| Self::failed("remove", &link.path, error))?;
            }
        }
        Ok(())
    }

    /// Removes the links that are not among those found earlier.
    pub(super) fn detach_new(&self, found: &[Link]) -> Result<(), Error> {
        let all = self.links()?.into_iter();
        all.filter(|link| !found.iter().any(|known| known.path == link.path)).try_for_each(|link| {
            fs::remove_file(&link.path).map_err(|error| Self::failed("remove", &link.path, error))
        })
    }

    /// Removes everything: the links, the counters and the folder.
    pub(super) fn remove(&self) -> Result<(), Error> {
        // A router that lives may attach again at the same moment.
        for _ in 1..REMOVALS {
            match self.remove_once() {
                Err(Error::System { error, .. }) if error.raw_os_error() == Some(libc::ENOTEMPTY) => {}
                end => return end,
            }
        }
        self.remove_once()
    }

    fn remove_once(&self) -> Result<(), Error> {
        self.detach_all_but(&[])?;
        for name in super::generation::COUNTERS.into_iter().chain([ROUTES, NAMESPACE, ADJACENCIES, NEXT]) {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Self::failed("remove", &path, error));
                }
                _ => {}
            }
        }
        match fs::remove_dir(&self.folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Self::failed("remove", &self.folder, error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_name_of_a_file() {
        assert_eq!(Pins::new("main-1_a").unwrap().folder(), Path::new("/sys/fs/bpf/fibula/main-1_a"));
        for wrong in ["", "..", "a/b", "a.b"] {
            let error = Pins::new(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("plane {wrong:?}: expected a name of letters, digits, - and _"));
        }
    }
}
