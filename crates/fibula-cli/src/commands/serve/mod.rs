//! `fibula serve`: tables as a service by HTTP.
#![cfg_attr(not(feature = "serve"), allow(dead_code, reason = "without the feature nothing is served"))]

#[cfg(not(feature = "serve"))]
mod disabled;
#[cfg(feature = "serve")]
mod enabled;

#[cfg(not(feature = "serve"))]
use disabled::run;
#[cfg(feature = "serve")]
use enabled::run;

use crate::exit::Verdict;
use crate::feed::{Feed, PolicyName, Routers, percent};
use crate::reading::Reading;
use clap::Args;
use fibula_io::Bytes;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

/// Serve tables by HTTP: lookups, routes, differences, metrics
///
/// docs/serve.md lists what it answers, and so does /openapi.json. A table is read again when its
/// file is replaced, and on SIGHUP. Until the new one is ready the old one answers, and so it does
/// where the new file is refused: it cannot be read, or has lost too many routes. SIGTERM and
/// SIGINT end the service when all requests that have begun are answered.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A table or a snapshot with its routes, and how it is called; may be given several times
    #[arg(
        short,
        long = "table",
        required_unless_present = "follow",
        value_name = "[NAME=]FILE",
        value_parser = named
    )]
    tables: Vec<(String, PathBuf)>,
    /// A table that changes meanwhile: a file or a pipe of MRT or RIS Live messages, `-` for
    /// standard input; `ris-live:URL`, a server of RIS Live, RIPE's if the URL is missing or only
    /// its filters, as in `ris-live:?prefix=192.0.2.0/24`; `bmp:ADDRESS`, where routers connect,
    /// each of which has a table called by its address; `fpm:ADDRESS`, where FRR's zebra connects;
    /// `netlink` or `netlink:TABLE`, the kernel's routes. The last two have a table for each
    /// routing table: `main`, and `main-ID`. May be given several times
    #[arg(long, value_name = "[NAME=]FEED", value_parser = named_feed)]
    follow: Vec<(String, Feed)>,
    /// Which routes of a router: those that it has chosen, that its peers send, what its policy
    /// leaves of them, or what it sends; several with commas between them, each of which is a table
    /// of its own
    #[arg(long, value_enum, default_value = "own", value_delimiter = ',', value_name = "POLICIES")]
    policy: Vec<PolicyName>,
    #[command(flatten)]
    routers: Routers,
    /// Listen at this address; anyone who can connect to it may ask, unless there is a token
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR:PORT")]
    listen: SocketAddr,
    /// Validated ROA payloads, as rpki-client and Routinator write them: for /v1/rov, and for what
    /// RPKI says of each route
    #[arg(long, value_name = "FILE")]
    vrps: Option<PathBuf>,
    /// Names of ASes, which are told beside their numbers: RIPE's asn.txt, the CSV of bgp.tools, or
    /// other text of numbers and names
    #[arg(long, value_name = "FILE")]
    as_names: Option<PathBuf>,
    /// The socket of a router on this machine (`fibula router`), whose status /v1/router answers
    #[arg(long, value_name = "SOCKET")]
    router: Option<PathBuf>,
    /// A file whose first line is the token that requests must carry (`Authorization: Bearer`)
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A certificate's chain in PEM: serve by TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// An origin whose pages may ask, as in `https://looking.example`, or `*` for all; may be given
    /// several times
    #[arg(long, value_name = "ORIGIN")]
    cors: Vec<String>,
    /// A name that this service is called by, where it listens on loopback without a token: others
    /// than addresses and names without dots are refused; may be given several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// How often the files are looked at, as in 1s
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = duration)]
    poll: Duration,
    /// The part of its routes that a table may lose by a reload, in each family: more is refused,
    /// and the old table answers as stale. With 100%, a file without routes is taken too
    #[arg(long, default_value = "50%", value_name = "PERCENT", value_parser = percent)]
    shrink: u8,
    /// How long a newer file may take until it is read; then its table is called stale
    #[arg(long, default_value = "5m", value_name = "TIME", value_parser = duration)]
    max_read: Duration,
    /// How long routes stay that a feed has told before it was lost, and not again since
    #[arg(long, default_value = "1d", value_name = "TIME", value_parser = duration)]
    max_stale: Duration,
    /// The bytes that a request's body may have, as in 64M
    #[arg(long, default_value = "1G", value_name = "BYTES")]
    max_body: Bytes,
    /// The rows that an answer about a table may have
    #[arg(long, default_value = "100000", value_name = "COUNT")]
    max_rows: NonZero<usize>,
    /// The most connections, fewer if the limit of open files allows no more; a new one beyond
    /// that ends the one that has waited longest for its client
    #[arg(long, default_value = "1024", value_name = "COUNT")]
    max_connections: NonZero<usize>,
    /// The connections that one client may have, an IPv4 address or the /64 of an IPv6 address;
    /// without it, half of all
    #[arg(long, value_name = "COUNT")]
    max_per_client: Option<NonZero<usize>>,
    /// How long a request may take until its answer is complete
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = duration)]
    max_time: Duration,
    /// How long a connection may be idle, or send the head of a request
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = duration)]
    max_idle: Duration,
    #[command(flatten)]
    reading: Reading,
}

/// Reads a table's name and file. Without a name it is the file's, up to its first dot.
fn named(text: &str) -> Result<(String, PathBuf), String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
    };
    if let Some((name, file)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
        return Ok((name.to_owned(), file.into()));
    }
    let file = PathBuf::from(text);
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    if !is_name(name) {
        return Err("expected NAME=FILE, with a name of letters, digits, _, - and .".into());
    }
    Ok((name.to_owned(), file))
}

/// Reads what is followed, and the name of its table. Without a name it is the file's, `live` for
/// standard input, `ris-live`, and that of the routing table.
fn named_feed(text: &str) -> Result<(String, Feed), String> {
    match text.parse()? {
        Feed::Routes(origin) => Ok((origin.name(), Feed::Routes(origin))),
        feed @ Feed::RisLive(_) => Ok(("ris-live".into(), feed)),
        Feed::Input(_) if text != "-" => {
            let (name, path) = named(text)?;
            Ok((name, path.to_string_lossy().parse()?))
        }
        feed @ (Feed::Input(_) | Feed::Bmp(_)) => Ok(("live".into(), feed)),
    }
}

/// Reads a time that is not 0.
fn duration(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("expected more than no time".into()) } else { Ok(time) }
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        run(self)
    }
}
