//! The client: it subscribes, asks a silent server whether it is still there, and reads messages.

use super::Listener;
use anyhow::{Context, anyhow, bail};
use fibula::IpPrefix;
use fibula_io::blocks::LINE_BYTES_MAX;
use fibula_io::ris_live::{Message, read};
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::convert::Infallible;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tungstenite::handshake::HandshakeError;
use tungstenite::http::Uri;
use tungstenite::protocol::{Message as Frame, WebSocketConfig};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Error, WebSocket, client_tls_with_config};

/// RIPE's server.
const SERVER: &str = "wss://ris-live.ripe.net/v1/ws/";

/// How this program calls itself, unless the URL has another `client`.
const CLIENT: &str = "fibula";

/// How long a server may take for a whole message, or be silent although it is asked.
const PATIENCE: Duration = Duration::from_mins(1);

/// The filters that only concern updates: a session's state has neither prefix nor path.
const OF_UPDATES: [&str; 4] = ["path", "prefix", "moreSpecific", "lessSpecific"];

/// What a server is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    url: Uri,
    /// Which messages, as `ris_subscribe` has it.
    filters: Map<String, Value>,
}

impl Subscription {
    /// Reads a URL, of which the parameters but `client` are filters. Without one, or if it begins
    /// with `?`, it is that of RIPE's server.
    ///
    /// # Errors
    /// If it is no URL of a websocket, or a filter is none.
    pub(in super::super) fn parse(text: &str) -> Result<Self, String> {
        let expected = || format!("{text:?} is no URL of a websocket: expected one as {SERVER}?host=rrc00");
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let base = if base.is_empty() { SERVER } else { base };
        let (mut client, mut filters) = (CLIENT.to_owned(), Map::new());
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if name == "client" {
                client = value.into_owned();
                continue;
            }
            let value = filter(&name, &value).map_err(|what| format!("{name}={value}: {what}"))?;
            match (filters.get_mut(&*name), value) {
                (None, value) => drop(filters.insert(name.into_owned(), value)),
                (Some(Value::Array(all)), Value::Array(more)) => all.extend(more),
                (Some(_), _) => return Err(format!("{name} is given twice")),
            }
        }
        let client: String = form_urlencoded::byte_serialize(client.as_bytes()).collect();
        // Without a path its root is asked for.
        let path =
            if base.split_once("://").is_some_and(|(_, place)| place.contains('/')) { "" } else { "/" };
        let url: Uri = format!("{base}{path}?client={client}").parse().map_err(|_| expected())?;
        let is_one = matches!(url.scheme_str(), Some("ws" | "wss")) && url.host().is_some();
        if is_one { Ok(Self { url, filters }) } else { Err(expected()) }
    }

    /// Returns the messages that subscribe: to the states of sessions first, for a session that
    /// ends withdraws its routes, then to updates. Messages of other types have no routes.
    fn requests(&self) -> [String; 2] {
        ["RIS_PEER_STATE", UPDATE].map(|kind| {
            let mut data = self.filters.clone();
            if kind != UPDATE {
                data.retain(|name, _| !OF_UPDATES.contains(&name.as_str()));
            }
            data.insert("type".into(), kind.into());
            data.insert("socketOptions".into(), json!({ "acknowledge": true }));
            json!({ "type": "ris_subscribe", "data": data }).to_string()
        })
    }
}

/// The type of the messages that have routes.
const UPDATE: &str = "UPDATE";

/// Reads a filter. Of several prefixes a message has one.
fn filter(name: &str, value: &str) -> Result<Value, String> {
    match name {
        "host" | "path" => Ok(value.into()),
        "peer" => {
            let peer: IpAddr = value.parse().map_err(|_| "expected an address")?;
            Ok(peer.to_string().into())
        }
        "prefix" => {
            let prefix: IpPrefix = value.parse().map_err(|error: fibula::Error| error.to_string())?;
            Ok(vec![prefix.to_string()].into())
        }
        "moreSpecific" | "lessSpecific" => {
            Ok(value.parse::<bool>().map_err(|_| "expected true or false")?.into())
        }
        _ => Err("expected client, host, peer, path, prefix, moreSpecific or lessSpecific".into()),
    }
}

/// Follows a server until the connection is lost, or the server says that something is wrong.
pub(crate) fn follow(
    subscription: &Subscription,
    listener: &mut impl Listener,
) -> anyhow::Result<Infallible> {
    follow_for(subscription, PATIENCE, listener)
}

fn follow_for(
    subscription: &Subscription,
    patience: Duration,
    listener: &mut impl Listener,
) -> anyhow::Result<Infallible> {
    let heard = Rc::new(Cell::new(Instant::now()));
    let mut socket = connect(&subscription.url, patience, &heard)?;
    for request in subscription.requests() {
        socket.send(Frame::text(request))?;
    }
    let mut number = 0;
    loop {
        let frame = match socket.read() {
            Err(Error::Io(error)) if is_timeout(&error) => {
                if heard.get().elapsed() >= patience {
                    bail!("no whole message came within {} seconds", patience.as_secs());
                }
                socket.send(Frame::Ping(Vec::new().into())).context("cannot be asked")?;
                continue;
            }
            frame => frame?,
        };
        heard.set(Instant::now());
        let text = match &frame {
            Frame::Text(text) => text.as_str(),
            Frame::Close(None) => bail!("the server has closed the connection"),
            Frame::Close(Some(why)) => {
                bail!("the server has closed the connection: {} {:?}", why.code, why.reason.as_str())
            }
            Frame::Binary(_) => "",
            Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_) => continue,
        };
        number += 1;
        match read(text, number) {
            Ok(Message::Events(events)) => {
                for event in &events {
                    if let Some(excess) = listener.event(None, event)? {
                        bail!("{excess}");
                    }
                }
            }
            Ok(Message::Subscribed(kind)) if kind.as_deref().is_none_or(|kind| kind == UPDATE) => {
                listener.subscribed();
            }
            Ok(Message::Subscribed(_) | Message::Other) => {}
            Ok(Message::Failed(why)) => bail!("the server says: {why}"),
            Err(what) => listener.bad(&format!("message {number}: {what}")),
        }
    }
}

/// A connection with a limit to what a message may take.
struct Timed {
    stream: TcpStream,
    patience: Duration,
    /// When the last message was whole.
    heard: Rc<Cell<Instant>>,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A message may come in parts for ever.
        if self.heard.get().elapsed() >= self.patience {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Connects to a server, by TLS if its URL says so.
fn connect(
    url: &Uri,
    patience: Duration,
    heard: &Rc<Cell<Instant>>,
) -> anyhow::Result<WebSocket<MaybeTlsStream<Timed>>> {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("wss") { 443 } else { 80 });
    let place = format!("{host}:{port}");
    let stream = connect_to(&place, patience).with_context(|| format!("cannot connect to {place}"))?;
    // Asked after half of the patience, the server has the other half to answer.
    stream.set_read_timeout(Some(patience / 2))?;
    stream.set_write_timeout(Some(patience))?;
    let timed = Timed { stream, patience, heard: Rc::clone(heard) };
    let most = Some(LINE_BYTES_MAX);
    let config = WebSocketConfig::default().max_message_size(most).max_frame_size(most);
    let opened = client_tls_with_config(url, timed, Some(config), None);
    opened.map(|(socket, _)| socket).map_err(|error| match error {
        HandshakeError::Interrupted(_) => anyhow!("{place}: no answer within {} seconds", patience.as_secs()),
        HandshakeError::Failure(error) => anyhow!("{place}: {error}"),
    })
}

/// Connects to the first address of a host that answers.
fn connect_to(place: &str, patience: Duration) -> io::Result<TcpStream> {
    let mut last = None;
    for address in place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(ErrorKind::NotFound, "the name has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed;
    use fibula_io::follow::Excess;
    use fibula_io::mrt::Event;
    use std::net::TcpListener;
    use std::thread;

    /// Counts what it is told.
    #[derive(Default)]
    struct Counting {
        events: usize,
    }

    impl feed::Listener for Counting {
        fn charge(&mut self, _: &str, _: &str) {
            unreachable!("no router has connected")
        }

        fn event(&mut self, _router: Option<&str>, _event: &Event) -> anyhow::Result<Option<Excess>> {
            self.events += 1;
            Ok(None)
        }

        fn lose(&mut self, _router: &str) -> usize {
            0
        }

        fn forget(&mut self, _router: &str) -> usize {
            0
        }
    }

    impl Listener for Counting {
        fn subscribed(&mut self) {}

        fn bad(&mut self, what: &str) {
            panic!("{what}");
        }
    }

    fn parse(text: &str) -> Result<(String, String), String> {
        let subscription = Subscription::parse(text)?;
        Ok((subscription.url.to_string(), Value::from(subscription.filters).to_string()))
    }

    #[test]
    fn a_url_has_a_client_and_filters() {
        let of = |url: &str, filters: &str| Ok((url.to_owned(), filters.to_owned()));
        assert_eq!(parse(""), of("wss://ris-live.ripe.net/v1/ws/?client=fibula", "{}"));
        assert_eq!(parse("?client=a%20b"), of("wss://ris-live.ripe.net/v1/ws/?client=a+b", "{}"));
        assert_eq!(parse("ws://localhost"), of("ws://localhost/?client=fibula", "{}"));
        assert_eq!(
            parse("ws://[::1]:8080/?peer=2001:DB8::1&lessSpecific=false&prefix=10.0.0.0/8&host=rrc00"),
            of(
                "ws://[::1]:8080/?client=fibula",
                r#"{"peer":"2001:db8::1","lessSpecific":false,"prefix":["10.0.0.0/8"],"host":"rrc00"}"#
            )
        );
        for (text, what) in [
            ("http://ris-live.ripe.net/", r#""http://ris-live.ripe.net/" is no URL of a websocket"#),
            ("rrc00", r#""rrc00" is no URL of a websocket"#),
            ("?prefix=10.0.0.1/8", "prefix=10.0.0.1/8: 10.0.0.1/8 has bits set after its length"),
            ("?peer=AS1", "peer=AS1: expected an address"),
            ("?moreSpecific=yes", "moreSpecific=yes: expected true or false"),
            ("?host=rrc00&host=rrc01", "host is given twice"),
            ("?require=withdrawals", "require=withdrawals: expected client, host, peer, path, prefix,"),
        ] {
            let told = parse(text).unwrap_err();
            assert!(told.starts_with(what), "{told}");
        }
    }

    /// Follows a server with little patience. Returns why that ended.
    fn follow_one(serve: impl FnOnce(TcpStream) + Send) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("ws://{}/", listener.local_addr().unwrap());
        let subscription = Subscription::parse(&url).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || serve(listener.accept().unwrap().0));
            let patience = Duration::from_millis(200);
            let ended = follow_for(&subscription, patience, &mut Counting::default());
            ended.map(|never| match never {}).unwrap_err().to_string()
        })
    }

    #[test]
    fn a_silent_server_is_asked_and_then_left() {
        let told = follow_one(|stream| {
            let mut socket = tungstenite::accept(stream).unwrap();
            // What is asked is answered while this reads.
            let mut asked = 0;
            while asked < 5 {
                asked += usize::from(matches!(socket.read().unwrap(), Frame::Ping(_)));
            }
            // From now on nothing is, until the client has gone.
            let _ = socket.get_mut().read_to_end(&mut Vec::new());
        });
        assert!(told.starts_with("no whole message came within "), "{told}");
    }

    #[test]
    fn a_message_that_does_not_end_is_not_waited_for() {
        let told = follow_one(|stream| {
            let mut socket = tungstenite::accept(stream).unwrap();
            // The head of a text of 65,535 bytes, and then one after the other.
            let stream = socket.get_mut();
            let mut part: &[u8] = &[0x81, 126, 0xFF, 0xFF];
            while stream.write_all(part).is_ok() {
                part = b"x";
                thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(told.starts_with("no whole message came within "), "{told}");
    }

    #[test]
    fn who_does_not_answer_at_all_is_left() {
        let told = follow_one(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
        assert!(told.contains("no answer within "), "{told}");
    }
}
