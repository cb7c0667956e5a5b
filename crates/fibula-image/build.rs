//! Compiles the kernels' bodies for the host: the twin that tests judge, and a copy that counts
//! accesses.

fn main() {
    println!("cargo::rerun-if-changed=kernels");
    for (library, counted) in [("fibula_twin", false), ("fibula_counted", true)] {
        let mut build = cc::Build::new();
        build.file("kernels/twin.c").std("c11").warnings_into_errors(true).extra_warnings(true).opt_level(2);
        if counted {
            build.define("FIBULA_COUNTED", None);
        }
        build.compile(library);
    }
}
