//! Every command as people see it: what stands in `commands/` is run and compared, output and exit status.
//!
//! `TRYCMD=overwrite cargo test -p fibula-cli --test commands` writes down what the commands say now; read the
//! difference before you keep it.

#[test]
fn commands_say_what_is_written_down() {
    trycmd::TestCases::new().case("tests/commands/*.trycmd").case("tests/commands/*.toml");
}
