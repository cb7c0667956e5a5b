//! Cargo builds the extension for this test, with the profile of all tests and what they have
//! compiled already. `cargo xtask python` loads it in DuckDB.

#[test]
fn the_extension_has_the_function_that_duckdb_calls() {
    let program = std::env::current_exe().unwrap();
    let library = format!("{}fibula_duckdb{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let extension = std::fs::read(program.with_file_name(library)).unwrap();
    assert!(extension.windows(19).any(|name| name == b"\0fibula_init_c_api\0"));
}
