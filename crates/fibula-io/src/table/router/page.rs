//! The part of docs/tables.md on routers' text, made from the layouts' own lists.

use super::super::grid::GRIDS;
use super::super::show_route::grammar::{DIALECTS, GRAMMAR};
use super::super::testing::part_of_page;
use super::super::{bird, eos_json, frr, ip_route, junos, junos_json, routeros, show_bgp, sros_json};
use super::marks::{Grammar, Mark, State};
use std::fmt::Write;

/// What a layout does with its marks: uses them, leaves something out for them, passes over them.
#[derive(Default)]
struct Marks {
    used: Vec<String>,
    left_out: Vec<(String, &'static str)>,
    idle: Vec<String>,
}

impl Marks {
    fn of(grammar: &Grammar) -> Self {
        let mut marks = Self::default();
        for (mark, phrases) in grammar {
            for phrase in *phrases {
                let text = code(phrase);
                match mark {
                    Mark::Nothing | Mark::Marked | Mark::OfVrf => marks.idle.push(text),
                    Mark::Is(state) => marks.state(text, state.of_hop()),
                    Mark::Route(state) => marks.state(text, state.of_route()),
                    _ => marks.used.push(text),
                }
            }
        }
        marks
    }

    fn state(&mut self, text: String, why: Option<&'static str>) {
        match why {
            Some(why) => self.left_out.push((text, why)),
            None => self.used.push(text),
        }
    }

    fn write(&self, out: &mut String, title: &str) {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (text, why) in &self.left_out {
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, texts)) => texts.push(text),
                None => reasons.push((why, vec![text])),
            }
        }
        let left_out = reasons.iter().map(|(why, texts)| format!("{}: {why}", texts.join(", ")));
        let _ = writeln!(out, "\n**{title}**\n");
        for (what, items, joint) in [
            ("used", self.used.clone(), ", "),
            ("left out", left_out.collect(), "; "),
            ("without effect", self.idle.clone(), ", "),
        ] {
            if !items.is_empty() {
                let _ = writeln!(out, "{}", wrapped(&format!("- {what}: {}", items.join(joint))));
            }
        }
    }
}

/// Returns a phrase as code, its groups and commas as they are written.
fn code(phrase: &str) -> String {
    let text = phrase.trim_start_matches('^').replace('_', " ").replace(" ,", ",");
    format!("`{}`", text.replace('|', "\\|"))
}

/// Breaks a line at 120 columns.
fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > 118 {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out
}

fn page() -> String {
    let mut out = String::new();
    Marks::of(GRAMMAR).write(&mut out, "`show-route`: what follows a prefix");
    for dialect in &DIALECTS {
        let mut marks = Marks::default();
        for (mark, state) in dialect.marks {
            marks.state(code(&mark.to_string()), state.of_hop());
        }
        for (mark, state) in dialect.codes {
            marks.state(code(mark), state.of_route());
        }
        let (route, hop) = dialect.unmarked;
        marks.state("a route that is not marked `>`".to_owned(), route.of_route());
        marks.state("a next hop without a mark".to_owned(), hop.of_hop());
        marks.used.retain(|text| !text.starts_with("a "));
        marks.write(&mut out, &format!("`show-route`: codes and marks of {}", dialect.programs));
    }
    let mut fields = Marks::default();
    for (name, field) in ip_route::FIELDS {
        use ip_route::Field;
        let code = |name: &str| format!("`{name}`");
        match field {
            Field::Value | Field::Flag => fields.idle.push(code(name)),
            Field::From | Field::Tos => {
                fields.left_out.push((code(name), State::Conditional.of_route().unwrap_or_default()));
            }
            Field::Dead => fields.left_out.push((code(name), State::Dead.of_hop().unwrap_or_default())),
            Field::Encap => {
                let kinds = ip_route::ENCAPSULATIONS.map(|(kind, _)| format!("`{kind}`")).join(", ");
                fields.idle.push(format!("`encap` of {kinds} with its own fields"));
            }
            _ => fields.used.push(code(name)),
        }
    }
    fields.write(&mut out, "`ip-route` and `ip-json`: fields");
    let mut bird_marks = Marks::of(bird::HOP);
    let marks = Marks::of(bird::MARKS);
    bird_marks.used.extend(marks.used);
    bird_marks.left_out.extend(marks.left_out);
    bird_marks.left_out.push(("`from PREFIX`".to_owned(), State::Conditional.of_route().unwrap_or_default()));
    bird_marks.idle.extend(marks.idle);
    bird_marks.idle.push(format!("attributes: {}", bird::ATTRIBUTES.map(code).join(", ")));
    bird_marks.write(&mut out, "`bird`: next hops and marks");
    let mut junos_marks = Marks::of(junos::GRAMMAR);
    for (mark, state) in junos::STATES {
        let text = if mark.is_empty() { "a route without a mark".to_owned() } else { code(mark) };
        junos_marks.state(text, state.of_route());
    }
    junos_marks.write(&mut out, "`junos`: next hops and marks");
    for (format, names) in [
        ("frr", &frr::IDLE[..]),
        ("eos-json", &eos_json::IDLE),
        ("junos-json", &junos_json::IDLE),
        ("sros-json", &sros_json::IDLE),
    ] {
        let idle = names.iter().map(|name| code(name)).collect();
        Marks { idle, ..Marks::default() }.write(&mut out, &format!("`{format}`: names"));
    }
    let refused = State::Uninstalled.of_route().unwrap_or_default();
    let bgp = Marks {
        used: vec!["`>`".to_owned()],
        left_out: vec![("`r` before it".to_owned(), refused), ("`#`".to_owned(), refused)],
        idle: vec![format!("`{}`", show_bgp::MARKS.replace(['>', 'r', '#'], "").replace('|', "\\|"))],
    };
    bgp.write(&mut out, "`show-bgp`: marks");
    for grid in &GRIDS {
        let mut marks = Marks::default();
        for (flag, mark) in grid.flags {
            match mark {
                Mark::Route(state) => marks.state(code(flag), state.of_route()),
                _ => marks.used.push(code(flag)),
            }
        }
        marks.used.extend(grid.gateways.iter().map(|(word, _)| code(word)));
        if let Some(why) = grid.unmarked.of_route() {
            marks.left_out.push(("a route without the first flag".to_owned(), why));
        }
        if !grid.idle.is_empty() {
            marks.idle.push(code(grid.idle));
        }
        let format = if grid.is_of_kernel { "netstat" } else { "route-columns" };
        marks.write(&mut out, &format!("`{format}`: {}", grid.program));
    }
    let mut router_os = Marks { used: routeros::USED.map(code).to_vec(), ..Marks::default() };
    let why = State::Candidate.of_route().unwrap_or_default();
    router_os.left_out.push(("an entry without the flag `A`".to_owned(), why));
    router_os.idle.push(code(routeros::IDLE_FLAGS));
    router_os.idle.extend(routeros::IDLE.map(code));
    router_os.write(&mut out, "`routeros`: fields and flags");
    out
}

#[test]
fn the_page_has_the_layouts_own_marks() {
    part_of_page("router::page", &(page() + "\n"));
}
