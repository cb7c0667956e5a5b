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
use fibula_io::mrt::bmp::{Policy, SESSIONS_MAX, Station, Told, View, Views, Vrf, Vrfs};
use fibula_io::mrt::{Event, Events, looks_like};
use fibula_io::ris_live::{Message, read};
use fibula_io::table::Value;
use fibula_io::{Damage, Kind, Source};
use ris_live::Subscription;
use routes::Origin;
use std::collections::{HashMap, HashSet, VecDeque};
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
    /// Adj-RIB-Out before policy
    OutPre,
}

/// Returns the views that are followed: the routes of one peer are not in the router's own table.
pub(crate) fn views(policies: &[PolicyName], reading: &Reading) -> anyhow::Result<Views> {
    let of = |&name: &PolicyName| match name {
        PolicyName::Own if reading.peer.is_some() => Policy::Pre,
        name => name.into(),
    };
    let named = |text: &str| -> Result<Vec<Vrf>, String> { text.split(',').map(Vrf::parse).collect() };
    let vrfs = match reading.vrf.as_deref() {
        None => Vrfs::Global,
        Some("all") => Vrfs::All,
        Some(text) => Vrfs::Named(named(text).map_err(|what| anyhow!("--vrf: {what}"))?),
    };
    let views = Views::new(policies.iter().map(of).collect(), vrfs);
    Ok(views.detailed(reading.value == Some(Value::Route)))
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Own => Self::Own,
            PolicyName::Pre => Self::Pre,
            PolicyName::Post => Self::Post,
            PolicyName::Out => Self::Out,
            PolicyName::OutPre => Self::OutPre,
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
        policies: &[PolicyName],
        routers: &Routers,
        listener: &mut impl Listener,
    ) -> anyhow::Result<Verdict> {
        match self {
            Self::Input(path) => input(&Source::from(path.as_str()), reading, listener),
            Self::Bmp(address) => station(address, views(policies, reading)?, routers, listener),
            Self::RisLive(_) | Self::Routes(_) => bail!(SERVED),
        }
    }
}

/// What is told of changes.
pub(crate) trait Listener {
    /// Counts what a table takes for a router that has several.
    fn charge(&mut self, table: &str, router: &str);

    /// Takes an event of a table of a router, or of a file, which has none. Returns of which router
    /// no other may follow, and why, if so.
    fn event(&mut self, table: Option<&str>, event: &Event) -> anyhow::Result<Option<Excess>>;

    /// Keeps the routes of a table whose router has gone, as stale, until it has connected again
    /// and told what it has. Returns the number of its prefixes.
    fn lose(&mut self, table: &str) -> usize;

    /// Forgets the routes of a table. Returns the number of its prefixes.
    fn forget(&mut self, table: &str) -> usize;
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
        let is_detailed = reading.value == Some(Value::Route);
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
    views: Views,
    routers: &Routers,
    listener: &mut impl Listener,
) -> anyhow::Result<Verdict> {
    let allowed = routers.bmp_allow.clone();
    let may_connect =
        move |router: IpAddr| allowed.is_empty() || allowed.iter().any(|allowed| allowed.contains(router));
    let mut tables = Tables { views: views.clone(), of: HashMap::new() };
    let station = Station::listen_to(address, views, may_connect);
    let mut station = station.with_context(|| format!("{address}: cannot listen"))?;
    tell(format_args!("listening at {}", station.address()));
    let mut refused: HashSet<IpAddr> = HashSet::new();
    let mut unknown: HashSet<IpAddr> = HashSet::new();
    // Those that have gone the longest ago first.
    let mut gone: VecDeque<IpAddr> = VecDeque::new();
    while let Some((router, told)) = station.next() {
        match told {
            Told::Began => {
                tables.begin(router, listener);
                refused.remove(&router);
                gone.retain(|gone| *gone != router);
                tell(format_args!("router {router} has connected"));
            }
            Told::Event(..) if refused.contains(&router) => {}
            Told::Event(view, event) => {
                let table = tables.name(router, &view, listener);
                if let Some(what) = listener.event(Some(table), &event)? {
                    if let Some(oldest) = gone.pop_front() {
                        tables.forget_gone(oldest, listener);
                        continue;
                    }
                    tell(format_args!("router {} is sent away: {what}", what.router));
                    if let Ok(address) = what.router.parse() {
                        tables.forget(address, listener);
                        refused.insert(address);
                        station.close(address);
                    }
                }
            }
            Told::Damage(damage) => tell(format_args!("router {router}, {damage}")),
            Told::Ended(report, name) => {
                report.of(Kind::LeftOut).for_each(|note| tell(format_args!("router {router}: {note}")));
                let name = name.map_or_else(String::new, |name| format!(" ({name})"));
                match tables.lose(router, listener) {
                    0 => tell(format_args!("router {router}{name} has gone")),
                    count => {
                        tell(format_args!("router {router}{name} has gone: its {count} prefixes are stale"));
                        gone.push_back(router);
                    }
                }
                if gone.len() > SESSIONS_MAX
                    && let Some(oldest) = gone.pop_front()
                {
                    tables.forget_gone(oldest, listener);
                }
            }
            Told::Refused => tell(format_args!("router {router} is refused: there are too many")),
            Told::Unknown => {
                // Whoever connects again and again is told once.
                if unknown.len() < SESSIONS_MAX && unknown.insert(router) {
                    tell(format_args!("router {router} is refused: --bmp-allow does not name it"));
                }
            }
        }
    }
    Ok(Verdict::Good)
}

/// The tables of each router that has not gone for good, one for each view.
struct Tables {
    views: Views,
    of: HashMap<IpAddr, HashMap<View, String>>,
}

impl Tables {
    fn all(&self, router: IpAddr) -> impl Iterator<Item = &str> {
        self.of.get(&router).into_iter().flatten().map(|(_, name)| name.as_str())
    }

    /// Begins a session of a router. It has one table at least.
    fn begin(&mut self, router: IpAddr, listener: &mut impl Listener) {
        let first = self.views.known().next();
        if self.all(router).next().is_some() {
            self.all(router).for_each(|table| _ = listener.lose(table));
        } else if let Some(first) = first {
            self.name(router, &first, listener);
        }
    }

    /// Returns the name of the table of a view, which begins with what is told of it first.
    fn name(&mut self, router: IpAddr, view: &View, listener: &mut impl Listener) -> &str {
        let of = self.of.entry(router).or_default();
        if !of.contains_key(view) {
            let name = format!("{router}{}", self.views.suffix(view));
            listener.charge(&name, &router.to_string());
            listener.lose(&name);
            of.insert(view.clone(), name);
        }
        &of[view]
    }

    /// Keeps the tables of a router that has gone, but for empty ones. Returns how many prefixes
    /// they have.
    fn lose(&mut self, router: IpAddr, listener: &mut impl Listener) -> usize {
        let Some(of) = self.of.get_mut(&router) else { return 0 };
        let mut all = 0;
        of.retain(|_, table| {
            let count = listener.lose(table);
            all += count;
            if count == 0 {
                listener.forget(table);
            }
            count > 0
        });
        all
    }

    /// Forgets a router. Returns how many prefixes it had.
    fn forget(&mut self, router: IpAddr, listener: &mut impl Listener) -> usize {
        let tables = self.of.remove(&router).unwrap_or_default();
        tables.values().map(|table| listener.forget(table)).sum()
    }

    /// Forgets the stale routes of a router, to have room for others.
    fn forget_gone(&mut self, router: IpAddr, listener: &mut impl Listener) {
        let count = self.forget(router, listener);
        tell(format_args!("the {count} prefixes of router {router}, which has gone, are forgotten"));
    }
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
