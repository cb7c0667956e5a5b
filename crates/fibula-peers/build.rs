//! Compiles the C and Go code between Rust and other people's engines, where those are enabled.

fn main() {
    println!("cargo::rerun-if-changed=src/dpdk/shim.c");
    println!("cargo::rerun-if-changed=src/bart");
    #[cfg(feature = "dpdk")]
    dpdk();
    #[cfg(feature = "bart")]
    bart();
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
        // DPDK's own headers need these.
        .flag("-include")
        .flag("rte_config.h")
        .flag("-march=native")
        .define("ALLOW_EXPERIMENTAL_API", None)
        .define("_GNU_SOURCE", None)
        .opt_level(3)
        .compile("fibula_dpdk_shim");
}

/// Go builds an archive of C functions that includes its runtime.
#[cfg(feature = "bart")]
fn bart() {
    let folder = std::env::var("OUT_DIR").unwrap_or_default();
    let archive = format!("{folder}/libfibula_bart.a");
    let go = |arguments: &[&str]| {
        let output = std::process::Command::new("go").args(arguments).current_dir("src/bart").output();
        match output {
            Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
            Err(error) => Err(error.to_string()),
        }
    };
    let built = go(&["build", "-buildmode=c-archive", "-o", &archive, "."]).and_then(|_| {
        let version = |module: &str| go(&["list", "-m", "-f", "{{.Version}}", module]);
        Ok((go(&["env", "GOVERSION"])?, version("github.com/gaissmai/bart")?))
    });
    match built {
        Ok((go, bart)) => {
            println!("cargo::rustc-env=GO_VERSION={}", go.trim().trim_start_matches("go"));
            println!("cargo::rustc-env=BART_VERSION={}", bart.trim());
            println!("cargo::rustc-link-search=native={folder}");
            println!("cargo::rustc-link-lib=static=fibula_bart");
        }
        Err(error) => println!(
            "cargo::error=Go 1.24 and bart are needed for the feature `bart` (`cargo xtask setup peers`): {error}"
        ),
    }
}
