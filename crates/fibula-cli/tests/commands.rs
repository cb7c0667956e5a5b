//! Every command as people see it: the cases in `commands/` are run, and their output and exit
//! status compared.
//!
//! `TRYCMD=overwrite cargo test -p fibula-cli --test commands` records the present output. Read the
//! difference before you keep it.

#[test]
fn commands_say_what_is_written_down() {
    let cases = trycmd::TestCases::new();
    cases.case("tests/commands/*.trycmd").case("tests/commands/*.toml");
    // A page whose examples are commands, run in the folder beside it.
    cases.case("../../docs/questions.md");
    if cfg!(feature = "enrich") {
        cases.case("tests/commands/enrich/*.trycmd");
    }
    if cfg!(feature = "map") {
        cases.case("tests/commands/map/*.trycmd");
    }
    if cfg!(feature = "gpu") {
        cases.case("tests/commands/gpu/*.trycmd");
    }
}
