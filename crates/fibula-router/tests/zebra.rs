//! Who may tell routes by FPM: one session at a time, of users that are named, and only of what
//! came whole.
#![cfg(target_os = "linux")]

mod support;

use fibula_router::control::{Control, Limits, Settings, run};
use fibula_router::feed::zebra::{Options, Place, Server};
use fibula_router::feed::{Feed, Queue, writer};
use fibula_router::message::{Event, Target};
use fibula_router::plane::memory::Memory;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use support::{QUIET, Router};

type Shared = Arc<Queue<Router>>;

fn start(limits: Limits) -> (Shared, JoinHandle<Router>) {
    let queue = Shared::new(Queue::with_room(limits.waiting()));
    let settings = Settings { feeds: vec![Feed::Fpm], quiet: QUIET, limits, ..Settings::default() };
    let control = Control::new(Memory::with_engine("oracle"), settings);
    let shared = Arc::clone(&queue);
    (queue, thread::spawn(move || run(control, &shared)))
}

fn stop((queue, thread): (Shared, JoinHandle<Router>)) -> Router {
    queue.fill(|batch| batch.is_last = true);
    thread.join().unwrap()
}

fn listen(at: &Place, options: Options, queue: &Shared) -> Server {
    Server::listen(at, options, Arc::clone(queue)).unwrap()
}

fn any() -> Place {
    Place::Tcp((Ipv4Addr::LOCALHOST, 0).into())
}

fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.tcp_address().unwrap()).unwrap()
}

fn route(prefix: &str, table: u32) -> Vec<u8> {
    let (prefix, target) = (prefix.parse().unwrap(), Some(Target::Blackhole));
    writer::frame(&[Event::Route { table, prefix, metric: 20, protocol: 186, target }])
}

/// Returns the number of IPv4 routes of the main table, the session, and the refused connections.
fn state(queue: &Shared) -> (usize, u32, u64) {
    let (sender, receiver) = mpsc::channel();
    queue.fill(|batch| {
        batch.requests.push(Box::new(move |control| {
            let status = control.status();
            let main = status.tables.iter().find(|table| table.table == 254);
            let routes = main.map_or(0, |table| table.ipv4);
            sender.send((routes, status.feeds[0].session, status.counts.strangers)).unwrap();
        }));
    });
    receiver.recv().unwrap()
}

fn wait(queue: &Shared, expected: (usize, u32, u64)) {
    for _ in 0..2000 {
        if state(queue) == expected {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(state(queue), expected);
}

/// Returns whether the other end closes a connection.
fn is_closed(mut stream: impl Read) -> bool {
    matches!(stream.read(&mut [0]), Ok(0) | Err(_))
}

#[test]
fn a_stranger_neither_ends_the_session_nor_adds_routes() {
    let router = start(Limits::default());
    let queue = &router.0;
    let server = listen(&any(), Options { users: None, ..Options::default() }, queue);
    let mut zebra = connect(&server);
    zebra.write_all(&route("192.0.2.0/24", 254)).unwrap();
    wait(queue, (1, 1, 0));
    // One that says nothing, one that tells a default route, one that begins a frame.
    let silent = connect(&server);
    let mut stranger = connect(&server);
    stranger.write_all(&route("0.0.0.0/0", 254)).unwrap();
    assert!(is_closed(&stranger));
    let mut other = connect(&server);
    other.write_all(&[1, 1, 0, 200, 60, 0]).unwrap();
    drop(other);
    wait(queue, (1, 1, 2));
    zebra.write_all(&route("198.51.100.0/24", 254)).unwrap();
    wait(queue, (2, 1, 2));
    // Once the session has ended, another one begins.
    drop((zebra, silent));
    wait(queue, (2, 1, 3));
    connect(&server).write_all(&route("203.0.113.0/24", 254)).unwrap();
    wait(queue, (3, 2, 3));
    stop(router);
}

#[test]
fn a_silent_peer_is_closed_and_completes_nothing() {
    let router = start(Limits::default());
    let first = Duration::from_millis(50);
    let server = listen(&any(), Options { first, ..Options::default() }, &router.0);
    assert!(is_closed(connect(&server)));
    let mut slow = connect(&server);
    slow.write_all(&[1]).unwrap();
    assert!(is_closed(slow));
    wait(&router.0, (0, 0, 2));
    let control = stop(router);
    assert!(!control.status().feeds[0].connected && control.deadline().is_none());
}

#[test]
fn only_named_users_are_taken() {
    let router = start(Limits::default());
    let nobody = Options { users: Some(vec![u32::MAX - 7]), ..Options::default() };
    let server = listen(&any(), nobody.clone(), &router.0);
    assert!(is_closed(connect(&server)));
    wait(&router.0, (0, 0, 1));
    let path = std::env::temp_dir().join(format!("fibula-zebra-{}", std::process::id()));
    let at = Place::Unix(path.clone());
    let _server = listen(&at, nobody, &router.0);
    assert!(is_closed(UnixStream::connect(&path).unwrap()));
    wait(&router.0, (0, 0, 2));
    std::fs::remove_file(&path).unwrap();
    let me = Options { users: Some(vec![nix::unistd::geteuid().as_raw()]), ..Options::default() };
    let _server = listen(&at, me.clone(), &router.0);
    UnixStream::connect(&path).unwrap().write_all(&route("192.0.2.0/24", 254)).unwrap();
    wait(&router.0, (1, 1, 2));
    let server = listen(&any(), me, &router.0);
    let mut open = connect(&server);
    open.write_all(&route("198.51.100.0/24", 254)).unwrap();
    wait(&router.0, (2, 1, 2));
    stop(router);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_exceeds_a_limit_is_left_out_and_told() {
    let limits = Limits { tables: 3, routes: 50, next_hops: 10 };
    let router = start(limits);
    let server = listen(&any(), Options { users: None, ..Options::default() }, &router.0);
    let mut zebra = connect(&server);
    for table in 1..=20 {
        zebra.write_all(&route("192.0.2.0/24", table)).unwrap();
    }
    zebra.write_all(&route("192.0.2.0/24", 254)).unwrap();
    drop(zebra);
    let told = |router: &Router| router.counts().messages == 21;
    let mut control = None;
    for _ in 0..2000 {
        let (sender, receiver) = mpsc::channel();
        router.0.fill(|batch| {
            batch.requests.push(Box::new(move |control| sender.send(told(control)).unwrap()));
        });
        if receiver.recv().unwrap() {
            control = Some(());
            break;
        }
        thread::sleep(Duration::from_millis(5));
    }
    assert!(control.is_some(), "the messages come");
    let status = stop(router).status();
    assert_eq!((status.tables.len(), status.counts.left_out), (3, 18));
    assert_eq!(status.limit.as_deref(), Some("tables: 4 is more than the 3 that fit"));
}
