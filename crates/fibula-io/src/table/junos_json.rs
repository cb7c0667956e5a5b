//! Junos's `show route | display json`, brief or with details: what [`junos`](super::junos) reads,
//! as JSON. Each word of it is a list of one object, whose `data` it is.

use super::builder::Builder;
use super::hops::Hop;
use super::junos::{HEADINGS, STATES, choice, name_of, origin_as, path};
use super::layouts::{Layout, Looks, Reader};
use super::router::marks::{State, nowhere, unknown, whole};
use super::router::sink::{Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::Words;
use super::{ReadOptions, json};
use crate::mrt::Origin;
use crate::scan::{self, utf8};
use crate::{Damage, Place};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(|value| {
        let information = value.get("route-information").map(json::first);
        information.is_some_and(|information| information.get("route-table").is_some())
    }),
    reader: Reader::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// What else Junos tells of a route and of its next hops, and changes nothing of where packets go.
#[rustfmt::skip]
pub(super) const IDLE: [&str; 50] = [
    "age", "announce-bits", "announce-tasks", "attributes", "bgp-path-attributes", "bgp-rt-flag",
    "bgp-rt-mult-nh-idx", "bgp-tunnel-attribute", "color", "color2", "comment", "communities", "current-active",
    "gateway", "inactive-reason", "last-active", "local-as", "local-preference", "mac-route-esi", "med", "metric",
    "metric2", "mpls-label", "nh-index", "nh-string", "nhh", "overlay-gateway-address", "peer-as", "peer-id", "pmsi",
    "preference", "preference2", "protocol-name", "protocol-nh", "route-distinguisher", "route-label",
    "rt-announced-count", "rt-entry-count", "rt-entry-state", "rt-evpn-esi", "rt-state", "rt-tag", "rt-tag2",
    "rtrib-primary", "rtrib-secondary", "session", "task-name", "thread-name", "validation-state", "weight",
];

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Document<'t> {
    #[serde(borrow)]
    route_information: Vec<Information<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Information<'t> {
    #[serde(default, borrow)]
    route_table: Vec<Table<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Table<'t> {
    #[serde(borrow)]
    table_name: Word<'t>,
    #[serde(default, borrow)]
    rt: Vec<&'t RawValue>,
}

/// `[{"data":"text"}]`, or `[{}]`.
#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Word<'t>(#[serde(borrow)] Vec<Data<'t>>);

#[derive(Deserialize)]
struct Data<'t> {
    #[serde(borrow)]
    data: Option<Cow<'t, str>>,
}

impl Word<'_> {
    fn text(&self) -> &str {
        self.0.first().and_then(|word| word.data.as_deref()).unwrap_or_default()
    }

    fn address(&self) -> Option<IpAddr> {
        self.text().parse().ok()
    }

    fn filled(&self) -> Option<&str> {
        Some(self.text()).filter(|text| !text.is_empty())
    }
}

/// A prefix and its routes.
#[derive(Deserialize)]
struct Destination<'t> {
    #[serde(borrow, rename = "rt-destination")]
    prefix: Word<'t>,
    /// Where the prefix is without.
    #[serde(default, borrow, rename = "rt-prefix-length")]
    len: Word<'t>,
    #[serde(default, borrow, rename = "rt-entry")]
    entries: Vec<Entry<'t>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry<'t> {
    #[serde(default, borrow)]
    active_tag: Word<'t>,
    #[serde(default, borrow)]
    nh_type: Word<'t>,
    #[serde(default, borrow)]
    nh: Vec<NextHop<'t>>,
    /// Of a route to the router itself.
    #[serde(default, borrow)]
    nh_local_interface: Word<'t>,
    #[serde(default, borrow)]
    as_path: Word<'t>,
    #[serde(default, borrow)]
    learned_from: Word<'t>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct NextHop<'t> {
    #[serde(default, borrow)]
    to: Word<'t>,
    #[serde(default, borrow)]
    via: Word<'t>,
    #[serde(default, borrow)]
    nh_local_interface: Word<'t>,
    #[serde(default, borrow)]
    nh_table: Word<'t>,
    #[serde(rename = "selected-next-hop")]
    selected: Option<IgnoredAny>,
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut sink = Sink::new(options, choice(options));
    sink.tells_origins = true;
    let mut first = None;
    // The documents of several commands, and prompts after them.
    let mut documents = serde_json::Deserializer::from_slice(text).into_iter::<Document<'_>>();
    loop {
        let rest = &text[documents.byte_offset()..];
        let document = match documents.next() {
            None => break,
            Some(Err(_)) if rest.len() < text.len() && scan::lines(rest).all(|(_, line)| is_aside(line)) => {
                break;
            }
            Some(Err(error)) => {
                let what = format!("expected the JSON of Junos: {error}");
                builder.damaged(Damage::line(error.line() as u64, what))?;
                break;
            }
            Some(Ok(document)) => document,
        };
        for table in document.route_information.iter().flat_map(|information| &information.route_table) {
            let name = table.table_name.text();
            sink.titled(name_of(name, options), &format!("table {name}"));
            for content in &table.rt {
                let part = (text, content.get());
                match routes(content.get(), options) {
                    Err(what) => json::offer(&mut sink, &mut first, part, Err(what)),
                    Ok(routes) => {
                        for route in routes {
                            json::offer(&mut sink, &mut first, part, Ok(route));
                        }
                    }
                }
                sink.beside(Place::Line(1), builder)?;
            }
        }
    }
    sink.finish(builder)
}

/// Returns whether a line says nothing of routes.
fn is_aside(line: &[u8]) -> bool {
    let Ok(line) = utf8(line.trim_ascii()) else { return false };
    line.is_empty() || is_prompt(line) || whole(Words::new(line), HEADINGS).is_some()
}

/// Returns the routes of a prefix.
fn routes(content: &str, options: &ReadOptions) -> Result<Vec<Route>, String> {
    let (destination, name): (Destination<'_>, _) =
        json::with_names(content, &IDLE).map_err(|error| error.to_string())?;
    if let Some(name) = name {
        return Err(unknown(&name));
    }
    let Destination { prefix, len, entries } = destination;
    let prefix = match len.filled() {
        None => Cow::Borrowed(prefix.text()),
        Some(len) => format!("{}/{len}", prefix.text()).into(),
    };
    let prefix = scan::prefix(prefix.as_bytes(), options.mask_host_bits)?;
    let route = |entry: &Entry<'_>| {
        let mut route = Route::new(Place::Line(1), prefix);
        let tag = entry.active_tag.text();
        let state = STATES.iter().find(|(known, _)| *known == tag).ok_or_else(|| unknown(tag))?;
        route.state = state.1;
        let text = entry.as_path.text().lines().next().unwrap_or_default();
        let text = text.strip_prefix("AS path:").unwrap_or(text);
        if !text.is_empty() {
            route.origin = Some(path(Words::new(text))?).filter(|from| *from != Origin::Local).map(origin_as);
        }
        route.peer = Hop::through(entry.learned_from.address(), None, None).map(|hop| hop.info);
        let kind = entry.nh_type.text();
        match nowhere(kind) {
            Some(value) => route.hops.push((Hop::nowhere(value), State::Used)),
            None if entry.nh.is_empty() && kind == "Local" => {
                let device = entry.nh_local_interface.filled();
                route
                    .hops
                    .push((Hop::through(None, device, None).unwrap_or_else(Hop::connected), State::Used));
            }
            None if !matches!(kind, "" | "Local" | "Router" | "Indirect" | "Interface") => {
                return Err(unknown(kind));
            }
            None => {}
        }
        for hop in &entry.nh {
            let device = hop.via.filled().or(hop.nh_local_interface.filled());
            let found = match hop.nh_table.filled() {
                Some(table) => Some(Hop::nowhere(&format!("next-table {table}"))),
                None => Hop::through(hop.to.address(), device, None),
            };
            let found = (found.ok_or("next hop without an address and an interface")?, State::Used);
            let at = if hop.selected.is_some() { 0 } else { route.hops.len() };
            route.hops.insert(at, found);
        }
        Ok(route)
    };
    entries.iter().map(route).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, Value, parse};

    /// One word, as Junos writes it.
    fn word(name: &str, text: &str) -> String {
        format!(r#""{name}":[{{"data":"{text}"}}]"#)
    }

    fn table(name: &str, destinations: &[(&str, &[&str])]) -> String {
        let rt = destinations.iter().map(|(prefix, entries)| {
            let entries: Vec<String> = entries.iter().map(|fields| format!("{{{fields}}}")).collect();
            format!(r#"{{{},"rt-entry":[{}]}}"#, word("rt-destination", prefix), entries.join(","))
        });
        let rt: Vec<String> = rt.collect();
        format!(
            r#"{{"comment":"keepalive",{},"hidden-route-count":[{{"data":"0"}}],"rt":[{}]}}"#,
            word("table-name", name),
            rt.join(",\n")
        )
    }

    fn document() -> String {
        let selected = r#""selected-next-hop":[{"data":[null]}]"#;
        let hop = |to: &str, via: &str| format!("{},{}", word("to", to), word("via", via));
        let bgp = format!(
            r#"{},{},{},{},"nh":[{{{}}},{{{selected},{}}}]"#,
            word("active-tag", "*"),
            word("protocol-name", "BGP"),
            word("as-path", "64501 64502 I"),
            word("learned-from", "192.0.2.2"),
            hop("192.0.2.3", "ge-0/0/2.0"),
            hop("192.0.2.2", "ge-0/0/1.0"),
        );
        let other = format!(
            r#""active-tag":[{{}}],{},"nh":[{{{}}}]"#,
            word("as-path", "64503 I"),
            hop("192.0.2.9", "ge-0/0/9.0")
        );
        let discard = format!("{},{}", word("active-tag", "*"), word("nh-type", "Discard"));
        let local = format!(
            r#"{},{},"nh":[{{{}}}]"#,
            word("active-tag", "*"),
            word("nh-type", "Local"),
            word("nh-local-interface", "lo0.0")
        );
        let to_table =
            format!(r#"{},"nh":[{{{}}}]"#, word("active-tag", "*"), word("nh-table", "red.inet.0"));
        let inet = table(
            "inet.0",
            &[
                ("10.0.0.0/8", &[&bgp, &other]),
                ("10.1.0.0/16", &[&discard]),
                ("10.2.0.0/16", &[&other]),
                ("10.3.0.0/16", &[&to_table]),
                ("192.0.2.1/32", &[&local]),
            ],
        );
        let red = format!(r#"{},"nh":[{{{}}}]"#, word("active-tag", "*"), hop("192.0.2.77", "ge-0/0/7.0"));
        let red = table("red.inet.0", &[("10.9.0.0/16", &[&red])]);
        let labels = table("mpls.0", &[("299776", &[&discard])]);
        format!(r#"{{"route-information":[{{"attributes":{{}},"route-table":[{inet},{red},{labels}]}}]}}"#)
    }

    #[test]
    fn what_the_text_says_too() {
        let text = document();
        let of = |options: &ReadOptions| parse(text.as_bytes(), options).unwrap();
        let loaded = of(&ReadOptions::default());
        assert_eq!(loaded.format, Format::JunosJson);
        let expected = [
            "10.0.0.0/8 192.0.2.2 dev ge-0/0/1.0",
            "10.1.0.0/16 blackhole",
            "10.3.0.0/16 next-table red.inet.0",
            "192.0.2.1/32 dev lo0.0",
        ];
        assert_eq!(routes(&loaded), expected);
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        let further = "next hop after the first (--value next-hops keeps all)";
        let unread = "line of table mpls.0 that is not understood";
        assert_eq!(notes, ["prefix without a selected route", further, "route of table red.inet.0", unread]);
        let of_value = |value| routes(&of(&ReadOptions { value, ..Default::default() }));
        assert_eq!(of_value(Value::OriginAs), ["10.0.0.0/8 64502"]);
        assert_eq!(of_value(Value::Origins), ["10.0.0.0/8 [64502,64503]", "10.2.0.0/16 [64503]"]);
        assert_eq!(of_value(Value::Peer), ["10.0.0.0/8 192.0.2.2"]);
        let red = of(&ReadOptions { vrf: Some("red".into()), ..Default::default() });
        assert_eq!(routes(&red), ["10.9.0.0/16 192.0.2.77 dev ge-0/0/7.0"]);
        let prompts = parse(format!("{text}\n\n{{master:0}}\n").as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(routes(&prompts), expected);
        let odd =
            parse(format!("{text}\nnovel\n").as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
        assert!(odd.starts_with("memory, line 6: expected the JSON of Junos: "), "{odd}");
    }

    #[test]
    fn what_is_not_known_is_told() {
        for (known, novel) in [
            ("\"protocol-name\"", "\"novel\""),
            ("Discard", "novel"),
            ("\"data\":\"*\"", "\"data\":\"novel\""),
        ] {
            let loaded =
                parse(document().replacen(known, novel, 1).as_bytes(), &ReadOptions::default()).unwrap();
            let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
            assert!(notes.contains(&"unknown mark \"novel\""), "{known}: {notes:?}");
            assert_eq!(routes(&loaded).len(), 3, "{known}");
        }
    }
}
