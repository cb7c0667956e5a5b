//! All exhibits of all papers on small tables: each has values or a reason, and is in the report.

use fibula::{NextHop, Rib};
use fibula_engines::all;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_papers::{
    Coverage, Lab, Named, Options, PAPERS, Reproduction, Verdict, evidence, html, judge_all, reproduce,
};

/// Makes papers again from these tables, small.
fn reproductions(
    papers: &[&str],
    ipv4: Rib<u32>,
    ipv6: Option<Rib<u128>>,
    smaller: usize,
) -> Vec<Reproduction> {
    let options = Options { addresses: 1 << 12, passes: 1, updates: 2, smaller, ..Options::default() };
    let lab = Lab {
        engines: all(),
        ipv4: vec![Named { name: "small".into(), rib: ipv4 }],
        ipv6: ipv6.into_iter().map(|rib| Named { name: "small".into(), rib }).collect(),
        options,
    };
    let mut all = Vec::new();
    for paper in PAPERS.into_iter().filter(|paper| papers.contains(&paper.name)) {
        let each = |reproduction| -> Result<(), fibula_papers::Error> {
            all.push(reproduction);
            Ok(())
        };
        reproduce(paper, &lab, |_| true, each).unwrap();
    }
    all
}

#[test]
fn every_exhibit_has_values_or_a_reason_and_is_in_the_report() {
    let tables = internet(Size { ipv4: 10_000, ipv6: 2000 }, NextHopModel::Near(40), 1).unwrap();
    let papers = PAPERS.map(|paper| paper.name);
    let all = reproductions(&papers, tables.ipv4, Some(tables.ipv6), 100);
    for Reproduction { paper, exhibit, finding, .. } in &all {
        let name = format!("{}, {}", paper.name, exhibit.id);
        match &finding.coverage {
            Coverage::None(reason) => assert!(finding.points.is_empty() && !reason.is_empty(), "{name}"),
            Coverage::Whole | Coverage::Part(_) => {
                assert!(finding.points.iter().any(|point| point.ours.is_some()), "{name}");
                assert!(!finding.notes.is_empty(), "{name} says nothing of its differences");
            }
        }
        for point in &finding.points {
            let is_number = |value: Option<f64>| value.is_none_or(f64::is_finite);
            assert!(is_number(point.paper) && is_number(point.value()), "{name}: {point:?}");
        }
    }
    let report = html::report(&[evidence(&all, None).unwrap()]).unwrap();
    let plotted = all.iter().filter(|each| each.finding.plot != fibula_papers::Plot::None).count();
    assert!(report.matches("<svg").count() >= plotted, "a plot is missing");
    // What a browser would fetch: the only addresses are the names of XML's vocabularies.
    let fetched = report.replace("http://www.w3.org/2000/svg", "");
    assert!(!fetched.contains("http") && !fetched.contains("<script") && !fetched.contains("<link"));
    for Reproduction { exhibit, .. } in &all {
        assert!(report.contains(&format!(">{}: {}<", exhibit.id, exhibit.title)), "{}", exhibit.id);
    }
}

#[test]
fn a_table_of_three_routes_confirms_and_refutes_nothing() {
    let routes = [("0.0.0.0/0", 1), ("10.0.0.0/8", 2), ("10.1.2.0/24", 3)];
    let mut rib: Rib<u32> = Rib::new();
    for (prefix, next_hop) in routes {
        rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
    }
    // The exhibits of the others take tables of their own, or arrays of 64 MB each.
    let all = reproductions(&["dxr", "sail", "bloom"], rib, None, 1000);
    for claim in judge_all(&[evidence(&all, None).unwrap()]).unwrap() {
        let of_a_table = claim.basis.as_deref() == Some("measured");
        assert!(!of_a_table || claim.verdict == Verdict::NotTestableHere, "{claim:?}");
    }
    let lacks = |each: &&Reproduction| each.finding.coverage.reason() == Some("no IPv6 table given");
    assert!(all.iter().filter(lacks).count() >= 3, "exhibits without their table are left out");
}
