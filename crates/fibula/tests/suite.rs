//! The suite, stamped on every engine of the library; and what is refused before one is built.

fibula_suite::suite!(fibula::for_each_engine, fibula::engine::ENGINES);

#[test]
fn what_cannot_be_built_is_named() {
    let rib: fibula::Rib<u32> = fibula::Rib::new();
    for (specification, complaint) in [
        ("nonsense", "no engine \"nonsense\" (there are: oracle"),
        ("oracle/k=3", "oracle has no parameter k (it has: none)"),
        ("oracle/k", "\"oracle/k\": expected parameter=value, found \"k\""),
    ] {
        let error = fibula::Fib::build(specification, &rib).unwrap_err().to_string();
        assert!(error.starts_with(complaint), "{error}");
    }
}

#[test]
fn a_small_root_of_poptrie_survives_forged_snapshots() {
    let engine = fibula_suite::Subject { engines: fibula::engine::ENGINES, name: "poptrie/s=2".into() };
    for width in fibula::engine::WidthBits::ALL {
        fibula_suite::ipv4::are_refused_or_end(&engine, width);
        fibula_suite::ipv6::are_refused_or_end(&engine, width);
    }
}
