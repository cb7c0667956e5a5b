//! [`write_beside`]: replaces a file as a whole or not at all, and leaves nothing else behind.
//!
//! The new content is written to a file beside the old one, synced, and renamed. On Linux that file
//! has no name until it is whole, so whoever kills the writer leaves nothing. Where the file system
//! has no such files, or the kill comes between naming and renaming, a file `.fibula-*.part` stays.
//! Its writer held a lock on it, which has ended with the writer: the next write in the same folder
//! removes every such file without a lock.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// The beginning and the end of the names of files that are written beside others.
const PREFIX: &str = ".fibula-";
const SUFFIX: &str = ".part";

/// Replaces a file by what `fill` writes, whole or not at all; for files that are not tables.
///
/// Whoever reads or maps the old file goes on reading the old content. Files that earlier writers
/// left in the same folder when they were killed are removed.
///
/// # Errors
/// If the file cannot be written, or `fill` fails. The old file is then unchanged.
pub fn write_beside(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The target of a symbolic link is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if target.is_dir() {
        return Err(io::Error::other("is a directory, expected a file"));
    }
    if target.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        // A pipe or a device cannot be replaced, only written to.
        return fill(&mut std::fs::OpenOptions::new().write(true).open(&target)?);
    }
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    sweep(folder);
    let mode = mode(&target);
    if let Some(mut file) = unnamed::create(folder, mode) {
        fill(&mut file)?;
        file.sync_all()?;
        let named = names(mode).make_in(folder, |path| unnamed::name(&file, path))?;
        named.persist(&target).map_err(|error| error.error)?;
    } else {
        let mut file = locked(folder, mode)?;
        fill(&mut file)?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|error| error.error)?;
    }
    // The new name itself must reach the disk, too. Not every file system lets a folder be synced.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Returns the rights of the new file: those of the old one, or those that any program would give
/// it. The process's mask is applied to them.
fn mode(target: &Path) -> u32 {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        target.metadata().map_or(0o666, |metadata| metadata.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    {
        let _ = target;
        0
    }
}

fn names(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        names.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    names
}

/// Creates a file with a name and locks it. Another writer's [`sweep`] may remove it in between.
fn locked(folder: &Path, mode: u32) -> io::Result<tempfile::NamedTempFile> {
    const ATTEMPTS: usize = 8;
    let mut file = names(mode).tempfile_in(folder)?;
    for _ in 0..ATTEMPTS {
        // Some file systems have no locks. Then no sweep gets one either.
        if file.as_file().lock().is_err() || file.path().exists() {
            break;
        }
        file = names(mode).tempfile_in(folder)?;
    }
    Ok(file)
}

/// Removes the files that writers left in a folder when they were killed.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if is_ours
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            // Another writer may have removed it first.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(target_os = "linux")]
mod unnamed {
    //! Files without a name, which end with their writer.

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::Path;

    /// Where a process finds its files by their numbers.
    const NUMBERED: &str = "/proc/self/fd";

    /// Creates a file and locks it; `None` where that is not possible.
    pub(super) fn create(folder: &Path, mode: u32) -> Option<File> {
        if !Path::new(NUMBERED).is_dir() {
            return None;
        }
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(openat(CWD, folder, flags, Mode::from_raw_mode(mode)).ok()?);
        // Nobody else can have a lock on it. Some file systems have none.
        let _ = file.try_lock();
        Some(file)
    }

    /// Gives a file its name.
    pub(super) fn name(file: &File, path: &Path) -> io::Result<()> {
        let number = format!("{NUMBERED}/{}", file.as_raw_fd());
        Ok(linkat(CWD, number, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod unnamed {
    //! Elsewhere every file has a name.

    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn create(_: &Path, _: u32) -> Option<File> {
        None
    }

    pub(super) fn name(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names_in(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string());
        let mut names: Vec<String> = names.map(Result::unwrap).collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_a_writer_holds_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.fib");
        fs::write(folder.path().join(".fibula-left.part"), "half").unwrap();
        fs::write(folder.path().join(".fibula-of-somebody-else"), "").unwrap();
        let held = locked(folder.path(), 0o600).unwrap();
        write_beside(&path, |out| out.write_all(b"new")).unwrap();
        let held_name = held.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![held_name, ".fibula-of-somebody-else".into(), "table.fib".into()];
        expected.sort();
        assert_eq!(names_in(folder.path()), expected);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(held.path().exists());
    }

    #[test]
    fn both_kinds_of_files_replace_and_fail_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut file = locked(folder.path(), 0o644).unwrap();
        file.write_all(b"one").unwrap();
        file.persist(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        let failed = write_beside(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        assert_eq!(
            (fs::read(&path).unwrap(), names_in(folder.path())),
            (b"one".to_vec(), vec!["file".into()])
        );
    }
}
