//! The program on real interfaces, with a client, a router and a server: see the drawing in
//! `common/lab.rs`. All that is forwarded here passes r0, and what goes to the server leaves by r1
//! or r2.

mod common;
mod crossing;
mod traffic;

use common::lab::Lab;
use crossing::{
    BY_EITHER, Router, SERVER, SERVER_TOO, ask_the_kernel, change_under_traffic, prefix, transfer,
    under_traffic,
};
use fibula_router::plane::Plane;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Reason, Xdp};
use std::io::{BufRead, BufReader};
use std::mem::ManuallyDrop;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a plane of this name in the router's namespace.
fn started(lab: &Lab, mode: Mode) -> Router<Xdp> {
    lab.inside("r", || {
        let mut router = Router::new(lab, lab.open(mode));
        router.plane.start().unwrap();
        router
    })
}

#[test]
fn tcp_crosses_the_router_in_both_modes_and_detaching_leaves_nothing() {
    let Some(lab) = Lab::new("tcp") else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let router = started(&lab, mode);
        assert_eq!(lab.attached(), 3, "{mode}");
        transfer(&lab, "10.2.0.2", 3 << 20);
        transfer(&lab, "fd02::2", 3 << 20);
        let packets = 2 * (3 << 20) / 1500;
        assert!(router.count(Reason::Forwarded) > packets, "{mode}: {}", router.count(Reason::Forwarded));
        // A retransmission writes a header again that may still wait in the queue of a veth.
        assert!(router.count(Reason::Malformed) <= packets / 100, "{mode}");
        drop(router);
        assert_eq!(lab.attached(), 3, "forwarding does not need the process");
        lab.inside("r", || lab.detach());
        assert!(lab.settles_at(0), "{mode}");
        assert!(!std::path::Path::new("/sys/fs/bpf/fibula").join(lab.end("")).exists());
        // The kernel forwards again.
        transfer(&lab, "10.2.0.2", 1 << 20);
    }
}

#[test]
fn the_kernel_answers_for_what_the_program_hands_up() {
    let Some(lab) = Lab::new("icmp") else { return };
    // There the indices of interfaces are the plane's.
    lab.inside("r", || {
        ask_the_kernel(&lab, &mut started(&lab, Mode::Native));
        lab.detach();
    });
}

#[test]
fn changes_in_place_and_new_generations_lose_no_packet_and_misdirect_none() {
    let Some(lab) = Lab::new("change") else { return };
    let mut router = started(&lab, Mode::Native);
    router.add_groups();
    lab.inside("r", || {
        change_under_traffic(&lab, &mut router);
        lab.detach();
    });
}

#[test]
fn a_plane_of_another_network_namespace_is_not_taken_over() {
    let Some(lab) = Lab::new("owned") else { return };
    drop(started(&lab, Mode::Native));
    let programs = lab.ip("r", "-d link show r0");
    let open = |end, interface: &str| {
        let options = Options::new(lab.name(), vec![Attachment::of(interface)], Mode::Generic);
        lab.inside(end, || Xdp::open(options).map(drop).map_err(|error| error.to_string()))
    };
    let error = open("s", "lo").unwrap_err();
    let expected = "its program runs in another network namespace: choose another `name`, or detach it";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(lab.ip("r", "-d link show r0"), programs, "r0 runs what it ran");
    assert_eq!(open("r", "r0"), Ok(()));
    // Once its interfaces are gone, nobody needs it.
    for interface in ["r0", "r1", "r2"] {
        lab.ip("r", &format!("link del {interface}"));
    }
    assert_eq!(open("s", "lo"), Ok(()));
    lab.detach();
}

#[test]
fn a_start_that_fails_leaves_what_it_found() {
    let Some(lab) = Lab::new("fails") else { return };
    let open = |interfaces: &[&str]| {
        let interfaces = interfaces.iter().copied().map(Attachment::of).collect();
        let plane = Xdp::open(Options::new(lab.name(), interfaces, Mode::Native)).unwrap();
        Router::new(&lab, plane)
    };
    lab.inside("r", || {
        open(&["r0"]).plane.start().unwrap();
        // Another program is on the last interface.
        common::lab::pass("r2");
        let mut router = open(&["r0", "r1", "r2"]);
        router.plane.start().unwrap_err();
        router.plane.start().unwrap_err();
    });
    assert!(lab.settles_at(2), "r0 has the plane's program, and r2 the other: {}", lab.attached());
    assert!(lab.ip("r", "-o link show r0").contains("prog/xdp"));
    lab.inside("r", || lab.detach());
}

#[test]
fn an_interface_that_went_to_another_namespace_is_let_alone() {
    let Some(lab) = Lab::new("moved") else { return };
    let mut router = started(&lab, Mode::Native);
    let index = lab.index("r", "r2");
    lab.ip("r", &format!("link set r2 netns {}", lab.end("c")));
    let program = lab.ip("c", "-d link show r2");
    assert!(program.contains("prog/xdp"), "it took the program along: {program}");
    // Another interface has its name and its index.
    lab.ip("r", &format!("link add name r2 index {index} type veth peer name x2"));
    lab.ip("r", "link set r2 up");
    lab.inside("r", || router.plane.watch());
    let links = lab.ip("r", "-d link show r2");
    assert!(links.contains("prog/xdp"), "{links}");
    lab.inside("r", || lab.detach());
}

/// Set in a process that is to be a router in this lab until it is killed.
const AS_ROUTER: &str = "FIBULA_TEST_ROUTER";

#[test]
fn a_killed_process_leaves_a_forwarding_router_and_the_next_one_takes_over() {
    const TEST: &str = "a_killed_process_leaves_a_forwarding_router_and_the_next_one_takes_over";
    if let Ok(name) = std::env::var(AS_ROUTER) {
        // The process that made the lab removes it.
        let lab = ManuallyDrop::new(Lab::made(name));
        let mut router = Router::new(&lab, lab.open(Mode::Native));
        router.add_groups();
        router.plane.start().unwrap();
        println!("started");
        loop {
            router.announce((0..64).map(|number| (prefix(BY_EITHER, number), SERVER_TOO)));
            router.announce((0..64).map(|number| (prefix(BY_EITHER, number), SERVER)));
        }
    }
    let Some(lab) = Lab::new("kill") else { return };
    lab.inside("r", || {
        let start = || {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", TEST, "--nocapture"]).env(AS_ROUTER, lab.name());
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let started = lines.map_while(Result::ok).any(|line| line.contains("started"));
            assert!(started, "the process ended");
            child
        };
        let kill = |mut child: Child| {
            child.kill().unwrap();
            child.wait().unwrap();
        };
        kill(start());
        under_traffic(&lab, || {
            for round in 0..6 {
                let child = start();
                // At another moment of its changes each time, and once before the next one starts
                // and once after.
                std::thread::sleep(Duration::from_millis(37 * round));
                kill(child);
            }
        });
        assert_eq!(lab.attached(), 3);
        // What takes over finds the counters of those before it.
        let router = Router::new(&lab, lab.open(Mode::Native));
        assert!(router.plane.interface_counts().is_err(), "it has not started");
        let mut router = router;
        router.plane.start().unwrap();
        assert!(router.count(Reason::Forwarded) > 1000);
        lab.detach();
    });
    assert!(lab.settles_at(0));
}
