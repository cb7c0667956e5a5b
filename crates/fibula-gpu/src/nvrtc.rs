//! The kernels as PTX: joins their source, and finds and loads NVRTC at run time.
#![allow(unsafe_code, reason = "a library is loaded at run time")]

use crate::Error;
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};
use fibula_image::table::layout::KERNELS;
use fibula_image::text::{EVERY, LOOKUPS};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The variable that names the library, where it is in none of the usual folders.
pub const VARIABLE: &str = "FIBULA_NVRTC";

/// The folder below `target` where `cargo xtask setup` puts it.
const INSTALLED: &str = "tools/nvrtc/nvidia/cuda_nvrtc/lib";

/// The file's names, newest first.
const FILES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Returns the source of all kernels as one text: NVRTC is given no files.
#[must_use]
pub fn source() -> String {
    // The list of kernels replaces the line that includes it.
    let kernels = include_str!("../kernels/lookup.cu").replace("#include \"every.h\"", EVERY);
    let text = LOOKUPS.concat() + &kernels;
    let lines = text.lines().filter(|line| !line.starts_with("#include"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the entry points that [`source`] makes: each layout at each width, for one table and for
/// many, and the measure of random reads.
#[must_use]
pub fn entry_points() -> Vec<String> {
    let each = KERNELS.iter().flat_map(|kernel| [8, 16, 32].map(|bits| format!("{kernel}_{bits}")));
    each.flat_map(|name| [format!("{name}_of_many"), name]).chain(["gather".to_owned()]).collect()
}

/// Compiles all kernels for cards of a compute capability, as `(9, 0)`. Takes a second or two.
///
/// # Errors
/// If NVRTC is not found, or it reports an error in the source.
pub fn compile((major, minor): (i32, i32)) -> Result<Ptx, Error> {
    load()?;
    let options = CompileOptions {
        options: vec![format!("--gpu-architecture=compute_{major}{minor}")],
        name: Some("lookup.cu".into()),
        ..CompileOptions::default()
    };
    compile_ptx_with_opts(source(), options).map_err(|error| {
        Error::compiler(match error {
            CompileError::CompileError { log, .. } => {
                log.to_string_lossy().split_whitespace().collect::<Vec<_>>().join(" ")
            }
            other => format!("{other:?}"),
        })
    })
}

/// Loads NVRTC once.
fn load() -> Result<(), Error> {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let loaded = *LOADED.get_or_init(|| {
        for path in candidates() {
            // SAFETY: NVIDIA's library, where its package puts it; its initializers only set up
            // itself.
            if let Ok(library) = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) } {
                // It stays loaded, so that it is found by its name from now on.
                std::mem::forget(library);
                break;
            }
        }
        // SAFETY: asks the loader for the library by its names, as above.
        unsafe { cudarc::nvrtc::sys::is_culib_present() }
    });
    if loaded {
        return Ok(());
    }
    Err(Error::compiler(format!(
        "NVRTC (libnvrtc.so) is not found; `cargo xtask setup` installs it, {VARIABLE} names it"
    )))
}

/// Returns where the library may be: the folder that the variable names; below the folder of this
/// program's build; beside the program; CUDA's own folder.
fn candidates() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(program) = std::env::current_exe() {
        let above = program.ancestors().skip(1).take(3);
        folders.extend(above.clone().map(|folder| folder.join(INSTALLED)));
        folders.extend(above.take(1).map(PathBuf::from));
    }
    folders.push("/usr/local/cuda/lib64".into());
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    named
        .into_iter()
        .chain(folders.into_iter().flat_map(|folder| FILES.map(|file| folder.join(file))))
        .collect()
}
