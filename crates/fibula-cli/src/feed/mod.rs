//! What tells of changes while a command runs: a file or a pipe, routers that speak BMP, a server
//! of RIS Live, zebra or the kernel.

pub(crate) mod ris_live;
pub(crate) mod routes;

use crate::exit::{Verdict, tell};
use crate::reading::Reading;
use anyhow::{Context, anyhow, bail};
use clap::{Args, ValueEnum};
use fibula::IpPrefix;
use fibula_io::blocks::{Block, Blocks};
use fibula_io::follow::Excess;
use fibula_io::mrt::bmp::{Policy, SESSIONS_MAX, Station, Told, View, Vrf};
use fibula_io::mrt::{Event, Events, looks_like};
use fibula_io::ris_live::{Message, read};
use fibula_io::{Damage, Kind, Source};
use ris_live::Subscription;
use routes::Origin;
use std::collections::{HashSet, VecDeque};
use std::io::Read;
use std::net::IpAddr;
use std::str::FromStr;

/// [`Policy`] on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// The router's own table (Loc-RIB, RFC 9069) where it tells that, else as pre
    #[default]
    Own,
    /// Adj-RIB-In before policy
    Pre,
    /// Adj-RIB-In after policy
    Post,
    /// Adj-RIB-Out after policy (RFC 8671): what the router sends to its peers
    Out,
}

impl PolicyName {
    /// Returns the table that is followed: the routes of one peer are not in the router's own.
    pub(crate) fn of(self, reading: &Reading) -> anyhow::Result<View> {
        let policy = if self == Self::Own && reading.peer.is_some() { Self::Pre } else { self };
        let vrf =
            reading.vrf.as_deref().map(Vrf::parse).transpose().map_err(|what| anyhow!("--vrf: {what}"))?;
        Ok(View { policy: policy.into(), vrf })
    }
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Own => Self::Own,
            PolicyName::Pre => Self::Pre,
            PolicyName::Post => Self::Post,
            PolicyName::Out => Self::Out,
        }
    }
}

/// Which routers may connect, and what they may take.
#[derive(Args, Clone, Debug)]
pub(crate) struct Routers {
    /// The routers that may connect and speak BMP: addresses or prefixes; without any, all may
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    bmp_allow: Vec<IpPrefix>,
    /// The part of the memory that the routes of one router may take (`--max-memory`); one that
    /// takes more is sent away. Where all together take too much, the one that takes most is
    #[arg(long, default_value = "100%", value_name = "PERCENT", value_parser = percent)]
    pub(crate) bmp_share: u8,
}

impl Default for Routers {
    fn default() -> Self {
        Self { bmp_allow: Vec::new(), bmp_share: 100 }
    }
}

/// Reads a percentage from `0%` to `100%`.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|digits| digits.parse().ok()).filter(|&number| number <= 100);
    number.ok_or_else(|| "expected a percentage from 0% to 100%".into())
}

/// Where changes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    /// A file or a pipe.
    Input(String),
    /// Routers that connect to this address and speak BMP.
    Bmp(String),
    /// What a server of RIS Live sends, which only the service follows: it connects again.
    RisLive(Subscription),
    /// The routes that zebra or the kernel has, which only the service follows.
    Routes(Origin),
}

/// Why this cannot be followed by another command.
pub(crate) const SERVED: &str =
    "servers of RIS Live, zebra and the kernel are followed by `fibula serve` alone";

impl FromStr for Feed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(address) = text.strip_prefix("bmp:") {
            return Ok(Self::Bmp(address.to_owned()));
        }
        if let Some(text) = text.strip_prefix("ris-live:") {
            return Ok(Self::RisLive(Subscription::parse(text).map_err(|what| format!("ris-live: {what}"))?));
        }
        Ok(Origin::parse(text)?.map_or_else(|| Self::Input(text.to_owned()), Self::Routes))
    }
}

impl Feed {
    /// Follows it to its end; routers until the process is ended.
    ///
    /// # Errors
    /// If it cannot be read, or [`ris_live::follow`] or [`routes::follow`] follows it.
    pub(crate) fn follow(
        &self,
        reading: &Reading,
        policy: PolicyName,
        routers: &Routers,
        listener: &mut impl Listener,
    ) -> anyhow::Result<Verdict> {
        match self {
            Self::Input(path) => input(&Source::from(path.as_str()), reading, listener),
            Self::Bmp(address) => station(address, policy.of(reading)?, routers, listener),
            Self::RisLive(_) | Self::Routes(_) => bail!(SERVED),
        }
    }
}

/// What is told of changes.
pub(crate) trait Listener {
    /// Takes an event of a router, or of a file, which has none. Returns of which router no other
    /// may follow, and why, if so.
    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<Excess>>;

    /// Keeps the routes of a router that has gone, as stale, until it has connected again and told
    /// what it has. Returns the number of its prefixes.
    fn lose(&mut self, router: &str) -> usize;

    /// Forgets the routes of a router. Returns the number of its prefixes.
    fn forget(&mut self, router: &str) -> usize;
}

/// Follows a file or a pipe to its end: MRT, or messages of RIS Live.
pub(crate) fn input(
    source: &Source,
    reading: &Reading,
    listener: &mut impl Listener,
) -> anyhow::Result<Verdict> {
    const HEAD_BYTES: u64 = 12;
    let mut content = source.open(None)?;
    let mut head = Vec::new();
    content.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let is_json = head.trim_ascii_start().starts_with(b"{");
    let mut bad = 0;
    let mut take = |event: Result<Event, Damage>| match event {
        Ok(event) => match listener.event(None, &event)? {
            None => Ok(()),
            Some(what) => Err(anyhow!("{source}: {what}")),
        },
        Err(damage) if reading.keep_going => {
            bad += 1;
            tell(format_args!("{source}, {damage} (skipped)"));
            Ok(())
        }
        Err(damage) => Err(anyhow!("{source}, {damage}")),
    };
    if is_json {
        each_message(head.as_slice().chain(&mut content), &mut take)?;
    } else if head.is_empty() || looks_like(&head) {
        let events = Events::with(head.as_slice().chain(&mut content), reading.add_path.into());
        let is_detailed = reading.value == Some(fibula_io::table::Value::Route);
        events.detailed(is_detailed).try_for_each(&mut take)?;
    } else {
        bail!("{source}: expected MRT, or RIS Live messages as JSON");
    }
    if let Some(damage) = content.damage() {
        bail!("{source}, {damage}");
    }
    Ok(Verdict::good_if(bad == 0))
}

/// Follows routers, until the process is ended.
pub(crate) fn station(
    address: &str,
    view: View,
    routers: &Routers,
    listener: &mut impl Listener,
) -> anyhow::Result<Verdict> {
    let allowed = routers.bmp_allow.clone();
    let may_connect =
        move |router: IpAddr| allowed.is_empty() || allowed.iter().any(|allowed| allowed.contains(router));
    let station = Station::listen_to(address, view, may_connect);
    let mut station = station.with_context(|| format!("{address}: cannot listen"))?;
    tell(format_args!("listening at {}", station.address()));
    let mut refused: HashSet<IpAddr> = HashSet::new();
    let mut unknown: HashSet<IpAddr> = HashSet::new();
    // Those that have gone the longest ago first.
    let mut gone: VecDeque<IpAddr> = VecDeque::new();
    while let Some((address, told)) = station.next() {
        let router = address.to_string();
        match told {
            Told::Began => {
                listener.lose(&router);
                refused.remove(&address);
                gone.retain(|router| *router != address);
                tell(format_args!("router {router} has connected"));
            }
            Told::Event(_) if refused.contains(&address) => {}
            Told::Event(event) => {
                if let Some(what) = listener.event(Some(&router), &event)? {
                    if let Some(oldest) = gone.pop_front() {
                        forget_gone(listener, oldest);
                        continue;
                    }
                    listener.forget(&what.router);
                    tell(format_args!("router {} is sent away: {what}", what.router));
                    if let Ok(address) = what.router.parse() {
                        refused.insert(address);
                        station.close(address);
                    }
                }
            }
            Told::Damage(damage) => tell(format_args!("router {router}, {damage}")),
            Told::Ended(report, name) => {
                report.of(Kind::LeftOut).for_each(|note| tell(format_args!("router {router}: {note}")));
                let name = name.map_or_else(String::new, |name| format!(" ({name})"));
                match listener.lose(&router) {
                    0 => {
                        listener.forget(&router);
                        tell(format_args!("router {router}{name} has gone"));
                    }
                    count => {
                        tell(format_args!("router {router}{name} has gone: its {count} prefixes are stale"));
                        gone.push_back(address);
                    }
                }
                if gone.len() > SESSIONS_MAX
                    && let Some(oldest) = gone.pop_front()
                {
                    forget_gone(listener, oldest);
                }
            }
            Told::Refused => tell(format_args!("router {router} is refused: there are too many")),
            Told::Unknown => {
                // Whoever connects again and again is told once.
                if unknown.len() < SESSIONS_MAX && unknown.insert(address) {
                    tell(format_args!("router {router} is refused: --bmp-allow does not name it"));
                }
            }
        }
    }
    Ok(Verdict::Good)
}

/// Forgets the stale routes of a router, to have room for others.
fn forget_gone(listener: &mut impl Listener, router: IpAddr) {
    let count = listener.forget(&router.to_string());
    tell(format_args!("the {count} prefixes of router {router}, which has gone, are forgotten"));
}

/// Calls `take` with the events of RIS Live messages, as their lines come.
fn each_message(
    input: impl Read,
    mut take: impl FnMut(Result<Event, Damage>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut blocks = Blocks::as_they_come(input);
    while let Some(block) = blocks.next() {
        let Block { first_line, text } = match block {
            Ok(block) => block,
            Err(damage) => {
                take(Err(damage))?;
                continue;
            }
        };
        for (number, line) in (first_line..).zip(text.split(|&byte| byte == b'\n')) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match read(&String::from_utf8_lossy(line), number) {
                Ok(Message::Events(events)) => events.into_iter().try_for_each(|event| take(Ok(event)))?,
                Ok(_) => {}
                Err(what) => take(Err(Damage { place: fibula_io::Place::Line(number), what }))?,
            }
        }
    }
    match blocks.cut() {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
