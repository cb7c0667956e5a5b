//! Whoever writes a file is killed, interrupted, or out of room: afterwards the old file or the new
//! one is there, whole, and nothing else.
//!
//! ```text
//!   fibula build, table gen, trace gen --> folder/file
//!        |  kill -9 or Ctrl-C while the new file is open: the test looks into /proc/PID/fd
//!        |  a disk that is full after 64 KiB, 128 KiB, ...: a tmpfs of that size
//!        v
//!   folder has `file`, old or new; status 0 only with the new one, 2 only with the old one
//! ```
//!
//! `cargo test -p fibula-cli --test killed -- --ignored --nocapture` takes 200 moments of each
//! writer.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Instant;

const EDGE: &str = "tests/fixtures/edge.txt";

/// The commands that write files, each without its `-o FILE`: a snapshot of 64 MiB, a table of 3
/// MiB, a trace of 40 MiB.
const WRITERS: [&[&str]; 3] = [
    &["build", "-t", EDGE, "--family", "ipv4", "-e", "dir24-8"],
    &["table", "gen", "edge", "--size", "100000"],
    &["trace", "gen", "sequential", "-t", EDGE, "-n", "3000000"],
];

fn spawn(arguments: &[&str], file: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
    command.args(arguments).arg("-o").arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns whether a process has a file of a folder open.
fn is_writing(child: &Child, folder: &Path) -> bool {
    let Ok(numbers) = fs::read_dir(format!("/proc/{}/fd", child.id())) else { return false };
    let is_inside = |path: PathBuf| path != folder && path.starts_with(folder);
    numbers.flatten().any(|number| fs::read_link(number.path()).is_ok_and(is_inside))
}

/// Waits until a process writes into a folder. Returns whether it does; else it has ended.
fn until_it_writes(child: &mut Child, folder: &Path) -> bool {
    loop {
        if is_writing(child, folder) {
            return true;
        }
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        thread::yield_now();
    }
}

/// What was found after the runs that were killed.
#[derive(Debug, Default)]
struct Counts {
    killed: usize,
    done: usize,
    old: usize,
    new: usize,
    /// Files beside, which the next run has removed.
    left: usize,
}

/// Kills a writer while it writes, at `moments` moments that are spread over the time it takes.
fn kill_at_moments(writer: &[&str], moments: u32) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let file = folder.join("file");
    let mut child = spawn(writer, &file);
    assert!(until_it_writes(&mut child, &folder), "{writer:?} wrote nothing");
    let start = Instant::now();
    assert!(child.wait().unwrap().success());
    let longest = start.elapsed();
    let new = fs::read(&file).unwrap();

    let mut counts = Counts::default();
    for moment in 0..moments {
        fs::write(&file, b"old").unwrap();
        let mut child = spawn(writer, &file);
        until_it_writes(&mut child, &folder);
        // Multiples of the golden ratio are spread evenly.
        thread::sleep(longest.mul_f64(f64::from(moment) * 0.618_033_988_749 % 1.0));
        let signal = if moment % 2 == 0 { Signal::KILL } else { Signal::INT };
        let _ = kill_process(Pid::from_child(&child), signal); // it may be done
        let status: ExitStatus = child.wait().unwrap();
        let found = fs::read(&file).unwrap();
        assert!(found == b"old" || found == new, "{writer:?}, moment {moment}: neither old nor new");
        if status.code().is_some() {
            assert!(
                status.success() && found == new,
                "{writer:?}, moment {moment}: {status} without the file"
            );
            counts.done += 1;
        } else {
            counts.killed += 1;
        }
        counts.old += usize::from(found == b"old");
        counts.new += usize::from(found == new);
        counts.left += names(&folder).len() - 1;
    }
    assert!(spawn(writer, &file).wait().unwrap().success());
    assert_eq!((names(&folder), fs::read(&file).unwrap() == new), (vec!["file".to_owned()], true));
    counts
}

fn kill_all(moments: u32) {
    for writer in WRITERS {
        let counts = kill_at_moments(writer, moments);
        println!("{}: {counts:?}", writer[..2].join(" "));
        assert!(counts.killed > 0 && counts.old > 0, "{writer:?}: nothing was killed in time: {counts:?}");
    }
}

#[test]
fn a_writer_that_is_killed_leaves_the_old_file_or_the_new_one() {
    kill_all(8);
}

#[test]
#[ignore = "200 moments of each writer take minutes"]
fn a_writer_that_is_killed_at_200_moments_leaves_the_old_file_or_the_new_one() {
    kill_all(200);
}

/// A file system in memory of a given size.
struct Disk(PathBuf);

impl Disk {
    /// Mounts it; `None` where that is not allowed.
    fn mount(folder: &Path) -> Option<Self> {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(folder.to_owned()))
    }

    fn resize(&self, kibibytes: u64) {
        let size = format!("remount,size={kibibytes}k");
        assert!(Command::new("mount").args(["-o", &size]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The folder itself is removed after this.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_is_full_at_any_64_kib_leaves_the_old_file() {
    const STEP: u64 = 64;
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path()) else {
        println!("skipped: mounting a tmpfs is not allowed here");
        return;
    };
    let file = disk.0.join("file");
    let writers: [&[&str]; 2] = [
        &["build", "-t", EDGE, "--family", "ipv4", "-e", "poptrie/s=18"],
        &["table", "gen", "edge", "--size", "30000"],
    ];
    for writer in writers {
        let (mut refused, mut size) = (0, STEP);
        loop {
            disk.resize(size);
            fs::write(&file, b"old").unwrap();
            let output = spawn(writer, &file).wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(names(&disk.0), ["file"], "{writer:?}, {size} KiB");
            if output.status.success() {
                assert_ne!(fs::read(&file).unwrap(), b"old");
                break;
            }
            assert_eq!(
                (output.status.code(), said.lines().count()),
                (Some(2), 1),
                "{writer:?}, {size} KiB: {said}"
            );
            assert!(said.contains("No space left on device"), "{said}");
            assert_eq!(fs::read(&file).unwrap(), b"old", "{writer:?}, {size} KiB");
            refused += 1;
            size += STEP;
        }
        println!("{}: refused {refused} times, written at {size} KiB", writer[..2].join(" "));
        assert!(refused >= 8, "{writer:?}: {refused}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn what_a_killed_writer_left_is_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".fibula-abcdef.part"), b"half").unwrap();
    let file = folder.path().join("file");
    assert!(spawn(&["table", "convert", "-i", EDGE], &file).wait().unwrap().success());
    assert_eq!(names(folder.path()), ["file"]);
}
