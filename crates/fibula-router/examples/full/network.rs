//! [`Network`]: the namespaces, FRR, the router's process, and the speakers.

use crate::bgp::{PORT, Speaker};
use crate::common::lab::Lab;
use crate::daemons::{Frr, memory};
use crate::table::{ASN, GATEWAYS, nth_gateway};
use anyhow::{Context, bail, ensure};
use fibula_router::control::{LookupRow, Status};
use fibula_router::feed::fpm;
use fibula_router::service::{Answer, Ask, Client};
use hdrhistogram::Histogram;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the router is asked while something is waited for.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// How long bgpd may refuse sessions.
const DEAF: Duration = Duration::from_secs(30);

/// What goes on has ended when nothing came for this time.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);

/// What FPM does not tell again is removed after this time, in seconds.
pub(crate) const QUIET_S: f64 = 2.0;

/// The addresses of the speakers.
const SPEAKERS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 2, 0, 2), Ipv4Addr::new(10, 3, 0, 2)];

/// The router's addresses of the same networks.
const ROUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 2, 0, 1), Ipv4Addr::new(10, 3, 0, 1)];

/// All that runs. The order is that in which it ends.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) router: Router,
    frr: Frr,
    pub(crate) lab: Lab,
}

impl Network {
    /// Makes the namespaces, and starts the router and FRR. `None` where that is not possible,
    /// which is said.
    pub(crate) fn start(program: &Path) -> anyhow::Result<Option<Self>> {
        let Some(lab) = Lab::new("full") else { return Ok(None) };
        let Some(mut frr) = Frr::new(lab.name()) else { return Ok(None) };
        lab.take_all();
        lab.ip("r", "route del 10.64.0.0/10");
        for (way, interface) in ["s0", "s1"].into_iter().enumerate() {
            for n in 0..GATEWAYS {
                lab.ip("s", &format!("addr add {}/24 dev {interface}", nth_gateway(way, n, false)));
                lab.ip("s", &format!("addr add {}/64 dev {interface} nodad", nth_gateway(way, n, true)));
            }
        }
        let router = Router::start(&lab, program, frr.folder())?;
        lab.inside("r", || {
            frr.start("zebra", &(fpm_address() + "\n"), &["-M", "dplane_fpm_nl", "-s", "90000000"]);
            frr.start("bgpd", &bgpd(), &[]);
        });
        lab.forward_by_plane_alone();
        Ok(Some(Self { router, frr, lab }))
    }

    /// Opens the speakers' sessions.
    pub(crate) fn speakers(&self) -> anyhow::Result<[Speaker; 2]> {
        let open = |way: usize| {
            let connect = || self.lab.inside("s", || TcpStream::connect((ROUTER[way], PORT)));
            let start = Instant::now();
            // bgpd is deaf until it has read its configuration.
            loop {
                let stream = connect().context("bgpd");
                match stream.and_then(|stream| Speaker::open(stream, ASN[way], SPEAKERS[way])) {
                    Err(_) if start.elapsed() < DEAF => thread::sleep(POLL),
                    end => return end,
                }
            }
        };
        Ok([open(0)?, open(1)?])
    }

    /// Has zebra tell everything again: its session ends, and it begins another.
    pub(crate) fn cut_fpm(&self) {
        self.frr.configure("no fpm address");
        self.frr.configure(&fpm_address());
    }

    /// Returns when zebra last sent something by FPM, as the kernel knows it.
    pub(crate) fn zebra_sent(&self) -> anyhow::Result<Instant> {
        let filter = format!("dport = :{}", fpm::PORT);
        let mut ss = Command::new("ss");
        ss.args(["--tcp", "--info", "--numeric", "--no-header", "state", "established", &filter]);
        let output = self.lab.inside("r", || ss.output()).context("ss")?;
        let now = Instant::now();
        let text = String::from_utf8_lossy(&output.stdout);
        let since = text.split("lastsnd:").nth(1).and_then(|rest| rest.split_whitespace().next());
        let since = since.with_context(|| format!("no connection of zebra: {text}"))?;
        now.checked_sub(Duration::from_millis(since.parse()?)).context("a time before the machine's")
    }
}

/// The line of zebra's configuration that says where the router listens.
fn fpm_address() -> String {
    format!("fpm address 127.0.0.1 port {}", fpm::PORT)
}

/// The configuration of bgpd. Without a policy it would take nothing in; without one for the other
/// way it sends nothing back.
fn bgpd() -> String {
    let mut text = "route-map ALL permit 10\nexit\nrouter bgp 65000\n bgp router-id 10.1.0.1\n \
        no bgp default ipv4-unicast\n"
        .to_owned();
    for (speaker, asn) in SPEAKERS.into_iter().zip(ASN) {
        let _ = writeln!(text, " neighbor {speaker} remote-as {asn}\n neighbor {speaker} passive");
    }
    for family in ["ipv4", "ipv6"] {
        let _ = writeln!(text, " address-family {family} unicast");
        for speaker in SPEAKERS {
            let _ = writeln!(text, "  neighbor {speaker} activate\n  neighbor {speaker} route-map ALL in");
        }
        text += " exit-address-family\n";
    }
    text
}

/// The router's process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Router {
    program: PathBuf,
    folder: PathBuf,
    child: Child,
}

impl Drop for Router {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Router {
    fn start(lab: &Lab, program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let text = format!(
            "name = '{}'\nsocket = '{}'\ninterfaces = ['r0', 'r1', 'r2']\n[fpm]\nquiet_s = {QUIET_S:?}\n",
            lab.name(),
            folder.join("router.sock").display(),
        );
        fs::write(folder.join("router.toml"), text)?;
        let child = spawn(lab, program, folder)?;
        let router = Self { program: program.into(), folder: folder.into(), child };
        router.until("it answers", |_| true)?;
        Ok(router)
    }

    /// Kills the process, and starts another.
    pub(crate) fn kill(&mut self, lab: &Lab) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.child = spawn(lab, &self.program, &self.folder)?;
        Ok(())
    }

    fn connect(&self) -> anyhow::Result<Client> {
        Ok(Client::connect(&self.folder.join("router.sock"))?)
    }

    /// Returns the router at a glance.
    pub(crate) fn status(&self) -> anyhow::Result<Status> {
        match self.connect()?.ask(&Ask::Status)? {
            Answer::Status(status) => Ok(*status),
            other => bail!("{other:?} is no status"),
        }
    }

    /// Returns how long all messages took, in nanoseconds.
    pub(crate) fn latencies(&self) -> anyhow::Result<Histogram<u64>> {
        let Answer::Latencies(counts) = self.connect()?.ask(&Ask::Latencies)? else {
            bail!("the answer is of another kind")
        };
        let mut histogram = Histogram::new(3)?;
        for (nanoseconds, count) in counts {
            histogram.record_n(nanoseconds, count)?;
        }
        Ok(histogram)
    }

    /// Returns what answers for addresses.
    pub(crate) fn lookup(&self, addresses: &[IpAddr]) -> anyhow::Result<Vec<LookupRow>> {
        let mut client = self.connect()?;
        let ask = |&address| match client.ask(&Ask::Lookup { table: 254, address })? {
            Answer::Lookup(row) => Ok(*row),
            other => bail!("{other:?} is no answer for an address"),
        };
        addresses.iter().map(ask).collect()
    }

    /// Waits until the router is so. Returns its status then.
    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut(&Status) -> bool) -> anyhow::Result<Status> {
        let start = Instant::now();
        loop {
            // A process that has just started does not answer yet.
            if let Some(status) = self.status().ok().filter(&mut is_so) {
                return Ok(status);
            }
            ensure!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
            thread::sleep(POLL);
        }
    }

    /// Waits until the main table has `count` routes and none has changed for [`SILENCE`]. Returns
    /// when the last one changed.
    pub(crate) fn settle(&self, count: usize) -> anyhow::Result<Instant> {
        let (mut changes, mut last) = (0, Instant::now());
        self.until("all routes are in the plane", |status| {
            let now = Instant::now();
            if status.counts.changes != changes {
                (changes, last) = (status.counts.changes, now);
            }
            let main = status.tables.iter().filter(|table| table.table == 254);
            let routes: usize = main.map(|table| table.ipv4 + table.ipv6).sum();
            routes >= count && now - last > SILENCE
        })?;
        Ok(last)
    }

    /// Returns its memory now and at its peak, in MB.
    pub(crate) fn memory(&self) -> [f64; 2] {
        ["VmRSS", "VmHWM"].map(|name| memory(self.child.id(), name) as f64 * 1024.0 / 1e6)
    }
}

/// Starts the process in the router's namespace.
fn spawn(lab: &Lab, program: &Path, folder: &Path) -> anyhow::Result<Child> {
    let mut command = Command::new(program);
    command.args(["router", "run", "--config"]).arg(folder.join("router.toml"));
    // What goes wrong is said, the rest is in the way.
    command.env("RUST_LOG", "error").stdin(Stdio::null()).stdout(Stdio::null());
    lab.inside("r", || command.spawn()).with_context(|| program.display().to_string())
}

/// Has `ip` answer lines in the router's namespace, a line each. What has no answer has no line.
pub(crate) fn ip(lab: &Lab, lines: String) -> anyhow::Result<String> {
    let mut command = Command::new("ip");
    command.args(["-oneline", "-force", "-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = lab.inside("r", || command.spawn()).context("ip")?;
    let mut stdin = child.stdin.take().context("ip has no input")?;
    let writer = thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output()?;
    ensure!(writer.join().is_ok_and(|written| written.is_ok()), "ip does not read");
    Ok(String::from_utf8(output.stdout)?)
}
