//! Compares the C interface of libfibula with its record, so that no change of it goes unnoticed.
//!
//! The library that is built describes no types. So the signatures and structs of its Rust code are
//! written as C below `fibula.h`, each function with a body that does nothing. The compiler refuses
//! that file where Rust and the header differ, and `abidw` describes what it makes of it. A test of
//! `fibula-capi` compares the functions that the library exports with those of the header.

use crate::run::{output, root, run};
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The record, as `abidw` writes it.
const RECORD: &str = "docs/public-api/libfibula.abi";

/// The folder of the crate.
const CRATE: &str = "crates/fibula-capi";

/// Compares the interface with its record. Prints the differences.
pub(crate) fn check() -> Result<()> {
    let mut compare = Command::new("abidiff");
    compare.args(["--no-architecture", "--no-corpus-path", "--harmless", "--no-show-locs"]);
    let compared = compare.arg(root().join(RECORD)).arg(library()?).output();
    let compared = compared.context("cannot run abidiff, which `cargo xtask setup` installs")?;
    ensure!(
        compared.status.success(),
        "the C interface has changed; if that is meant, `cargo xtask api --record`:\n{}{}",
        String::from_utf8_lossy(&compared.stdout),
        String::from_utf8_lossy(&compared.stderr)
    );
    println!("public surface: libfibula has the interface of its record");
    Ok(())
}

/// Writes the record.
pub(crate) fn record() -> Result<()> {
    let mut describe = Command::new("abidw");
    // Nothing of this machine and its compiler.
    describe.args(["--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed"]);
    describe.args(["--no-show-locs", "--no-parameter-names", "--type-id-style", "hash", "--headers-dir"]);
    let described = output(describe.arg(root().join(CRATE).join("include")).arg(library()?))?;
    let beside = root().join(RECORD).with_extension("new");
    fs::write(&beside, described)?;
    fs::rename(&beside, root().join(RECORD))?;
    println!("wrote {RECORD}");
    Ok(())
}

/// Compiles the interface as a library without code. Returns its path.
fn library() -> Result<PathBuf> {
    let folder = root().join("target/abi");
    fs::create_dir_all(&folder)?;
    let mut code = String::from("#include <fibula.h>\n");
    let mut files: Vec<_> = fs::read_dir(root().join(CRATE).join("src"))?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let rust = fs::read_to_string(file.path())?;
        structs(&rust, &mut code)
            .and_then(|()| functions(&rust, &mut code))
            .with_context(|| format!("cannot write {} as C", file.path().display()))?;
    }
    fs::write(folder.join("interface.c"), code)?;
    let mut compiler = Command::new("cc");
    // From within the folder: no path of this machine in the record.
    compiler.current_dir(&folder).args(["-std=gnu11", "-Wall", "-Werror", "-g", "-shared", "-fPIC", "-I"]);
    run(compiler.arg(root().join(CRATE).join("include")).args(["interface.c", "-o", "libfibula.so"]))
        .context("fibula.h and its Rust code differ")?;
    Ok(folder.join("libfibula.so"))
}

/// Writes the functions of the interface, which do nothing. The macro `interface` lets those
/// without a result return a status.
fn functions(rust: &str, code: &mut String) -> Result<()> {
    for (at, _) in rust.match_indices("fn fibula_") {
        let (name, rest) = rust[at + 3..].split_once('(').context("a function without parameters")?;
        let (parameters, rest) = rest.split_once(')').context("a function without an end")?;
        let is_plain = rust[..at].ends_with("extern \"C\" ");
        let returned = match rest.split_once('{').and_then(|(result, _)| result.trim().strip_prefix("->")) {
            Some(result) => c_type(result)?,
            None => if is_plain { "void" } else { "int" }.into(),
        };
        let parameters = named(parameters)?.join(", ");
        let parameters = if parameters.is_empty() { "void" } else { &parameters };
        writeln!(code, "{returned} {name}({parameters}) {{ __builtin_trap(); }}")?;
    }
    Ok(())
}

/// Writes the structs that C sees, under names of their own, and that they are as in the header.
fn structs(rust: &str, code: &mut String) -> Result<()> {
    for declared in rust.split("#[repr(C)]").skip(1) {
        let (_, declared) = declared.split_once("struct ").context("no struct after repr(C)")?;
        let (name, rest) = declared.split_once(" {").context("a struct without fields")?;
        let (fields, _) = rest.split_once('}').context("a struct without an end")?;
        let (ours, theirs) = (format!("struct rust_{name}"), c_type(name)?);
        writeln!(code, "{ours} {{ {}; }};", named(fields)?.join("; "))?;
        writeln!(code, "_Static_assert(sizeof({ours}) == sizeof({theirs}), \"{name}\");")?;
        for (field, _) in fields.split(',').filter_map(|field| field.split_once(':')) {
            let field = field.trim();
            let typed = |of: &str| format!("__typeof__((({of} *)0)->{field})");
            writeln!(
                code,
                "_Static_assert(__builtin_types_compatible_p({}, {}) && __builtin_offsetof({ours}, {field}) \
                 == __builtin_offsetof({theirs}, {field}), \"{name}.{field}\");",
                typed(&ours),
                typed(&theirs)
            )?;
        }
    }
    if let Some((_, visit)) = rust.split_once("type Visit = extern \"C\" fn(") {
        let (parameters, rest) = visit.split_once(") ->").context("Visit returns nothing")?;
        let returned = c_type(rest.split(';').next().unwrap_or_default())?;
        let visit = format!("{returned} (*)({})", named(parameters)?.join(", "));
        writeln!(code, "_Static_assert(__builtin_types_compatible_p(fibula_visit, {visit}), \"Visit\");")?;
    }
    Ok(())
}

/// Returns the parameters or fields of a list as C declares them.
fn named(list: &str) -> Result<Vec<String>> {
    let declared = list.split(',').filter_map(|one| one.split_once(':'));
    declared
        .map(|(name, of)| match of.trim().strip_prefix('[').and_then(|array| array.split_once("; ")) {
            Some((element, len)) => Ok(format!("{} {}[{len}", c_type(element)?, name.trim())),
            None => Ok(format!("{} {}", c_type(of)?, name.trim())),
        })
        .collect()
}

/// Returns the type of C that a type of Rust is.
fn c_type(rust: &str) -> Result<String> {
    let rust = rust.trim();
    if let Some(to) = rust.strip_prefix("*const ") {
        return Ok(format!("{} const *", c_type(to)?));
    }
    if let Some(to) = rust.strip_prefix("*mut ") {
        return Ok(format!("{} *", c_type(to)?));
    }
    Ok(match rust {
        "c_char" => "char".into(),
        "c_int" => "int".into(),
        "c_void" => "void".into(),
        "u8" | "u32" | "u64" => format!("uint{}_t", &rust[1..]),
        "usize" => "size_t".into(),
        "Option<Visit>" => "fibula_visit".into(),
        "CPrefix" => "struct fibula_prefix".into(),
        "COptions" => "struct fibula_options".into(),
        "Table" | "Live" | "Reader" | "Vrfs" => format!("struct fibula_{}", rust.to_lowercase()),
        "VrfsReader" => "struct fibula_vrfs_reader".into(),
        other => bail!("{other} has no type of C here"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_is_written_as_c() {
        let mut code = String::new();
        let rust = "fn fibula_new(size: usize, out: *mut *mut Table) {}
            pub(crate) extern \"C\" fn fibula_free(table: *mut Table) {}
            pub(crate) extern \"C\" fn fibula_name() -> *const c_char {}";
        functions(rust, &mut code).unwrap();
        let expected = [
            "int fibula_new(size_t size, struct fibula_table * * out)",
            "void fibula_free(struct fibula_table * table)",
            "char const * fibula_name(void)",
        ];
        let bodies = expected.map(|declared| format!("{declared} {{ __builtin_trap(); }}\n"));
        assert_eq!(code, bodies.concat());
        assert_eq!(named("addr: [u8; 16]").unwrap(), ["uint8_t addr[16]"]);
        assert!(functions("fn fibula_new(size: u16) {}", &mut code).is_err());
    }
}
