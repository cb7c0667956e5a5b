//! [`Programs`]: the XDP programs of this plane and their maps (`bpf/socket.c`).

use super::super::cells::{CELL_WORDS, Cells};
use super::super::counters::{Counters, Counts};
use super::super::generation::{INTERFACE_WORDS, mapped};
use super::super::interfaces::Interface;
use super::super::own;
use super::ports::LONGEST;
use crate::Error;
use crate::plane::Rules;
use crate::plane::xdp::Mode;
use aya::maps::{Array, HashMap, Map, MapData, XskMap};
use aya::programs::{TestRun, TestRunAttrs, TestRunOptions, Xdp, XdpMode};
use aya::{Ebpf, EbpfLoader};
use fibula::{Address, Delta, NextHop};
use std::fmt;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::sync::Mutex;

/// The compiled programs; `cargo xtask bpf` makes them.
static SOCKET: &[u8] = aya::include_bytes_aligned!("../../../../bpf/socket.o");

/// Next hops below this may be the kernel's in the program (`bpf/socket.c`).
const NEXT_HOPS: u32 = 65_536;

fn failed(what: &str) -> impl Fn(&(dyn std::error::Error + 'static)) -> Error {
    move |error| Error::of_chain(what, error)
}

/// The words of a `struct host`.
type Host = [u32; 6];

fn host(table: u32, address: IpAddr) -> Host {
    let (family, mut bytes) = (if address.is_ipv4() { 4 } else { 6 }, [0; 16]);
    match address {
        IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes.copy_from_slice(&address.octets()),
    }
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [table, family, word(0), word(4), word(8), word(12)]
}

/// The routes of single addresses that lead to the kernel, as the program reads them.
pub(super) struct Hosts {
    hosts: HashMap<MapData, Host, u32>,
    of_kernel: Array<MapData, u32>,
}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts").finish_non_exhaustive()
    }
}

impl Hosts {
    /// Says whether a next hop is the kernel's.
    pub(super) fn set_next_hop(&mut self, next_hop: NextHop, is_of_kernel: bool) -> Result<(), Error> {
        if next_hop.0 >= NEXT_HOPS {
            return Ok(());
        }
        let set = self.of_kernel.set(next_hop.0, u32::from(is_of_kernel), 0);
        set.map_err(|error| failed("write whether a next hop is the kernel's")(&error))
    }

    /// Follows changes of a table. A route that finds no room is looked up in user space.
    pub(super) fn follow<A: Address>(
        &mut self,
        table: u32,
        deltas: &[Delta<A>],
        is_of_kernel: impl Fn(NextHop) -> bool,
    ) {
        for delta in deltas.iter().filter(|delta| delta.prefix.len() == A::BITS) {
            let key = host(table, delta.prefix.first().to_ip());
            let next_hop = delta.after;
            if next_hop.is_some() && next_hop.0 < NEXT_HOPS && is_of_kernel(next_hop) {
                if self.hosts.insert(key, next_hop.0, 0).is_ok() {
                    continue;
                }
                tracing::debug!("no room for {} among the kernel's addresses", delta.prefix);
            }
            // Most of those that lead elsewhere were never there.
            let _ = self.hosts.remove(&key);
        }
    }
}

/// The programs, loaded. Dropping this detaches them.
#[derive(Debug)]
pub(super) struct Programs {
    ebpf: Mutex<Ebpf>,
    of_ports: Map,
    /// Where frames that are handed up say so, and by which MAC address.
    marks: Vec<(u32, [u8; 6])>,
}

impl Programs {
    /// Loads the programs for interfaces, each with its first socket, of `sockets` in all. The
    /// cells are those of the interfaces, and of this machine's addresses.
    pub(super) fn load(
        interfaces: &[Interface],
        firsts: &[u32],
        sockets: u32,
        mode: Mode,
    ) -> Result<(Self, Hosts, [Cells; 2]), Error> {
        let greatest = interfaces.iter().map(|interface| interface.index).max().unwrap_or_default();
        let words = (greatest as usize + 1) * INTERFACE_WORDS;
        let cells = words.div_ceil(CELL_WORDS) as u32;
        let is_generic = mode == Mode::Generic;
        let mut loader = EbpfLoader::new();
        loader.map_max_entries("interfaces", cells).map_max_entries("sockets", sockets.max(1));
        let own_cells = own::WORDS.div_ceil(CELL_WORDS) as u32;
        loader.map_max_entries("ours", own_cells);
        let is_generic_too = u32::from(is_generic);
        loader.override_global("longest", &LONGEST, true).override_global(
            "is_generic",
            &is_generic_too,
            true,
        );
        let ebpf = loader.load(SOCKET);
        let mut ebpf = ebpf.map_err(|error| failed("load the XDP programs of sockets")(&error))?;
        for name in ["socket", "hand_up"] {
            let program: &mut Xdp = program(&mut ebpf, name)?;
            program.load().map_err(|error| failed("load the XDP programs of sockets")(&error))?;
        }
        let interfaces_map = mapped(&ebpf, "interfaces", cells)?;
        for (interface, &first) in interfaces.iter().zip(firsts) {
            let words = Self::words(interface, first, Rules::default());
            interfaces_map.store(Self::place(interface), words.into_iter());
        }
        let ours = mapped(&ebpf, "ours", own_cells)?;
        let mut take = |name: &str| ebpf.take_map(name).expect("the object has this map");
        let (hosts, of_kernel, of_ports) = (take("hosts"), take("of_kernel"), take("of_ports"));
        let wrong = failed("open the maps of the XDP programs of sockets");
        let hosts = Hosts {
            hosts: hosts.try_into().map_err(|error: aya::maps::MapError| wrong(&error))?,
            of_kernel: of_kernel.try_into().map_err(|error: aya::maps::MapError| wrong(&error))?,
        };
        let marks = interfaces.iter().filter(|_| is_generic);
        let marks = marks.map(|interface| (interface.index, interface.address)).collect();
        Ok((Self { ebpf: Mutex::new(ebpf), of_ports, marks }, hosts, [interfaces_map, ours]))
    }

    /// Returns where the words of an interface are stored.
    pub(super) fn place(interface: &Interface) -> usize {
        interface.index as usize * INTERFACE_WORDS
    }

    /// Returns the words of an interface: the program reads the table's id itself. It does not look
    /// at sources, so where the kernel does, it has all packets.
    pub(super) fn words(interface: &Interface, first: u32, rules: Rules) -> [u32; INTERFACE_WORDS] {
        let ipv4 = rules.ipv4 && !rules.checks_sources();
        let [table, port, address, _] = interface.words(interface.table, Rules { ipv4, ..rules });
        [table, port, address, first]
    }

    fn ebpf(&self) -> std::sync::MutexGuard<'_, Ebpf> {
        self.ebpf.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Has frames handed to a socket.
    pub(super) fn set_socket(&self, index: u32, socket: RawFd) -> Result<(), Error> {
        let mut ebpf = self.ebpf();
        let map = ebpf.map_mut("sockets").expect("the object has this map");
        let set = XskMap::try_from(map).and_then(|mut sockets| sockets.set(index, socket, 0));
        set.map_err(|error| failed("hand frames to a socket")(&error))
    }

    /// Attaches the program to an interface until this is dropped.
    pub(super) fn attach(&self, interface: &Interface, mode: Mode) -> Result<(), Error> {
        let how = match mode {
            Mode::Native => XdpMode::Driver,
            Mode::Generic => XdpMode::Skb,
            Mode::Unattached => return Ok(()),
        };
        let mut ebpf = self.ebpf();
        let attached = program(&mut ebpf, "socket")?.attach_to_if_index(interface.index, how);
        let what = format!("attach to {} in {mode} mode", interface.name);
        attached.map(drop).map_err(|error| failed(&what)(&error))
    }

    /// Returns what the program itself counted of an interface.
    pub(super) fn of_port(&self, port: u16) -> Result<Counts, Error> {
        Counters { of_ports: &self.of_ports, of_next_hops: &self.of_ports }.of_port(port)
    }

    /// Hands a frame to the kernel, as one that came in by an interface and a queue of it.
    pub(super) fn hand_up(&self, interface: u32, queue: u32, frame: &mut [u8]) -> Result<(), Error> {
        let mark = self.marks.iter().find(|(marked, _)| *marked == interface);
        if let (Some((_, address)), Some(source)) = (mark, frame.get_mut(6..12)) {
            source.copy_from_slice(address);
        }
        // A `struct xdp_md`: data, data_end, data_meta, ingress_ifindex, rx_queue_index,
        // egress_ifindex.
        let context = [0, frame.len() as u32, 0, interface, queue, 0].map(u32::to_ne_bytes);
        let options = TestRunOptions {
            data_in: Some(frame),
            ctx_in: Some(context.as_flattened()),
            attrs: TestRunAttrs::new().xdp_live_frames(1),
            ..TestRunOptions::new()
        };
        let mut ebpf = self.ebpf();
        let run = program(&mut ebpf, "hand_up")?.test_run(options);
        run.map(drop).map_err(|error| failed("hand a frame to the kernel")(&error))
    }
}

fn program<'e>(ebpf: &'e mut Ebpf, name: &str) -> Result<&'e mut Xdp, Error> {
    let program = ebpf.program_mut(name).expect("the object has this program");
    program.try_into().map_err(|error: aya::programs::ProgramError| failed("load the XDP programs")(&error))
}
