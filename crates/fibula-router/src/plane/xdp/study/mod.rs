//! How fast lookups are inside a program, and packets from one interface to another, beside the
//! kernel's own tables.
//!
//! ```text
//! lookups    addresses in a map ──▶ some lookups a run, no packet
//! packets    generator ──▶ a0 ═══ a1 ──▶ program ──▶ b0 ═══ b1 ──▶ sink     (veth pairs)
//! ```
//! Everything of a run is on one processor, in one thread: generator, program and sink. Its
//! processor time counts, so a busy machine makes the study longer and the figures little worse.
//! The ways take turns, and a figure is the median of its rounds. A way that looks at more than the
//! destination has a program and tables of its own.
//!
//! The thread has a network namespace of its own, in which it makes the interfaces and fills the
//! kernel's own table. It ends with the thread.

mod way;

pub use way::Way;

use super::Xdp;
use super::cells::{CELL, Cells};
use super::generation::{Source, cells_of};
use super::interfaces::Interface;
use super::tables::Family;
use crate::Error;
use crate::plane::{Action, Adjacency, AdjacencyId, Plane, Routes};
use aya::maps::{Array, LpmTrie, lpm_trie};
use aya::programs::{TestRun, TestRunAttrs, TestRunOptions, XdpMode};
use fibula::{Delta, ErrorKind, NextHop, Rib};
use fibula_image::table::any::compile;
use nix::sched::{CloneFlags, unshare};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The compiled programs; `cargo xtask bpf` makes them.
static STUDY: &[u8] = aya::include_bytes_aligned!("../../../../bpf/study.o");

/// The lookups of a run in either family (`bpf/study.c`).
const DRAWN: [usize; 2] = [64, 16];

/// How often packets are sent until all arrive.
const ROUNDS_MOST: usize = 20;

/// The frames that the generator sends before it looks around.
const BATCH: u32 = 64;

/// The bytes of a frame, without its checksum.
const FRAME: usize = 60;

/// A table of each family, and addresses to look up in it.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'w> {
    /// The IPv4 routes.
    pub ipv4: &'w Rib<u32>,
    /// The IPv6 routes.
    pub ipv6: &'w Rib<u128>,
    /// IPv4 addresses: a power of two of them, at least 64.
    pub addresses4: &'w [u32],
    /// IPv6 addresses: a power of two of them, at least 64.
    pub addresses6: &'w [u128],
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The rounds of which each figure is the median, at least 1.
    pub rounds: usize,
    /// The packets of a round.
    pub packets: u32,
}

/// What was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A lookup, of many in a row inside a program: they overlap.
    Lookup,
    /// A packet from one interface to another, with the generator and the sink.
    Packet,
}

/// A figure of a way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was timed.
    pub what: What,
    /// The address family, `ipv4` or `ipv6`.
    pub family: &'static str,
    /// The way.
    pub way: Way,
    /// Nanoseconds of processor time.
    pub ns: f64,
    /// How many of them `fibula` does in that time.
    pub fibula_times: f64,
}

/// The table of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TableRow {
    /// The address family, `ipv4` or `ipv6`.
    pub family: &'static str,
    /// Its routes.
    pub prefixes: usize,
    /// The bytes of the compiled table.
    pub bytes: usize,
    /// The addresses that are looked up.
    pub addresses: usize,
}

impl Workload<'_> {
    /// Returns a row for each table.
    ///
    /// # Errors
    /// If a table exceeds a limit, which the study would have told before.
    pub fn tables(&self) -> Result<[TableRow; 2], fibula::Error> {
        let bytes4 = compile("gpu-mosaic", None, self.ipv4)?.image().bytes();
        let bytes6 = compile("gpu-mosaic6", None, self.ipv6)?.image().bytes();
        let row = |family, prefixes, bytes, addresses| TableRow { family, prefixes, bytes, addresses };
        Ok([
            row("ipv4", self.ipv4.len(), bytes4, self.addresses4.len()),
            row("ipv6", self.ipv6.len(), bytes6, self.addresses6.len()),
        ])
    }
}

/// Compares the program's answer to each address with the tables', and times all ways.
///
/// # Errors
/// If the counts of addresses are no powers of two, an answer is wrong, packets are lost, or the
/// kernel fails; it wants root.
pub fn study(workload: &Workload<'_>, effort: Effort) -> Result<Vec<Row>, Error> {
    let measured = || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| Error::System {
            what: "make a network namespace".into(),
            error: error.into(),
        })?;
        let mut study = prepare(workload)?;
        let mut rows = study.lookups(effort.rounds)?;
        let mut studies = vec![(Way::Ours, study)];
        for way in Way::CHECKED {
            studies.push((way, Study::set_up(workload, way, false)?));
        }
        rows.extend(packets(&mut studies, effort)?);
        Ok(rows)
    };
    std::thread::scope(|scope| match scope.spawn(measured).join() {
        Ok(rows) => rows,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// A study that is set up.
#[derive(Debug)]
struct Study {
    plane: Xdp,
    drawn: [usize; 2],
}

impl Study {
    /// Loads the programs for a way and fills the tables. With `is_kept` the programs compare no
    /// speeds, but keep each answer.
    fn set_up(workload: &Workload<'_>, way: Way, is_kept: bool) -> Result<Self, Error> {
        let drawn = [workload.addresses4.len(), workload.addresses6.len()];
        if !drawn.iter().all(|count| count.is_power_of_two() && *count >= DRAWN[0]) {
            let text = format!("{drawn:?} addresses: expected powers of two, at least {}", DRAWN[0]);
            return Err(fibula::Error::new(ErrorKind::Usage, text).into());
        }
        let [a0, a1, b0, b1] = ["a0", "a1", "b0", "b1"].map(|name| Interface::find(name, 0));
        let (a0, a1, b0, b1) = (a0?, a1?, b0?, b1?);
        let cells = |count: usize, bytes: usize| (count * bytes).div_ceil(CELL) as u32;
        let source = Source {
            object: STUDY,
            program: "forward_ours",
            sizes: vec![
                ("addresses4", cells(drawn[0], 4)),
                ("addresses6", cells(drawn[1], 16)),
                ("answers", cells(drawn[0].max(drawn[1]), 4)),
                ("trie4", workload.ipv4.len().max(1) as u32),
                ("trie6", workload.ipv6.len().max(1) as u32),
            ],
            constants: vec![
                ("drawn4", drawn[0] as u32),
                ("drawn6", drawn[1] as u32),
                ("is_kept", is_kept.into()),
                ("sends_by", a0.index),
                ("sends_to", a1.index),
            ],
            pins: None,
        };
        let mut plane = Xdp::with_source(way.options(a1.name, workload)?, source)?;
        let greatest = workload.ipv4.max_next_hop().max(workload.ipv6.max_next_hop());
        let (interface, source, destination) = (b0.index, b0.address, b1.address);
        let adjacency =
            Adjacency::Resolved { interface, routed: interface, source, destination, vlan: None, mtu: 1500 };
        plane.set_adjacency(AdjacencyId(0), adjacency)?;
        for next_hop in 1..=greatest.0 {
            plane.set_action(NextHop(next_hop), &Action::Forward(vec![AdjacencyId(0)]))?;
        }
        plane.apply(254, Routes::V4(workload.ipv4, &all_of(workload.ipv4)))?;
        plane.apply(254, Routes::V6(workload.ipv6, &all_of(workload.ipv6)))?;
        plane.start()?;
        let mut study = Self { plane, drawn };
        study.generation().add_device(a0.index)?;
        let words4 = workload.addresses4.iter().copied();
        study.cells("addresses4", drawn[0], 4)?.store(0, words4);
        let words6: Vec<u32> = workload.addresses6.iter().flat_map(|address| words_of(*address)).collect();
        study.cells("addresses6", drawn[1], 16)?.store(0, words6.into_iter());
        if !is_kept && way == Way::Ours {
            study.fill_trie("trie4", workload.ipv4, u32::to_be)?;
            study.fill_trie("trie6", workload.ipv6, |address| words_of(address.to_be()))?;
        }
        Ok(study)
    }

    fn generation(&mut self) -> &mut super::Generation {
        self.plane.generation.as_mut().expect("the plane was started")
    }

    fn cells(&mut self, name: &str, count: usize, bytes: usize) -> Result<Cells, Error> {
        cells_of(self.generation(), name, (count * bytes).div_ceil(CELL) as u32)
    }

    /// Fills a trie of the kernel's with the same routes.
    fn fill_trie<A: Family, K: aya::Pod>(
        &mut self,
        name: &str,
        rib: &Rib<A>,
        key: impl Fn(A) -> K,
    ) -> Result<(), Error> {
        let failed = |error: aya::maps::MapError| Error::of_chain(format!("fill {name}"), &error);
        let mut trie: LpmTrie<_, K, u32> = self.generation().map_mut(name).try_into().map_err(failed)?;
        for route in rib {
            let key = lpm_trie::Key::new(route.prefix.len().into(), key(route.prefix.first()));
            trie.insert(&key, route.next_hop.0, 0).map_err(failed)?;
        }
        Ok(())
    }

    /// Runs a program `repeat` times on a frame and returns the nanoseconds of processor time a
    /// run.
    fn run(
        &mut self,
        program: &str,
        frame: &[u8],
        repeat: u32,
        attributes: TestRunAttrs,
    ) -> Result<f64, Error> {
        let program_name = program.to_owned();
        let program = self.generation().program(program)?;
        let options =
            TestRunOptions { data_in: Some(frame), repeat, attrs: attributes, ..TestRunOptions::new() };
        let start = thread_time()?;
        let result = program.test_run(options);
        result.map_err(|error| Error::of_chain(format!("run {program_name}"), &error))?;
        Ok(thread_time()?.saturating_sub(start).as_nanos() as f64 / f64::from(repeat))
    }

    /// Returns what the programs keep: addresses drawn, the sum of answers, packets that arrived.
    fn state(&mut self) -> Result<[u64; 3], Error> {
        let failed = |error: aya::maps::MapError| Error::of_chain("read the study's state", &error);
        let state: Array<_, [u64; 3]> = self.generation().map(".bss").try_into().map_err(failed)?;
        state.get(&0, 0).map_err(failed)
    }

    /// Looks every address up and returns the answers.
    fn answers(&mut self, is_ipv4: bool) -> Result<Vec<u32>, Error> {
        let (family, digit) = if is_ipv4 { (0, 4) } else { (1, 6) };
        let (count, program) = (self.drawn[family], format!("lookups{digit}_ours"));
        self.run(&program, &[0; FRAME], (count / DRAWN[family]) as u32, TestRunAttrs::new())?;
        Ok(self.cells("answers", self.drawn[0].max(self.drawn[1]), 4)?.load(count))
    }

    /// Times lookups in `rounds` rounds.
    fn lookups(&mut self, rounds: usize) -> Result<Vec<Row>, Error> {
        medians(What::Lookup, &Way::INSIDE, rounds, |is_ipv4, way| {
            let (family, digit) = if is_ipv4 { (0, 4) } else { (1, 6) };
            // The kernel's are slow enough to be timed by fewer.
            let is_slow = matches!(way, Way::Trie | Way::Kernel);
            let count = self.drawn[family] / if is_slow { 16 } else { 1 };
            let program = format!("lookups{digit}_{}", way.name());
            let repeat = (count / DRAWN[family]).max(1) as u32;
            Ok(self.run(&program, &[0; FRAME], repeat, TestRunAttrs::new())? / DRAWN[family] as f64)
        })
    }

    /// Sends `count` packets through the program of a way. All of them have to arrive: a round in
    /// which another program took the processor, so that a queue was full, is made again. Returns
    /// the nanoseconds of one.
    fn send(&mut self, is_ipv4: bool, way: Way, count: u32) -> Result<f64, Error> {
        let _sink = self.attach("b1", "sink")?;
        let _program = self.attach("a1", &way.program())?;
        let generator = if is_ipv4 { "generate4" } else { "generate6" };
        let (mut nanoseconds, mut arrived, mut told) = (0.0, 0, Default::default());
        for _ in 0..ROUNDS_MOST {
            let before = self.state()?[2];
            let attributes = TestRunAttrs::new().xdp_live_frames(BATCH);
            nanoseconds = self.run(generator, &frame(is_ipv4), count, attributes)?;
            arrived = self.state()?[2] - before;
            told = self.generation().samples()?;
            if arrived == u64::from(count) {
                break;
            }
        }
        let wrong = |what: String| {
            Err(Error::System { what: format!("the study's {way}"), error: std::io::Error::other(what) })
        };
        if arrived != u64::from(count) {
            return wrong(format!("{arrived} of {count} packets arrived"));
        }
        let (samples, lost) = told;
        // A round that is too short may have none.
        let are_expected = way.samples() && count > 32 * way::SAMPLED;
        if lost > 0 || samples.is_empty() && are_expected {
            return wrong(format!("{} samples, and {lost} without room", samples.len()));
        }
        Ok(nanoseconds)
    }

    /// Runs a program on an interface until what is returned is dropped.
    fn attach(&mut self, interface: &str, program: &str) -> Result<impl Drop + use<>, Error> {
        let what = format!("attach {program} to {interface}");
        let program = self.generation().program(program)?;
        let link = program.attach(interface, XdpMode::Driver).and_then(|id| program.take_link(id));
        link.map_err(|error| Error::of_chain(what, &error))
    }
}

/// Times packets of all ways. The study of a way that has none is the first.
fn packets(studies: &mut [(Way, Study)], effort: Effort) -> Result<Vec<Row>, Error> {
    medians(What::Packet, &Way::ALL, effort.rounds, |is_ipv4, way| {
        let at = studies.iter().position(|(of, _)| *of == way).unwrap_or_default();
        studies[at].1.send(is_ipv4, way, effort.packets)
    })
}

/// Runs ways of both families in turn, and returns the median of each.
fn medians(
    what: What,
    ways: &[Way],
    rounds: usize,
    mut run: impl FnMut(bool, Way) -> Result<f64, Error>,
) -> Result<Vec<Row>, Error> {
    let kinds = [true, false].into_iter().flat_map(|is_ipv4| ways.iter().map(move |&way| (is_ipv4, way)));
    let mut figures: Vec<(bool, Way, Vec<f64>)> =
        kinds.map(|(is_ipv4, way)| (is_ipv4, way, Vec::with_capacity(rounds))).collect();
    for _ in 0..rounds {
        for (is_ipv4, way, figures) in &mut figures {
            figures.push(run(*is_ipv4, *way)?);
        }
    }
    let median = |(is_ipv4, way, mut figures): (bool, Way, Vec<f64>)| {
        figures.sort_unstable_by(f64::total_cmp);
        (is_ipv4, way, figures[figures.len() / 2])
    };
    let medians: Vec<(bool, Way, f64)> = figures.into_iter().map(median).collect();
    let ours = |family| medians.iter().find(|row| (row.0, row.1) == (family, Way::Ours)).map(|row| row.2);
    let row = |&(is_ipv4, way, ns): &(bool, Way, f64)| Row {
        what,
        family: if is_ipv4 { "ipv4" } else { "ipv6" },
        way,
        ns,
        fibula_times: ns / ours(is_ipv4).expect("fibula is one of the ways"),
    };
    Ok(medians.iter().map(row).collect())
}

/// Sets a study up and compares all answers of the program with the tables' own.
fn prepare(workload: &Workload<'_>) -> Result<Study, Error> {
    for pair in ["add a0 type veth peer name a1", "add b0 type veth peer name b1"] {
        ip(&format!("link {pair}"))?;
    }
    for name in ["lo", "a0", "a1", "b0", "b1"] {
        ip(&format!("link set {name} up"))?;
    }
    let mut kept = Study::set_up(workload, Way::Ours, true)?;
    compare(workload.ipv4, workload.addresses4, &kept.answers(true)?)?;
    compare(workload.ipv6, workload.addresses6, &kept.answers(false)?)?;
    drop(kept);
    let settings = [
        ("ipv4/ip_forward", "1"),
        ("ipv6/conf/all/forwarding", "1"),
        // The generator's source address is routed nowhere.
        ("ipv4/conf/all/rp_filter", "0"),
        ("ipv4/conf/a1/rp_filter", "0"),
    ];
    for (setting, value) in settings {
        let path = format!("/proc/sys/net/{setting}");
        std::fs::write(&path, value)
            .map_err(|error| Error::System { what: format!("write {path}"), error })?;
    }
    let [a, b, c, d, e, f] = Interface::find("b1", 0)?.address;
    let sink = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
    for gateway in [GATEWAY4, GATEWAY6] {
        ip(&format!("neighbour replace {gateway} lladdr {sink} dev b0 nud permanent"))?;
    }
    fill_kernel(workload.ipv4, GATEWAY4)?;
    fill_kernel(workload.ipv6, GATEWAY6)?;
    Study::set_up(workload, Way::Ours, false)
}

/// The neighbours that the kernel forwards to, of which it knows the sink's MAC address.
const GATEWAY4: &str = "198.18.0.2";
const GATEWAY6: &str = "fe80::2";

/// Adds the routes to the kernel's own table, by a gateway.
fn fill_kernel<A: Family>(rib: &Rib<A>, gateway: &str) -> Result<(), Error> {
    let failed = |error| Error::System { what: "ip -batch".into(), error };
    // The kernel refuses routes to some addresses, as in 127.0.0.0/8. They are skipped.
    let mut ip = Command::new("ip");
    let ip = ip.args(["-force", "-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = ip.spawn().map_err(failed)?;
    let mut lines = BufWriter::new(child.stdin.take().expect("it is piped"));
    for route in rib {
        writeln!(lines, "route add {} via {gateway} dev b0 onlink", route.prefix).map_err(failed)?;
    }
    lines.into_inner().map_err(|error| failed(error.into_error()))?;
    child.wait().map(drop).map_err(failed)
}

fn compare<A: Family>(rib: &Rib<A>, addresses: &[A], answers: &[u32]) -> Result<(), Error> {
    let wrong = addresses.iter().zip(answers).find_map(|(&address, &answer)| {
        let expected = rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
        (answer != expected.0)
            .then(|| format!("{}: expected {}, found {answer}", address.to_ip(), expected.0))
    });
    match wrong {
        None => Ok(()),
        Some(text) => Err(Error::System { what: "the program".into(), error: std::io::Error::other(text) }),
    }
}

fn ip(arguments: &str) -> Result<(), Error> {
    let what = || format!("ip {arguments}");
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.map_err(|error| Error::System { what: what(), error })?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::System { what: what(), error: std::io::Error::other(error) })
}

fn all_of<A: Family>(rib: &Rib<A>) -> Vec<Delta<A>> {
    rib.iter()
        .map(|route| Delta { prefix: route.prefix, before: NextHop::NONE, after: route.next_hop })
        .collect()
}

fn words_of(address: u128) -> [u32; 4] {
    [0, 32, 64, 96].map(|shift| (address >> shift) as u32)
}

/// Returns the processor time of this thread.
fn thread_time() -> Result<Duration, Error> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    let time = time.map_err(|error| Error::System { what: "read the clock".into(), error: error.into() })?;
    Ok(Duration::from(time))
}

/// Returns the frame that the generator gets. It writes the addresses itself.
fn frame(is_ipv4: bool) -> Vec<u8> {
    let length = (FRAME - 14) as u8;
    let mut frame = vec![0; 12];
    if is_ipv4 {
        frame.extend([8, 0, 0x45, 0, 0, length, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1]);
    } else {
        frame.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, length - 40, 59, 64, 0x20, 1, 0x0D, 0xB8]);
    }
    frame.resize(FRAME, 0);
    frame
}
