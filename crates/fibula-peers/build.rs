//! Compiles the shim to DPDK where that peer is asked for.

fn main() {
    println!("cargo::rerun-if-changed=src/dpdk/shim.c");
    #[cfg(feature = "dpdk")]
    dpdk();
}

#[cfg(feature = "dpdk")]
fn dpdk() {
    let library = match pkg_config::Config::new().atleast_version("22.11").probe("libdpdk") {
        Ok(library) => library,
        Err(error) => {
            println!(
                "cargo::error=DPDK is needed for the feature `dpdk` (`cargo xtask setup peers`): {error}"
            );
            return;
        }
    };
    println!("cargo::rustc-env=DPDK_VERSION={}", library.version);
    cc::Build::new()
        .file("src/dpdk/shim.c")
        .includes(library.include_paths)
        // DPDK's own headers ask for these.
        .flag("-include")
        .flag("rte_config.h")
        .flag("-march=native")
        .define("ALLOW_EXPERIMENTAL_API", None)
        .define("_GNU_SOURCE", None)
        .opt_level(3)
        .compile("fibula_dpdk_shim");
}
