//! All exhibits of all papers on small tables: each has values or a reason, and is in the report.

use fibula_engines::all;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_papers::{Class, Lab, Named, Options, PAPERS, Reproduction, html, reproduce};

/// Makes everything again, small.
fn reproductions() -> Vec<Reproduction> {
    let tables = internet(Size { ipv4: 10_000, ipv6: 2000 }, NextHopModel::Near(40), 1).unwrap();
    let options = Options { addresses: 1 << 12, passes: 1, updates: 2, smaller: 100, ..Options::default() };
    let lab = Lab {
        engines: all(),
        ipv4: vec![Named { name: "small".into(), rib: tables.ipv4 }],
        ipv6: vec![Named { name: "small".into(), rib: tables.ipv6 }],
        options,
    };
    let mut all = Vec::new();
    for paper in PAPERS {
        let each = |reproduction| -> Result<(), fibula_papers::Error> {
            all.push(reproduction);
            Ok(())
        };
        reproduce(paper, &lab, |_| {}, each).unwrap();
    }
    all
}

#[test]
fn every_exhibit_has_values_or_a_reason_and_is_in_the_report() {
    let all = reproductions();
    let whole = all.iter().filter(|each| each.finding.class == Class::Reproduced).count();
    assert!(whole >= 30, "{whole} of {} exhibits are reproduced", all.len());
    for Reproduction { paper, exhibit, finding, .. } in &all {
        let name = format!("{}, {}", paper.name, exhibit.id);
        match finding.class {
            Class::Impossible(reason) => assert!(finding.points.is_empty() && !reason.is_empty(), "{name}"),
            Class::Reproduced | Class::InPart(_) => {
                assert!(finding.points.iter().any(|point| point.ours.is_some()), "{name}");
                assert!(!finding.notes.is_empty(), "{name} says nothing of its differences");
            }
        }
        for point in &finding.points {
            let is_number = |value: Option<f64>| value.is_none_or(f64::is_finite);
            assert!(is_number(point.paper) && is_number(point.ours), "{name}: {point:?}");
        }
    }
    let report = html::report(&all, "fibula study all", "a machine", "2026-01-01").unwrap();
    let plotted = all.iter().filter(|each| each.finding.plot != fibula_papers::Plot::None).count();
    assert!(report.matches("<svg").count() >= plotted, "a plot is missing");
    // What a browser would fetch: the only addresses are the names of XML's vocabularies.
    let fetched = report.replace("http://www.w3.org/2000/svg", "");
    assert!(!fetched.contains("http") && !fetched.contains("<script") && !fetched.contains("<link"));
    for Reproduction { exhibit, .. } in &all {
        assert!(report.contains(&format!(">{}: {}<", exhibit.id, exhibit.title)), "{}", exhibit.id);
    }
}
