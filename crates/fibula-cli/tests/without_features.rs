//! A program without an optional feature names the feature that a command line asks for.

use std::process::Command;

fn standard_error(arguments: &[&str]) -> (Option<i32>, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_fibula")).args(arguments).output().unwrap();
    (run.status.code(), String::from_utf8(run.stderr).unwrap())
}

#[test]
#[cfg(not(feature = "gpu"))]
fn a_card_needs_the_feature_gpu() {
    let lacking = "fibula: no CUDA card: this fibula was built without the feature `gpu`\n";
    assert_eq!(standard_error(&["devices"]), (Some(0), lacking.into()));
    for arguments in [&["bench", "--device", "gpu"][..], &["verify", "--device", "both"], &["study", "gpu"]] {
        assert_eq!(standard_error(arguments), (Some(2), lacking.into()), "{arguments:?}");
    }
    let lacking = "fibula: no engine \"gpu-mosaic\": this fibula was built without the feature `gpu`\n";
    for arguments in [["bench", "-e", "gpu-mosaic"], ["verify", "-e", "gpu-mosaic"]] {
        assert_eq!(standard_error(&arguments), (Some(2), lacking.into()), "{arguments:?}");
    }
}

#[test]
#[cfg(not(feature = "peers"))]
fn engines_of_other_people_need_the_feature_peers() {
    let lacking = "fibula: no engine \"peer:bart\": this fibula was built without the feature `peers`\n";
    assert_eq!(standard_error(&["bench", "-e", "peer:bart"]), (Some(2), lacking.into()));
}

#[test]
#[cfg(not(feature = "enrich"))]
fn enriching_needs_the_feature_enrich() {
    let lacking = "fibula: no Parquet, CSV or NDJSON: this fibula was built without the feature `enrich`\n";
    let arguments = ["enrich", "flows.csv", "-c", "src", "-t", "table.txt", "-o", "out.parquet"];
    assert_eq!(standard_error(&arguments), (Some(2), lacking.into()));
}

#[test]
#[cfg(not(feature = "enrich"))]
fn a_table_as_parquet_needs_the_feature_enrich() {
    let lacking =
        "Parquet needs the feature `parquet` of fibula-io, which the command line has with `enrich`\n";
    let output = std::env::temp_dir().join(format!("fibula-{}.parquet", std::process::id()));
    let output = output.to_str().unwrap();
    let arguments = ["table", "convert", "-i", "tests/fixtures/edge.txt", "--to", "parquet", "-o", output];
    let (status, error) = standard_error(&arguments);
    assert_eq!(status, Some(2));
    assert!(error.ends_with(lacking), "{error}");
    assert!(!std::path::Path::new(output).exists());
}

#[test]
#[cfg(not(feature = "map"))]
fn a_map_needs_the_feature_map() {
    let lacking = "fibula: no maps: this fibula was built without the feature `map`\n";
    let arguments = ["table", "map", "-t", "table.txt", "-o", "map.png"];
    assert_eq!(standard_error(&arguments), (Some(2), lacking.into()));
}

#[test]
#[cfg(not(feature = "router"))]
fn a_router_needs_the_feature_router() {
    let lacking =
        "fibula: no router: it takes Linux, and this fibula was built without the feature `router`\n";
    assert_eq!(standard_error(&["router", "status"]), (Some(2), lacking.into()));
    assert_eq!(standard_error(&["study", "router"]), (Some(2), lacking.into()));
}

#[test]
#[cfg(all(feature = "serve", not(feature = "router")))]
fn serving_routes_of_a_router_needs_the_feature_router() {
    let lacking = "fibula: no routes of zebra or the kernel: it takes Linux, and this fibula was built without \
                   the feature `router`\n";
    for feed in ["netlink", "netlink:7", "fpm:127.0.0.1:0"] {
        assert_eq!(standard_error(&["serve", "--follow", feed]), (Some(2), lacking.into()));
    }
}

#[test]
#[cfg(not(feature = "serve"))]
fn serving_needs_the_feature_serve() {
    let lacking = "fibula: no service: this fibula was built without the feature `serve`\n";
    assert_eq!(standard_error(&["serve", "-t", "table.txt"]), (Some(2), lacking.into()));
    let (status, told) = standard_error(&["lookup", "--follow", "ris-live:"]);
    let lacking = "ris-live: this fibula was built without the feature `serve`";
    assert!(status == Some(2) && told.contains(lacking), "{told}");
}
