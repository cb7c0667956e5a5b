//! Cargo builds the module for this test, with the profile of all tests and what they have compiled
//! already. `cargo xtask python` loads it in Python.

#[test]
fn the_module_has_the_function_that_python_calls() {
    let program = std::env::current_exe().unwrap();
    let library = format!("{}_fibula{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let module = std::fs::read(program.with_file_name(library)).unwrap();
    assert!(module.windows(16).any(|name| name == b"\0PyInit__fibula\0"));
}
