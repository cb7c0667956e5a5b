//! RIS Live: the messages of RIPE's route collectors as JSON, one a line, as events.
//!
//! ```text
//! {"type":"ris_message","data":{"timestamp":1568365292.84,"peer":"192.0.2.1","peer_asn":"64500",
//!  "type":"UPDATE","path":[64500,64501,[64502,64503]],"community":[[64500,100]],
//!  "announcements":[{"next_hop":"192.0.2.1","prefixes":["198.51.100.0/24"]}],
//!  "withdrawals":["203.0.113.0/24"]}}
//! ```
//!
//! A message of a peer that is neither UPDATE nor a change of its session's state has no events.
//! [RIPE's manual](https://ris-live.ripe.net/manual/) lists what a server and its clients send.

use crate::mrt::{self, AsPath, Details, Event, Path, Peer, Preference, Speaker, What, as_number};
use crate::scan::quoted;
use crate::update::unix_time;
use fibula::IpPrefix;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::net::IpAddr;
use std::sync::Arc;

/// One line.
#[derive(Deserialize)]
struct Line<'l> {
    #[serde(rename = "type")]
    kind: String,
    /// What it is depends on the type.
    #[serde(borrow)]
    data: Option<&'l RawValue>,
}

/// A message, by what it means for whoever follows routes.
#[derive(Debug)]
pub enum Message {
    /// The events of a peer, the withdrawals first.
    Events(Vec<Event>),
    /// A subscription is confirmed. It is one to messages of this type, if it names one.
    Subscribed(Option<String>),
    /// The server could not do what it was asked for, or not any more. The text says why.
    Failed(String),
    /// Any other message.
    Other,
}

#[derive(Deserialize)]
struct Data<'l> {
    /// Read as text, for a float has no exact microseconds.
    #[serde(borrow)]
    timestamp: &'l RawValue,
    peer: IpAddr,
    peer_asn: Number,
    #[serde(rename = "type")]
    kind: Option<String>,
    state: Option<String>,
    path: Option<Vec<Element>>,
    origin: Option<String>,
    med: Option<u32>,
    community: Option<Vec<[u32; 2]>>,
    announcements: Option<Vec<Announcement>>,
    withdrawals: Option<Vec<String>>,
}

/// What a server says of its own.
#[derive(Default, Deserialize)]
struct Control {
    /// Of `ris_error`.
    message: Option<String>,
    /// Of `ris_subscribe_ok`.
    subscription: Option<Subscription>,
}

#[derive(Deserialize)]
struct Subscription {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// A number, which RIS Live writes as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Text(String),
    Number(u32),
}

/// An element of an AS path; a list is a set.
#[derive(Deserialize)]
#[serde(untagged)]
enum Element {
    One(u32),
    Set(Vec<u32>),
}

#[derive(Deserialize)]
struct Announcement {
    next_hop: String,
    prefixes: Vec<String>,
}

/// Reads a message. `offset` is its line in a stream of lines, or its number on a connection: the
/// events have it.
///
/// # Errors
/// If the text is no message of RIS Live, or names what is no address or prefix.
pub fn read(text: &str, offset: u64) -> Result<Message, String> {
    let Line { kind, data } = serde_json::from_str(text).map_err(|error| wrong(&error))?;
    let control = || -> Result<Control, String> {
        let data = data.map(|data| serde_json::from_str(data.get()).map_err(|error| wrong(&error)));
        Ok(data.transpose()?.unwrap_or_default())
    };
    Ok(match (kind.as_str(), data) {
        ("ris_message", Some(data)) => {
            Message::Events(events(serde_json::from_str(data.get()).map_err(|error| wrong(&error))?, offset)?)
        }
        ("ris_subscribe_ok", _) => {
            Message::Subscribed(control()?.subscription.and_then(|subscription| subscription.kind))
        }
        ("ris_error", _) => Message::Failed(quoted(&control()?.message.unwrap_or_default())),
        _ => Message::Other,
    })
}

fn wrong(error: &serde_json::Error) -> String {
    format!("no message of RIS Live: {error}")
}

/// Returns the events of what a peer sent, the withdrawals first.
fn events(data: Data<'_>, offset: u64) -> Result<Vec<Event>, String> {
    let asn = match data.peer_asn {
        Number::Number(number) => number,
        Number::Text(text) => as_number(&text)?,
    };
    let time = unix_time(data.timestamp.get()).map_err(|_| "a timestamp that is no time")?;
    let peer = Peer { address: data.peer, asn };
    let speaker = Speaker::default();
    let event = |what| Event { offset, time, peer, speaker, multicast: false, what };
    // Asked for as the first, some servers send it as the second.
    if matches!(data.kind.as_deref(), Some("RIS_PEER_STATE" | "STATE")) {
        let is_up = data.state.as_deref() == Some("connected");
        let (from, to) = if is_up { (1, 6) } else { (6, 1) };
        return Ok(vec![event(What::State { from, to })]);
    }
    let elements = data.path.unwrap_or_default().into_iter().map(mrt::Element::from).collect();
    let as_path = AsPath { elements, ends_in_confederation: false };
    let (origin, length) = (as_path.origin(), as_path.length());
    let preference = Preference {
        local: None,
        origin: mrt::origin_code(data.origin.as_deref().unwrap_or_default()),
        exit: data.med.unwrap_or(0),
        neighbour: as_path.neighbour(),
    };
    let communities = data.community.unwrap_or_default();
    let communities = communities.iter().map(|[asn, value]| format!("{asn}:{value}")).collect();
    let details = Some(Arc::new(Details { as_path, communities }));
    let prefix = |text: &String| text.parse::<IpPrefix>().map_err(|error| error.to_string());
    let mut events = Vec::new();
    for text in data.withdrawals.iter().flatten() {
        events.push(event(What::Withdraw { prefix: prefix(text)?, path_id: None }));
    }
    for Announcement { next_hop, prefixes } in data.announcements.iter().flatten() {
        // An IPv6 next hop may have its link-local address after it.
        let first = next_hop.split(',').next().unwrap_or_default();
        let next_hop = first.parse().map_err(|_| format!("{} is no next hop", quoted(first)))?;
        let (next_hop, origin, details) = (Some(next_hop), origin.clone(), details.clone());
        let path = Path { next_hop, origin, length, preference, details };
        for text in prefixes {
            let (prefix, path) = (prefix(text)?, path.clone());
            events.push(event(What::Announce { prefix, path_id: None, path, dumped: None }));
        }
    }
    Ok(events)
}

impl From<Element> for mrt::Element {
    fn from(element: Element) -> Self {
        match element {
            Element::One(number) => Self::As(number),
            Element::Set(numbers) => Self::set(numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::mrt::Origin;
    use std::time::Duration;

    const MESSAGE: &str = r#"{"type":"ris_message","data":{"timestamp":1568365292.5,"peer":"192.0.2.1",
        "peer_asn":"64500","id":"x","host":"rrc21","type":"UPDATE","path":[64500,64501,[64502,64503]],
        "community":[[64500,100]],"origin":"igp",
        "announcements":[{"next_hop":"2001:db8::1,fe80::1","prefixes":["2001:db8:1::/48"]}],
        "withdrawals":["198.51.100.0/24"]}}"#;

    fn events(text: &str, offset: u64) -> Result<Vec<Event>, String> {
        match read(text, offset)? {
            Message::Events(events) => Ok(events),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_server_says_of_its_own_has_no_routes() {
        let read = |text| read(text, 0).unwrap();
        let confirmed =
            r#"{"type":"ris_subscribe_ok","data":{"subscription":{"host":"rrc00"},"socketOptions":{}}}"#;
        assert!(matches!(read(confirmed), Message::Subscribed(None)));
        let confirmed = confirmed.replace("host", "type");
        assert!(matches!(read(&confirmed), Message::Subscribed(Some(kind)) if kind == "rrc00"));
        assert!(matches!(read(r#"{"type":"ris_subscribe_ok"}"#), Message::Subscribed(None)));
        let failed = r#"{"type":"ris_error","data":{"message":"no\u001b[31m"}}"#;
        assert!(matches!(read(failed), Message::Failed(why) if why == r#""no\u{1b}[31m""#));
        for text in [
            r#"{"type":"ris_rrc_list","data":["rrc00"]}"#,
            r#"{"type":"pong","data":null}"#,
            r#"{"type":"ris_message"}"#,
        ] {
            assert!(matches!(read(text), Message::Other), "{text}");
        }
    }

    #[test]
    fn what_is_null_is_not_there() {
        let nulls = r#"{"type":"ris_message","data":{"timestamp":1.5,"peer":"2001:db8::1","peer_asn":"64500",
            "type":"UPDATE","path":null,"community":null,"announcements":null,"withdrawals":["10.0.0.0/8"]}}"#;
        assert!(matches!(events(nulls, 0).unwrap()[..], [Event { what: What::Withdraw { .. }, .. }]));
    }

    #[test]
    fn an_update_is_its_withdrawals_and_announcements() {
        let events = events(MESSAGE, 7).unwrap();
        let [gone, new] = &events[..] else { panic!("{events:?}") };
        assert_eq!((gone.peer.asn, gone.time), (64_500, Duration::from_millis(1_568_365_292_500)));
        assert!(
            matches!(&gone.what, What::Withdraw { prefix, .. } if prefix.to_string() == "198.51.100.0/24")
        );
        let What::Announce { prefix, path, .. } = &new.what else { panic!("{new:?}") };
        assert_eq!(prefix.to_string(), "2001:db8:1::/48");
        assert_eq!(path.next_hop, Some("2001:db8::1".parse().unwrap()));
        assert_eq!((&path.origin, path.length), (&Origin::Set([64_502, 64_503].into()), 3));
    }

    #[test]
    fn sessions_have_states_and_what_is_wrong_is_said() {
        for kind in ["RIS_PEER_STATE", "STATE"] {
            let state = MESSAGE.replace("\"UPDATE\"", &format!("\"{kind}\",\"state\":\"down\""));
            assert!(matches!(
                events(&state, 0).unwrap()[..],
                [Event { what: What::State { from: 6, to: 1 }, .. }]
            ));
        }
        assert!(events("{", 0).unwrap_err().starts_with("no message of RIS Live: "));
        let wrong = MESSAGE.replace("198.51.100.0/24", "198.51.100.1/24");
        assert_eq!(
            events(&wrong, 0).unwrap_err(),
            "198.51.100.1/24 has bits set after its length (host bits)"
        );
        assert!(events(&MESSAGE.replace("1568365292.5", "-1"), 0).is_err());
    }
}
