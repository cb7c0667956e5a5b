//! The programs of docs/c.md and of `tests/programs`, compiled by every C and C++ compiler that
//! there is, against the library as a static and as a shared one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of the library as it was built for this test.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn is_there(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The compilers of a language that this machine has.
fn compilers(is_cpp: bool) -> Vec<&'static str> {
    let names = if is_cpp { ["g++", "clang++"] } else { ["gcc", "clang"] };
    let found: Vec<_> = names.into_iter().filter(|name| is_there(name)).collect();
    assert!(!found.is_empty(), "none of {names:?} is installed");
    found
}

fn succeeded(what: &str, output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{what}: {}\n{stdout}{stderr}", output.status);
}

/// Compiles a program, runs it in a folder of its own, and returns what it prints.
fn run(compiler: &str, source: &Path, is_shared: bool, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let is_cpp = compiler.ends_with("++");
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O1", "-g"]);
    command.arg(if is_cpp { "-std=c++17" } else { "-std=c11" }).args(more);
    command.arg("-I").arg(here("include")).arg(source).arg("-o").arg(&program);
    if is_shared {
        let rpath = format!("-Wl,-rpath,{}", built().display());
        command.arg("-L").arg(built()).args(["-lfibula_capi", &rpath]);
    } else {
        command.arg(built().join("libfibula_capi.a"));
    }
    command.args(["-lpthread", "-ldl", "-lm"]);
    succeeded(&format!("{compiler} {}", source.display()), &command.output().unwrap());
    let output = Command::new(&program).current_dir(folder.path()).output().unwrap();
    succeeded(&source.display().to_string(), &output);
    String::from_utf8(output.stdout).unwrap()
}

/// A program of the page, and what it prints.
struct Shown<'p> {
    language: &'p str,
    code: &'p str,
    prints: &'p str,
}

fn shown(page: &str) -> Vec<Shown<'_>> {
    let mut blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let mut programs = Vec::new();
    while let Some((language, code)) = blocks.next() {
        if ["c", "cpp"].contains(&language) {
            let (_, prints) = blocks.next().expect("what the program prints");
            programs.push(Shown { language, code, prints });
        }
    }
    programs
}

#[test]
fn the_programs_of_the_page_print_what_it_says() {
    let page = fs::read_to_string(here("../../docs/c.md")).unwrap();
    let programs = shown(&page);
    assert_eq!(programs.len(), 7);
    let folder = tempfile::tempdir().unwrap();
    for (at, Shown { language, code, prints }) in programs.iter().enumerate() {
        let source = folder.path().join(format!("{at}.{language}"));
        fs::write(&source, code).unwrap();
        for compiler in compilers(*language == "cpp") {
            assert_eq!(run(compiler, &source, true, &[]), *prints, "{compiler}, program {at}");
        }
    }
}

#[test]
fn every_call_does_what_the_header_says() {
    // Linking all of the static library takes longer than the program: one compiler does.
    for (at, compiler) in compilers(false).into_iter().enumerate() {
        run(compiler, &here("tests/programs/api.c"), at > 0, &[]);
    }
}

#[test]
fn headers_compile_in_both_languages() {
    for compiler in compilers(true) {
        run(compiler, &here("tests/programs/headers.cpp"), true, &[]);
    }
    for compiler in compilers(false) {
        run(compiler, &here("tests/programs/rte.c"), true, &[]);
    }
}

/// The names that a text declares or defines as functions of the interface.
fn functions(text: &str) -> Vec<String> {
    let starts = text
        .match_indices("fibula_")
        .filter(|&(at, _)| !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'));
    let mut names: Vec<String> = starts
        .filter_map(|(at, _)| {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            rest[end..].starts_with('(').then(|| rest[..end].to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn the_library_has_the_functions_of_the_header_and_no_others() {
    let header = fs::read_to_string(here("include/fibula.h")).unwrap();
    let without_comments: String =
        header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, after)| after)).collect();
    let library = built().join("libfibula_capi.so");
    let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    succeeded("nm", &symbols);
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next_back()).collect();
    exported.retain(|name| !name.starts_with("__odr_asan"));
    exported.sort_unstable();
    assert_eq!(exported, functions(&without_comments));
}

#[test]
fn memory_is_right_under_valgrind() {
    if !is_there("valgrind") {
        eprintln!("valgrind is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("api");
    let compiled = Command::new("cc")
        .args(["-std=c11", "-g", "-DFEW", "-I"])
        .arg(here("include"))
        .arg(here("tests/programs/api.c"))
        .arg(built().join("libfibula_capi.a"))
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    succeeded("cc", &compiled);
    let checked = Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"])
        .arg(&program)
        .current_dir(folder.path())
        .output()
        .unwrap();
    succeeded("valgrind", &checked);
}
