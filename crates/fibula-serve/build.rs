//! Takes the page's module from where `FIBULA_PAGE_MODULE` says: `cargo xtask page` builds it.

use std::path::Path;

fn main() {
    const MODULE: &str = "FIBULA_PAGE_MODULE";
    println!("cargo::rerun-if-env-changed={MODULE}");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let module = std::env::var_os(MODULE).map(|path| {
        println!("cargo::rerun-if-changed={}", path.display());
        std::fs::read(&path).unwrap_or_else(|error| panic!("{MODULE}: {}: {error}", path.display()))
    });
    std::fs::write(Path::new(&out).join("module.wasm"), module.unwrap_or_default())
        .expect("it can be written");
}
