//! What is known of BGP, beside what the daemons that tell it have chosen.
//!
//! ```text
//!   netns peers                       netns router
//!   10.98.0.1 .. 10.98.0.6  ──BGP──▶  FRR, BIRD or GoBGP ──BMP, MRT──▶ read ──▶ best ┐
//!   random routes, some withdrawn          └── shows its best routes ────────────────▶┴▶ equal
//! ```
//!
//! A route's next hop is the peer that has sent it, so that the next hop names the path. Each test
//! is skipped where its daemon is not installed, or where no namespace can be made.
//! `FIBULA_PREFIXES=20000 cargo test -p fibula-io --test speakers` takes that many prefixes.
#![cfg(target_os = "linux")]

#[path = "speakers/daemons.rs"]
mod daemons;
#[path = "speakers/network.rs"]
mod network;
#[path = "common/running.rs"]
mod running;

use daemons::{Bird, Daemon, Frr, GoBgp};
use fibula_io::follow::Followed;
use fibula_io::mrt::bmp::{Policy, Station, Told};
use fibula_io::table::{self, AddPath, Loaded, ReadOptions, Value};
use fibula_io::{Budget, Source};
use network::{Drawn, Kind, Network};
use running::kept;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// All that a message tells decides.
const ALL: Kind = Kind { has_internal: true, has_one_neighbour: false, has_equal_ids: true };

/// The next hop of the best route of each prefix.
type Best = BTreeMap<String, String>;

/// Waits until two answers are equal, and fails by what differs.
fn settles(what: &str, theirs: &Best, mut ours: impl FnMut() -> Best) {
    const LONGEST: Duration = Duration::from_mins(2);
    let end = Instant::now() + LONGEST;
    loop {
        let ours = ours();
        if *theirs == ours {
            println!("{what}: 0 different of {} prefixes", theirs.len());
            return;
        }
        if Instant::now() > end {
            let prefixes = theirs.keys().chain(ours.keys()).collect::<std::collections::BTreeSet<_>>();
            let line = |prefix: &String| {
                format!("{prefix}: {:?}, the daemon {:?}", ours.get(prefix), theirs.get(prefix))
            };
            let differs: Vec<String> = prefixes
                .into_iter()
                .filter(|prefix| ours.get(*prefix) != theirs.get(*prefix))
                .map(line)
                .collect();
            let shown = differs[..differs.len().min(10)].join("\n");
            panic!("{what}: {} of {} prefixes differ:\n{shown}", differs.len(), theirs.len());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Reads a file that a daemon may be writing.
fn of_file(path: &Path) -> Best {
    let options = ReadOptions { keep_going: true, add_path: AddPath::No, ..ReadOptions::default() };
    table::read(&Source::File(path.to_owned()), &options).map_or_else(|_| Best::new(), |loaded| best(&loaded))
}

fn best(loaded: &Loaded) -> Best {
    let name = |next_hop| loaded.tables.next_hops.get(next_hop).unwrap().to_string();
    let name = |next_hop| name(next_hop).trim_end_matches(" dev r0").to_owned();
    loaded.tables.ipv4.iter().map(|route| (route.prefix.to_string(), name(route.next_hop))).collect()
}

/// Follows what a router tells a station, in the router's namespace.
fn followed(network: &Network, policy: Policy) -> Arc<Mutex<Best>> {
    let best = Arc::<Mutex<Best>>::default();
    let shared = Arc::clone(&best);
    let station =
        network.in_router(move || Station::listen(("127.0.0.1", daemons::BMP_PORT), policy).unwrap());
    thread::spawn(move || {
        let mut followed = Followed::new(None, Value::NextHop, Budget::default()).unwrap();
        for (router, told) in station {
            let router = router.to_string();
            let mut best = shared.lock().unwrap();
            match told {
                Told::Event(_, event) => {
                    let change = |prefix: fibula::IpPrefix, value: Option<&fibula::NextHopInfo>| match value {
                        Some(value) => drop(best.insert(prefix.to_string(), value.to_string())),
                        None => drop(best.remove(&prefix.to_string())),
                    };
                    followed.play(&router, &event, change).unwrap();
                }
                Told::Damage(damage) => panic!("{damage}"),
                Told::Began | Told::Ended(..) => {
                    followed.forget(&router);
                    best.clear();
                }
                Told::Refused | Told::Unknown => {}
            }
        }
    });
    best
}

/// Draws peers and routes, and has a daemon learn them. Returns what it has chosen, once that is
/// what it prints in every way.
fn learned(daemon: &mut impl Daemon, network: &Network, drawn: &Drawn) -> Best {
    daemon.start(network, drawn);
    network.speak(drawn);
    let paths: usize = drawn.peers.iter().map(|peer| peer.remaining().count()).sum();
    network::wait("the routes", || daemon.paths(network) == paths);
    let theirs = daemon.best(network);
    for (question, text) in daemon.texts(network) {
        let loaded = table::parse(&text, &ReadOptions::default());
        let ours = loaded.map_or_else(
            |error| BTreeMap::from([(error.to_string(), question.clone())]),
            |loaded| best(&loaded),
        );
        if ours != theirs {
            println!("{question}: what it printed is in {}", kept(&[(question.clone(), text)]));
        }
        settles(&question, &theirs, || ours.clone());
    }
    theirs
}

#[test]
fn what_frr_chooses() {
    let Some(network) = Network::new("frr") else { return };
    let Some(mut frr) = Frr::new() else { return };
    let drawn = Drawn::new(1, ALL);
    let told = followed(&network, Policy::Pre);
    let theirs = learned(&mut frr, &network, &drawn);
    settles("FRR by BMP", &theirs, || told.lock().unwrap().clone());
    settles("FRR by MRT updates", &theirs, || of_file(&frr.updates()));
}

#[test]
fn what_frr_dumps() {
    let Some(network) = Network::new("frrd") else { return };
    let Some(mut frr) = Frr::new() else { return };
    let theirs = learned(&mut frr, &network, &Drawn::new(2, Kind { has_internal: false, ..ALL }));
    settles("FRR by an MRT dump", &theirs, || of_file(&frr.dump()));
}

#[test]
fn what_bird_chooses() {
    let Some(network) = Network::new("bird") else { return };
    let Some(mut bird) = Bird::new() else { return };
    let theirs = learned(&mut bird, &network, &Drawn::new(3, Kind { has_one_neighbour: true, ..ALL }));
    settles("BIRD by MRT updates", &theirs, || of_file(&bird.updates()));
}

#[test]
fn what_bird_dumps() {
    let Some(network) = Network::new("birdd") else { return };
    let Some(mut bird) = Bird::new() else { return };
    let kind = Kind { has_internal: false, has_one_neighbour: true, ..ALL };
    let theirs = learned(&mut bird, &network, &Drawn::new(4, kind));
    settles("BIRD by an MRT dump", &theirs, || of_file(&bird.dump(&network)));
}

#[test]
fn what_gobgp_chooses() {
    let Some(network) = Network::new("gobgp") else { return };
    let Some(mut gobgp) = GoBgp::new("pre-policy") else { return };
    let told = followed(&network, Policy::Pre);
    // Its file of updates has no OPENs, which tell identifiers.
    let kind = Kind { has_one_neighbour: true, has_equal_ids: false, ..ALL };
    let theirs = learned(&mut gobgp, &network, &Drawn::new(5, kind));
    settles("GoBGP by BMP", &theirs, || told.lock().unwrap().clone());
    settles("GoBGP by MRT updates", &theirs, || of_file(&gobgp.updates()));
}

#[test]
fn what_gobgp_tells_of_its_own_table() {
    let Some(network) = Network::new("gobgpo") else { return };
    let Some(mut gobgp) = GoBgp::new("local-rib") else { return };
    let told = followed(&network, Policy::Own);
    let theirs = learned(&mut gobgp, &network, &Drawn::new(6, ALL));
    settles("GoBGP by its Loc-RIB", &theirs, || told.lock().unwrap().clone());
}
