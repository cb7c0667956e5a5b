//! The report on the evidence of this tree, read as a browser reads it.

use fibula_kit::Evidence;
use fibula_papers::{Judged, PAPERS, html, judge_all};
use std::collections::HashMap;
use std::path::Path;

/// Returns the values of an attribute, in order.
fn values<'h>(html: &'h str, attribute: &str) -> Vec<&'h str> {
    let before = format!(" {attribute}=\"");
    html.split(&before).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Returns the text of HTML as it is shown, without its tags.
fn shown(html: &str) -> String {
    let text: String =
        html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn every_claim_is_there_once_and_every_link_leads_somewhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence");
    let read = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
    let evidence = PAPERS.map(|paper| Evidence::read(&read(paper.name)).unwrap());
    let report = html::report(&evidence).unwrap();

    let mut ids: HashMap<&str, usize> = HashMap::new();
    for id in values(&report, "id") {
        *ids.entry(id).or_default() += 1;
    }
    assert_eq!(ids.iter().find(|(_, count)| **count > 1), None);
    let links = values(&report, "href");
    assert!(links.len() > 200, "{} links", links.len());
    for link in links {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.contains_key(id)), "{link} leads nowhere");
    }
    let fetched = report.replace("http://www.w3.org/2000/svg", "");
    assert!(["http", "<script", "<link", " src=", "url("].iter().all(|text| !fetched.contains(text)));

    let articles: Vec<&str> = report.split("<article").skip(1).collect();
    let articles: Vec<&str> = articles.iter().filter_map(|text| text.split("</article>").next()).collect();
    let judged = judge_all(&evidence).unwrap();
    assert_eq!(articles.len(), judged.len());
    for (article, Judged { paper, claim, says, quote, verdict, reason, .. }) in articles.iter().zip(&judged) {
        assert_eq!(values(article, "id"), [format!("claim-{paper}-{claim}")]);
        let text = shown(article);
        for part in
            [*says, *quote, &verdict.to_string(), &reason.clone().unwrap_or_default().replace('`', "")]
        {
            assert!(text.contains(part), "{paper} {claim}: {part:?} is not in {text:?}");
        }
    }
    // A claim that several tables decide says so of each.
    let several = articles.iter().filter(|article| article.matches("<li>").count() > 1).count();
    assert!(several > 20, "{several} claims are told by table");
}
