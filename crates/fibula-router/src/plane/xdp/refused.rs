//! Steps that the kernel refuses: each of its calls fails in turn, and nothing of the step stays.

use super::{Attachment, Mode, Options, Verdict, Xdp, check, faults};
use crate::Error;
use crate::acl::Acl;
use crate::plane::{Action, Adjacency, AdjacencyId, Plane, ReversePath, Routes, Rules};
use fibula::{Change, Delta, NextHop, Rib, Route};

/// A plane that only probes meet, and the routes that whoever tells it has.
struct Told {
    plane: Xdp,
    rib: Rib<u32>,
}

impl Told {
    fn new() -> Self {
        let vlan = Attachment { tags: vec![7], ..Attachment::of("lo") };
        let interfaces = vec![Attachment { acl: Some(0), ..Attachment::of("lo") }, vlan];
        let acls = vec![Acl::parse("edge", "deny tcp from any to any").unwrap()];
        let plain = Options::new("refused", interfaces, Mode::Unattached);
        Self { plane: Xdp::open(Options { acls, ..plain }).unwrap(), rib: Rib::new() }
    }

    fn acl(&mut self, text: &str) -> Result<(), Error> {
        self.plane.set_acls(vec![Acl::parse("edge", text).unwrap()])
    }

    fn adjacency(&mut self, id: u32, interface: u32, mac: u8) -> Result<(), Error> {
        let (routed, destination) = (interface, [2, 0, 0, 0, 0, mac]);
        let resolved =
            Adjacency::Resolved { interface, routed, source: [2; 6], destination, vlan: None, mtu: 1500 };
        self.plane.set_adjacency(AdjacencyId(id), resolved)
    }

    fn legs(&mut self, next_hop: u32, ids: &[u32]) -> Result<(), Error> {
        let legs = ids.iter().copied().map(AdjacencyId).collect();
        self.plane.set_action(NextHop(next_hop), &Action::Forward(legs))
    }

    /// Applies a change of `count` routes, or takes it back.
    fn routes(&mut self, first: u8, count: u32, next_hop: u32) -> Result<(), Error> {
        let of = |at: u32| format!("{first}.{}.{}.0/24", at >> 8, at & 255).parse().unwrap();
        let changes = (0..count).map(|at| match next_hop {
            0 => Change::Withdraw(of(at)),
            _ => Change::Announce(Route { prefix: of(at), next_hop: NextHop(next_hop) }),
        });
        let deltas: Vec<Delta<u32>> = changes.filter_map(|change| self.rib.apply(change)).collect();
        let applied = self.plane.apply(254, Routes::V4(&self.rib, &deltas));
        if applied.is_err() {
            for delta in deltas.iter().rev() {
                self.rib.apply(delta.inverse().change());
            }
        }
        applied
    }

    /// Returns what becomes of packets to some addresses.
    fn answers(&self) -> Vec<(Verdict, Vec<u8>)> {
        let addresses =
            [10, 11, 12, 13].into_iter().flat_map(|first| (0..4).map(move |at| [first, 0, at, 9]));
        let frames = addresses.flat_map(|address| (0..4).map(move |port| frame(address, port)));
        let probe = |frame: Vec<u8>| {
            let probe = self.plane.probe("lo", &frame).unwrap();
            (probe.verdict, probe.frame)
        };
        frames.map(probe).collect()
    }
}

/// Returns the frame of a UDP packet from 10.0.0.1.
fn frame(to: [u8; 4], port: u8) -> Vec<u8> {
    let mut header = [0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 0, 0, 0, 0];
    header[16..].copy_from_slice(&to);
    let sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let check = !((sum & 0xFFFF) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&check.to_be_bytes());
    [&[0; 12][..], &[8, 0], &header, &[0, port, 0, 53, 0, 8, 0, 0]].concat()
}

/// What is told to a plane that forwards. Each step is whole, and can be left out.
type Step = fn(&mut Told) -> Result<(), Error>;

const STEPS: [Step; 14] = [
    |told| told.adjacency(2, 1, 2),
    // The version that packets may still read: it waits for a grace period.
    |told| told.adjacency(2, 1, 3),
    |told| told.adjacency(2, 1, 4),
    |told| told.legs(2, &[1, 2]),
    |told| told.legs(2, &[2, 1]),
    |told| told.routes(11, 3, 2),
    // An interface beyond those that there is room for.
    |told| told.adjacency(3, 1000, 5),
    |told| told.legs(3, &[3]),
    // An action beyond those that there is room for.
    |told| told.legs(3000, &[1]),
    // The next hops need wider answers, and the routes are so many that the table is compiled.
    |told| told.routes(12, 2, 3000),
    |told| told.routes(13, 5000, 1),
    |told| told.routes(11, 2, 0),
    |told| told.acl("deny udp from any to 10.0.2.0/24 port 53\npermit ip from any to any"),
    // A program that looks at sources.
    |told| told.plane.set_rules(1, Rules { reverse_path: ReversePath::Loose, ..Rules::default() }),
];

/// Returns a plane that forwards, before any step.
fn begun() -> Told {
    let mut told = Told::new();
    told.adjacency(1, 1, 1).unwrap();
    told.legs(1, &[1]).unwrap();
    told.routes(10, 4, 1).unwrap();
    told.plane.start().unwrap();
    told
}

#[test]
fn a_step_that_the_kernel_refuses_leaves_nothing_behind() {
    let options = Options::new("check", Vec::new(), Mode::Unattached);
    if let Some(wrong) = check(&options).into_iter().find_map(|finding| finding.wrong) {
        eprintln!("skipped: {wrong}");
        return;
    }
    let mut fresh = begun();
    for step in STEPS {
        step(&mut fresh).unwrap();
    }
    for switches in [false, true] {
        let (mut told, mut refused) = (begun(), 0);
        for (at, step) in STEPS.iter().enumerate() {
            let before = told.answers();
            for calls in 0.. {
                faults::fail_after(Some(calls));
                let taken = step(&mut told);
                let has_failed = faults::has_failed();
                faults::fail_after(None);
                assert_eq!(taken.is_err(), has_failed, "step {at}, call {calls}: {taken:?}");
                if switches {
                    // A later generation does not have what was refused.
                    told.plane.switch().unwrap();
                }
                if !has_failed {
                    break;
                }
                refused += 1;
                assert!(told.answers() == before, "step {at}, call {calls}: packets meet it");
            }
            let generation = told.plane.generation.as_ref().unwrap();
            assert_eq!(generation.differences(told.plane.contents()), [""; 0], "step {at}");
        }
        assert!(told.answers() == fresh.answers(), "packets go where they would if nothing had failed");
        assert!(refused >= STEPS.len(), "{refused}");
    }
}
