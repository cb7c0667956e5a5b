//! `cargo xtask test`: everything. What is most likely to fail comes first.

use crate::run::{DEFAULT_FEATURES, FEATURES, LARGE, cargo, host, nightly, root, run, with_features};
use crate::timings::{self, cpu_seconds};
use crate::{aarch64, api, bpf, disk, fuzz, hdl, instructions, lint, packages, page, python, setup};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A named step of the tests.
type Stage = (&'static str, fn() -> Result<()>);

/// The stage that is most likely to fail. No test begins before it passes.
const FIRST: [Stage; 1] = [("lint and set-up", lint_and_set_up)];

/// The stages of the library, the command line and what they are made of.
const MAIN: [Stage; 6] = [("packages", packages::check), SURFACE, XDP, ("tests", tests), PAGE, INSTRUCTIONS];

const SURFACE: Stage = ("public surface", api::check);
const XDP: Stage = ("XDP programs", bpf::check);
const PAGE: Stage = ("page", page::test);
const HARDWARE: Stage = ("hardware", hdl::quick);
const INSTRUCTIONS: Stage = ("instructions", instructions::check);

/// The stages that compile what has `unsafe`, vectors or threads again, with instruments or for
/// another processor, into folders of their own. They run beside the main ones, because the
/// compiler spends minutes in one crate, on one core. The last two take what the main tests have
/// compiled by then.
const BESIDE: [Stage; 6] =
    [ADDRESSES, THREADS, ARM, ("fuzzing", || fuzz::targets(fuzz::SECONDS, &[])), HARDWARE, PYTHON];

const ADDRESSES: Stage = ("address sanitizer", address_sanitizer);
const THREADS: Stage = ("thread sanitizer", thread_sanitizer);
const PYTHON: Stage = ("Python", python::test);
const ARM: Stage = ("64-bit Arm", aarch64::test);

/// The stages that a crate takes part in, beside its tests.
const SHARES: [(&str, &[Stage]); 10] = [
    ("fibula", &[SURFACE, INSTRUCTIONS, ADDRESSES, THREADS, ARM]),
    ("fibula-capi", &[SURFACE]),
    ("fibula-duckdb", &[PYTHON]),
    ("fibula-engines", &[INSTRUCTIONS]),
    ("fibula-hdl", &[HARDWARE]),
    ("fibula-image", &[XDP]),
    ("fibula-io", &[SURFACE]),
    ("fibula-page", &[PAGE]),
    ("fibula-python", &[PYTHON]),
    ("fibula-router", &[XDP]),
];

/// The stages of what one runs before a commit.
const QUICK: [Stage; 2] = [("lint", lint::quick), ("unit tests", unit_tests)];

/// Where the stages print that run beside the main ones.
const LOG: &str = "target/beside.log";

/// How a line begins that tells what a stage took.
const PASSED: &str = "passed:";

/// Runs all checks and tests. The stages beside the main ones run in a process of their own, which
/// prints into a file. The file is printed at the end if one of them failed, and else only what
/// each took: what a main stage printed as it failed stays last.
pub(crate) fn all() -> Result<()> {
    let start = Instant::now();
    disk::check()?;
    stages(&FIRST)?;
    println!("beside what follows, into {LOG}: cargo xtask test --beside");
    let log = File::create(root().join(LOG)).with_context(|| format!("cannot write {LOG}"))?;
    let mut process = Command::new(std::env::current_exe()?);
    process.args(["test", "--beside"]).stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log);
    let mut process = process.spawn().context("cannot run the stages beside the main ones")?;
    let main = stages(&MAIN).inspect_err(|error| {
        eprintln!("xtask: {error:#}\nthe stages beside this one are still running");
    });
    let status = process.wait()?;
    let log = std::fs::read(root().join(LOG))?;
    let log = String::from_utf8_lossy(&log);
    if status.success() {
        log.lines().filter(|line| line.starts_with(PASSED)).for_each(|line| println!("{line}"));
    } else {
        println!("{log}");
    }
    main?;
    if !status.success() {
        bail!("the stages beside the main ones failed ({status}); they are printed above, and in {LOG}");
    }
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds());
    timings::note("stage", "", "all", wall, cpu)?;
    disk::report()?;
    report("all good", wall, cpu);
    Ok(())
}

/// Runs the stages that run beside the main ones.
pub(crate) fn beside() -> Result<()> {
    stages(&BESIDE)
}

/// Runs what one runs before a commit: formatting, clippy and the unit tests, with few cases each.
pub(crate) fn quick() -> Result<()> {
    let start = Instant::now();
    stages(&QUICK)?;
    report("all good", start.elapsed().as_secs_f64(), cpu_seconds());
    Ok(())
}

/// Runs the share of some crates: formatting, clippy, their tests as [`all`] runs them, and the
/// stages that they take part in.
pub(crate) fn of(crates: &[&str]) -> Result<()> {
    let start = Instant::now();
    lint::of(crates)?;
    setup::all()?;
    run(seeded(&mut with_features("test", crates)).args(ALL_QUIETLY).env(page::VARIABLE, page::module()?))?;
    let shares = SHARES.iter().filter(|(name, _)| crates.contains(name)).flat_map(|(_, stages)| *stages);
    let mut chosen: Vec<Stage> = Vec::new();
    for &stage in shares {
        if chosen.iter().all(|(name, _)| *name != stage.0) {
            chosen.push(stage);
        }
    }
    stages(&chosen)?;
    report("all good", start.elapsed().as_secs_f64(), cpu_seconds());
    Ok(())
}

/// Runs stages one after the other, and prints what each took when all have passed.
fn stages(stages: &[Stage]) -> Result<()> {
    let mut took = Vec::new();
    for (name, stage) in stages {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        stage()?;
        let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start);
        timings::note("stage", "", name, wall, cpu)?;
        took.push((name, wall, cpu));
    }
    for (name, wall, cpu) in took {
        report(name, wall, cpu);
    }
    Ok(())
}

/// Prints what something took, in seconds of wall clock and of all processors.
fn report(name: &str, wall: f64, cpu: f64) {
    println!("{PASSED} {name:<20} {wall:>5.0} s of wall clock, {cpu:>5.0} s of processors");
}

/// Checks what needs no tests, and meanwhile installs what the tests need: that mostly waits for
/// what it fetches.
fn lint_and_set_up() -> Result<()> {
    // Lint compiles for one of its targets.
    setup::toolchains()?;
    std::thread::scope(|scope| {
        let set_up = scope.spawn(setup::all);
        let linted = lint::all();
        set_up.join().expect("no step panics").and(linted)
    })
}

/// What lets all tests run though one has failed, and prints a dot for each that passes: thousands
/// of names would bury the one that failed.
const ALL_QUIETLY: [&str; 3] = ["--no-fail-fast", "--", "--quiet"];

/// The variable by which proptest takes the beginning of its random cases, and which it is given
/// unless it is set.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// Gives a command the variable [`SEED`].
fn seeded(tests: &mut Command) -> &mut Command {
    let (name, seed) = SEED;
    tests.env(name, std::env::var(name).unwrap_or_else(|_| seed.into()))
}

/// Runs everything as users run it. The random cases are the same each time, so that a run tells of
/// the change and not of the day. The program has the page's module, so that the page's own tests
/// need no other.
fn tests() -> Result<()> {
    let mut tests = cargo(&["test", "--workspace", "--locked"]);
    tests.args(FEATURES).args(ALL_QUIETLY).env(page::VARIABLE, page::module()?);
    run(seeded(&mut tests))?;
    let mut without = cargo(&["test", "--workspace", "--test", "without_features", "--locked"]);
    // What has fewer features is compiled for a few lines on standard error.
    without.env("CARGO_PROFILE_TEST_OPT_LEVEL", "0");
    run(without.args(DEFAULT_FEATURES).args(ALL_QUIETLY))
}

/// The unit tests that make large tables, or modules of them. Code that is not optimized takes
/// longer for these than for all others together.
const SLOW: [&str; 17] = [
    "mosaic::tests::runs_that_come_and_go_leave_few_holes",
    "triec::tests::a_life_inside_2000_leaves_no_holes",
    "poptrie::tests::the_last_bits_of_both_families",
    "poptrie::tests::both_families_at_the_default_size",
    "dxr::tests::a_shared_table_asks_for_a_rebuild_when_there_is_no_room_or_far_too_much",
    "mosaic6::tests::a_cover_leaves_arrays_where_they_are",
    "terrace::tests::a_cover_that_comes_and_goes_over_many_marked_networks_leaves_no_line_behind",
    "aggregate::tests::no_smaller_table_exists_for_any_eight_leaves_and_two_next_hops",
    "sail_m::tests::twelve_tables_keep_apart_and_within_the_bound_on_chip",
    "generate::tests",
    "lulea::tests::the_layout_widens_at_the_first_index_that_does_not_fit",
    "mosaic::deep_tests::more_blocks_than_15_bits_tell_apart",
    "mosaic::tests::parts_are_joined_in_a_few_reads_for_each_marked_24",
    "mosaic::tests::tile_numbers_past_16_bits_come_and_go",
    "dxr::tests::bytes_stay_within_a_tenth_of_a_fresh_build",
    "mosaic6::tests::updates_make_no_detours",
    "poptrie::tests::a_shared_trie_asks_for_a_rebuild_when_there_is_no_room_or_far_too_much",
];

/// Runs the unit tests of all but the [large](LARGE) crates, not optimized and with few cases each,
/// but for the [slow](SLOW) ones.
fn unit_tests() -> Result<()> {
    let mut tests = cargo(&["test", "--workspace", "--lib", "--bins", "--locked", "--profile", "quick"]);
    tests.args(LARGE.iter().flat_map(|name| ["--exclude", name]));
    let left_out = SLOW.iter().flat_map(|name| ["--skip", name]);
    run(tests.arg("--").args(left_out).env("PROPTEST_CASES", "4"))
}

/// Runs the `unsafe` code with every memory access checked. Engines and blocks have none: they read
/// and write through `memory` and `arch`. A few tests of those in the library show whether they use
/// these correctly; the papers' engines forbid `unsafe` and use them in the same way. The build is
/// not optimized, since optimizing instrumented code for three widths and three instruction sets
/// takes three times as long as all of this.
fn address_sanitizer() -> Result<()> {
    let units = ["arch::", "blocks::", "live::", "memory::", "snapshot::", "table_set::"];
    let tests: [(&[&str], &[&str]); 3] = [
        (&["--lib"], &units),
        (&["--test", "live"], &[]),
        (&["--test", "suite"], &["::w8::random", "::w8::empty", "::last_address_in_every_lane"]),
    ];
    for (tests, chosen) in tests {
        let mut tests = sanitized(tests)?;
        // Wrong accesses show in few cases. The other cases look for wrong answers, and have run
        // before.
        run(tests.arg("--").args(chosen).env("RUSTFLAGS", "-Zsanitizer=address").env("PROPTEST_CASES", "2"))?;
    }
    Ok(())
}

/// Runs readers and a writer at once, with every access checked against every other thread's. The
/// standard library is built with the sanitizer too: else it would not see how locks and channels
/// order what they hand over. Each engine that is changed in place has its timeline.
fn thread_sanitizer() -> Result<()> {
    for (name, chosen) in [("live", ""), ("suite", "::w16::answers_of_published_tables")] {
        let mut tests = sanitized(&["-Zbuild-std", "--test", name])?;
        run(tests.arg("--").arg(chosen).env("RUSTFLAGS", "-Zsanitizer=thread"))?;
    }
    Ok(())
}

/// Runs some of the library's tests with the toolchain that has sanitizers. What they complain
/// about has line numbers.
fn sanitized(tests: &[&str]) -> Result<Command> {
    let host = host()?;
    let mut arguments = vec!["test", "--package", "fibula", "--profile", "quick"];
    arguments.extend(tests);
    arguments.extend(["--locked", "--target", &host, "--target-dir", "target/sanitizer"]);
    let mut tests = nightly(&arguments);
    tests.env("CARGO_PROFILE_QUICK_DEBUG", "line-tables-only");
    Ok(tests)
}
