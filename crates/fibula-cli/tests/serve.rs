//! The service as a process: it says where it listens, reads again on SIGHUP, and ends by SIGTERM.
#![cfg(all(feature = "serve", target_os = "linux"))]

#[cfg(feature = "router")]
#[path = "../../fibula-router/tests/daemons/mod.rs"]
mod daemons;
mod feeds;
mod service;

use feeds::{end_of_rib, message, monitoring};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use service::{Service, until};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

#[test]
fn it_reads_again_on_sighup_and_ends_by_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib.txt");
    fs::write(&path, "10.0.0.0/8 1\n").unwrap();
    let mut service = Service::start(&["-t", path.to_str().unwrap()]);
    let row = |value: &str, generation: u64| {
        format!(
            "[{{\"address\":\"10.0.0.1\",\"prefix\":\"10.0.0.0/8\",\"next_hop\":{value},\
             \"table\":\"rib\",\"generation\":{generation}}}]\n"
        )
    };
    assert_eq!(service.get("/v1/lookup?addr=10.0.0.1"), row("1", 1));
    let mut told = || {
        let mut line = String::new();
        service.told.read_line(&mut line).unwrap();
        line
    };
    let hang_up = |service: &Child| kill_process(Pid::from_child(service), Signal::HUP).unwrap();
    fs::write(&path, "10.0.0.0/8 2\n").unwrap();
    hang_up(&service.child);
    assert_eq!(told(), format!("fibula: {}: read again, generation 2\n", path.display()));
    fs::write(&path, "10.0.0.0/8 3\n10.0.0.0/33 3\n").unwrap();
    hang_up(&service.child);
    let failure = told();
    assert!(failure.contains("line 2") && failure.ends_with("; generation 2 still answers\n"), "{failure}");
    assert_eq!(service.get("/v1/lookup?addr=10.0.0.1"), row("2", 2));
    kill_process(Pid::from_child(&service.child), Signal::TERM).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    let status = loop {
        if let Some(status) = service.child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn feeds_are_tables_that_change() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let feed = format!("mine={}", pipe.display());
    let mut service = Service::start(&["--follow", &feed, "--follow", "bmp:127.0.0.1:0"]);
    let mut line = String::new();
    service.told.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("fibula: listening at ").unwrap_or_else(|| panic!("{line}"));
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    writer.write_all(message("10.0.0.0/8", Some("192.0.2.1")).as_bytes()).unwrap();
    let question = "/v1/lookup?table=mine&addr=10.1.2.3";
    until(&service, question, r#""prefix":"10.0.0.0/8","next_hop":"192.0.2.1""#);
    writer.write_all(message("10.0.0.0/8", None).as_bytes()).unwrap();
    until(&service, question, r#""prefix":null"#);
    // What is none ends the feed, which is told.
    writer.write_all(b"{\"type\":7}\n").unwrap();
    until(&service, "/healthz", "no message of RIS Live");
    until(&service, "/v1/tables", "no message of RIS Live");
    // A router, whose table is stale without it, until it has told its routes again.
    let question = "/v1/lookup?table=127.0.0.1&addr=198.51.100.7";
    let route = r#""prefix":"198.51.100.0/24","next_hop":"203.0.113.1""#;
    for routes in [monitoring(), [monitoring(), end_of_rib()].concat()] {
        let mut router = TcpStream::connect(address).unwrap();
        router.write_all(&routes).unwrap();
        until(&service, question, route);
        let expected = if routes.len() == monitoring().len() {
            r#""errors":{"127.0.0.1":{"state":"loading""#
        } else {
            r#""errors":{"mine":"#
        };
        until(&service, "/healthz", expected);
        drop(router);
        until(&service, "/healthz", r#""errors":{"127.0.0.1":{"state":"stale""#);
        until(&service, question, route);
    }
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&end_of_rib()).unwrap();
    until(&service, question, r#""prefix":null"#);
    until(&service, "/healthz", r#""errors":{"mine":"#);
}

#[test]
fn the_table_of_a_router_that_stays_away_is_forgotten() {
    let mut service = Service::start(&["--follow", "bmp:127.0.0.1:0", "--max-stale", "1s"]);
    let line = service.line();
    let address = line.trim().strip_prefix("fibula: listening at ").unwrap_or_else(|| panic!("{line}"));
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&[monitoring(), end_of_rib()].concat()).unwrap();
    until(&service, "/v1/lookup?table=127.0.0.1&addr=198.51.100.7", r#""next_hop":"203.0.113.1""#);
    drop(router);
    until(&service, "/healthz", r#""errors":{"127.0.0.1":{"state":"stale""#);
    until(&service, "/v1/tables", "[]");
    until(&service, "/healthz", r#""status":"ok""#);
    // What it tells later is a table again.
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&[monitoring(), end_of_rib()].concat()).unwrap();
    until(&service, "/v1/lookup?table=127.0.0.1&addr=198.51.100.7", r#""next_hop":"203.0.113.1""#);
    until(&service, "/healthz", r#""status":"ok""#);
}

#[test]
fn what_a_router_sends_of_a_vrf_is_a_table() {
    let mut service = Service::start(&["--follow", "bmp:127.0.0.1:0", "--policy", "out", "--vrf", "0:7"]);
    let mut line = String::new();
    service.told.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("fibula: listening at ").unwrap_or_else(|| panic!("{line}"));
    // 198.51.101.0/24 is of the Adj-RIB-In of the global table.
    let mut received = monitoring();
    *received.last_mut().unwrap() = 101;
    let mut sent = monitoring();
    // The type of the peer, its flags, and the last octet of its distinguisher.
    (sent[6], sent[7], sent[15]) = (1, 0x50, 7);
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&[received, sent].concat()).unwrap();
    until(&service, "/v1/lookup?table=127.0.0.1&addr=198.51.100.7", r#""next_hop":"203.0.113.1""#);
    assert!(service.get("/v1/lookup?table=127.0.0.1&addr=198.51.101.7").contains(r#""prefix":null"#));
}

#[test]
fn each_view_of_a_router_is_a_table() {
    let arguments = ["--follow", "bmp:127.0.0.1:0", "--policy", "own,out,pre", "--vrf", "all"];
    let mut service = Service::start(&arguments);
    let line = service.line();
    let address = line.trim().strip_prefix("fibula: listening at ").unwrap_or_else(|| panic!("{line}"));
    // The type of the peer, its flags, the last octet of its distinguisher, and of the prefix.
    let of = |kind: u8, flags: u8, vrf: u8, third: u8| {
        let mut message = monitoring();
        (message[6], message[7], message[15]) = (kind, flags, vrf);
        *message.last_mut().unwrap() = third;
        message
    };
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&[of(0, 0, 0, 100), of(0, 0x50, 0, 101), of(1, 0, 7, 102)].concat()).unwrap();
    let tables = [("own", 100), ("pre", 100), ("out", 101), ("0-7-own", 102), ("0-7-pre", 102)];
    for (table, third) in tables {
        let path = format!("/v1/lookup?table=127.0.0.1-{table}&addr=198.51.{third}.7");
        until(&service, &path, r#""next_hop":"203.0.113.1""#);
        let routes = service.get(&format!("/v1/routes?table=127.0.0.1-{table}"));
        assert_eq!(routes.matches("prefix").count(), 1, "{table}: {routes}");
    }
    assert_eq!(service.get("/v1/tables").matches(r#""table":"#).count(), tables.len());
    drop(router);
    for (table, _) in tables {
        until(&service, "/healthz", &format!(r#""127.0.0.1-{table}":{{"state":"stale""#));
    }
    // It tells one view again, and all others wait for it.
    let mut router = TcpStream::connect(address).unwrap();
    let mut end = end_of_rib();
    end[7] = 0x50;
    router.write_all(&[of(0, 0x50, 0, 103), end].concat()).unwrap();
    until(&service, "/v1/lookup?table=127.0.0.1-out&addr=198.51.103.7", r#""next_hop":"203.0.113.1""#);
    until(&service, "/v1/lookup?table=127.0.0.1-out&addr=198.51.101.7", r#""prefix":null"#);
    let health = service.get("/healthz");
    assert_eq!(health.matches(r#""state":"stale""#).count(), tables.len() - 1, "{health}");
}

#[test]
fn a_pipe_that_has_ended_is_stale_and_a_file_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let [pipe, file] = ["pipe", "file"].map(|name| folder.path().join(name));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(&file, message("10.0.0.0/8", Some("192.0.2.1"))).unwrap();
    let (ending, whole) = (format!("ending={}", pipe.display()), format!("whole={}", file.display()));
    let mut service = Service::start(&["--follow", &whole, "--follow", &ending]);
    let mut told = String::new();
    service.told.read_line(&mut told).unwrap();
    assert_eq!(told, "fibula: whole: the feed has ended\n");
    let row = r#""prefix":"10.0.0.0/8","next_hop":"192.0.2.1""#;
    until(&service, "/v1/lookup?table=whole&addr=10.1.2.3", row);
    assert!(service.get("/healthz").starts_with(r#"{"status":"ok""#));
    let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
    writer.write_all(message("10.0.0.0/8", Some("192.0.2.1")).as_bytes()).unwrap();
    drop(writer);
    until(&service, "/healthz", r#""errors":{"ending":{"state":"stale""#);
    until(&service, "/v1/tables", r#""error":"the feed has ended""#);
    until(&service, "/v1/lookup?table=ending&addr=10.1.2.3", row);
}

#[test]
fn a_pipe_is_opened_again_and_what_it_does_not_tell_again_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut service = Service::start(&["--follow", pipe.to_str().unwrap(), "--max-stale", "3s"]);
    let write = |text: String| {
        // It waits until the pipe is opened again.
        let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        writer
    };
    let (one, other) = ("/v1/lookup?table=pipe&addr=10.1.2.3", "/v1/lookup?table=pipe&addr=10.9.9.9");
    let both = message("10.0.0.0/8", Some("192.0.2.1")) + &message("10.1.0.0/16", Some("192.0.2.1"));
    let writer = write(both);
    until(&service, one, r#""prefix":"10.1.0.0/16","next_hop":"192.0.2.1""#);
    until(&service, "/healthz", r#""status":"ok""#);
    drop(writer);
    until(&service, "/v1/tables", r#""state":"stale""#);
    let mut told = String::new();
    service.told.read_line(&mut told).unwrap();
    assert_eq!(told, "fibula: pipe: the feed has ended; it is opened again in 1s\n");
    let _writer = write(message("10.1.0.0/16", Some("192.0.2.2")));
    until(&service, one, r#""prefix":"10.1.0.0/16","next_hop":"192.0.2.2""#);
    // The other one is answered until it has been stale for so long.
    until(&service, other, r#""prefix":null"#);
    until(&service, "/healthz", r#""status":"ok""#);
    until(&service, one, r#""prefix":"10.1.0.0/16","next_hop":"192.0.2.2""#);
    told.clear();
    service.told.read_line(&mut told).unwrap();
    assert_eq!(told, "fibula: pipe: 1 prefixes were stale for 3s and are dropped\n");
}

#[test]
#[cfg(feature = "router")]
fn the_kernels_routing_tables_are_tables() {
    let Some(_space) = daemons::Space::new(&format!("fibula-serve-{}", std::process::id())) else { return };
    for line in [
        "ip route add 192.0.2.0/24 nexthop via 10.99.1.1 nexthop via 10.99.1.2 weight 2",
        "ip route add blackhole 10.60.0.0/16",
        "ip route add 10.68.0.0/16 via 10.99.1.1 table 100",
    ] {
        daemons::command(line);
    }
    let service = Service::start(&["--follow", "netlink", "--follow", "other=netlink:100"]);
    let lookup = |table: &str, address: &str| format!("/v1/lookup?table={table}&addr={address}");
    let route = |prefix: &str, value: &str| format!("\"prefix\":\"{prefix}\",\"next_hop\":\"{value}\"");
    until(&service, &lookup("main", "192.0.2.7"), &route("192.0.2.0/24", "10.99.1.1 dev r0"));
    until(&service, &lookup("main", "10.60.0.1"), &route("10.60.0.0/16", "blackhole"));
    until(&service, &lookup("main", "10.99.255.254"), &route("10.99.0.0/16", "dev r0"));
    until(&service, &lookup("main-100", "10.68.0.1"), &route("10.68.0.0/16", "10.99.1.1 dev r0"));
    until(&service, &lookup("other", "10.68.0.1"), &route("10.68.0.0/16", "10.99.1.1 dev r0"));
    daemons::command("ip route del 10.60.0.0/16");
    until(&service, &lookup("main", "10.60.0.1"), "\"prefix\":null");
    daemons::command("ip link set r0 down");
    until(&service, &lookup("main", "192.0.2.7"), "\"prefix\":null");
    until(&service, &lookup("other", "10.68.0.1"), "\"prefix\":null");
}

#[test]
#[cfg(feature = "router")]
fn zebra_tells_a_table_by_fpm() {
    use fibula_router::feed::writer::frame;
    use fibula_router::message::{Event, Leg, Target};

    let mut service = Service::start(&["--follow", "edge=fpm:127.0.0.1:0"]);
    let mut told = String::new();
    service.told.read_line(&mut told).unwrap();
    let address = told.trim().strip_prefix("fibula: FPM: listening at ").unwrap_or_else(|| panic!("{told}"));
    let mut zebra = TcpStream::connect(address).unwrap();
    // Interface 1 is always `lo`.
    let leg = Leg { interface: 1, gateway: Some([192, 0, 2, 1].into()), weight: 1 };
    let route = |table, target| {
        frame(&[Event::Route {
            table,
            prefix: "10.0.0.0/8".parse().unwrap(),
            metric: 20,
            protocol: 186,
            target,
        }])
    };
    zebra.write_all(&route(254, Some(Target::Legs([leg].into())))).unwrap();
    let question = "/v1/lookup?table=edge&addr=10.1.2.3";
    until(&service, question, r#""prefix":"10.0.0.0/8","next_hop":"192.0.2.1 dev lo""#);
    zebra.write_all(&route(7, Some(Target::Unreachable))).unwrap();
    until(&service, "/v1/lookup?table=edge-7&addr=10.1.2.3", r#""next_hop":"unreachable""#);
    zebra.write_all(&route(254, None)).unwrap();
    until(&service, question, r#""prefix":null"#);
    drop(zebra);
    for what in ["fibula: FPM: zebra at 127.0.0.1:", "fibula: FPM: session 1 ended; its routes stay"] {
        told.clear();
        service.told.read_line(&mut told).unwrap();
        assert!(told.starts_with(what), "{told}");
    }
    until(&service, "/v1/lookup?table=edge-7&addr=10.1.2.3", r#""next_hop":"unreachable""#);
}

#[test]
fn ten_thousand_connections_are_kept_and_answered() {
    const WANTED: u64 = 10_000;
    /// The files that a process has besides, those of the tests that run at the same time included.
    const OTHERS: u64 = 200;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let count = WANTED.min(limit.maximum.unwrap_or(u64::MAX).saturating_sub(OTHERS));
    if count < WANTED {
        eprintln!("{count} connections: the system allows no more");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib.txt");
    fs::write(&path, "10.0.0.0/8 1\n").unwrap();
    let most = (count + OTHERS).to_string();
    let limits = ["--max-connections", &most, "--max-per-client", &most];
    let service = Service::start(&[&["-t", path.to_str().unwrap()], &limits[..]].concat());
    let mut streams: Vec<TcpStream> =
        (0..count).map(|_| TcpStream::connect(&service.address).unwrap()).collect();
    // Twice on each: none was ended meanwhile.
    for _ in 0..2 {
        for stream in &mut streams {
            stream.write_all(b"GET /v1/lookup?addr=10.0.0.1 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        }
        for stream in &mut streams {
            let mut answer = String::new();
            let mut reader = BufReader::new(stream);
            while !answer.ends_with("]\n") {
                assert!(reader.read_line(&mut answer).unwrap() > 0, "{answer}");
            }
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"next_hop\":1,"), "{answer}");
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    eprintln!("{count} connections: {peak} KiB at most");
    assert!(peak < 100_000 + count * 32, "{peak} KiB for {count} connections");
}

#[test]
fn there_are_no_more_connections_than_files_may_be_open() {
    const FILES: u64 = 256;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib.txt");
    fs::write(&path, "10.0.0.0/8 AS1\n").unwrap();
    let mut service = Service::start_by(
        &format!("ulimit -n {FILES}; exec \"$0\" \"$@\""),
        &["-t", path.to_str().unwrap(), "--max-per-client", "1024"],
    );
    let mut told = String::new();
    service.told.read_line(&mut told).unwrap();
    assert_eq!(told, "fibula: the limit of 256 open files allows 96 connections\n");
    let idle: Vec<TcpStream> =
        (0..2 * FILES).map(|_| TcpStream::connect(&service.address).unwrap()).collect();
    assert!(service.get("/healthz").starts_with(r#"{"status":"ok""#));
    drop(idle);
}

#[test]
fn a_router_is_charged_for_its_own_routes_and_only_some_may_connect() {
    let arguments = ["--follow", "bmp:127.0.0.1:0", "--max-memory", "4M", "--bmp-share", "4%"];
    let mut service = Service::start(&[&arguments[..], &["--bmp-allow", "127.0.0.0/30,::1"]].concat());
    let mut told = String::new();
    let mut next = |service: &mut Service| {
        told.clear();
        service.told.read_line(&mut told).unwrap();
        told.clone()
    };
    let line = next(&mut service);
    let address = line.trim().strip_prefix("fibula: listening at ").unwrap_or_else(|| panic!("{line}"));
    let (stranger, router) = (from([127, 0, 0, 9], address), from([127, 0, 0, 1], address));
    drop(stranger);
    (&router).write_all(&monitoring()).unwrap();
    until(&service, "/v1/lookup?table=127.0.0.1&addr=198.51.100.7", r#""next_hop":"203.0.113.1""#);
    // Another one tells more and more routes.
    let flood = from([127, 0, 0, 2], address);
    let flooding = std::thread::spawn(move || {
        for at in 0_u32.. {
            let [_, _, high, low] = at.to_be_bytes();
            let mut more = monitoring();
            let end = more.len();
            more[end - 3..].copy_from_slice(&[10 + (at >> 16) as u8, high, low]);
            if (&flood).write_all(&more).is_err() {
                return; // sent away
            }
        }
    });
    flooding.join().unwrap();
    let lines: Vec<String> = std::iter::repeat_with(|| next(&mut service))
        .take_while(|line| !line.contains("sent away"))
        .collect();
    assert!(lines.iter().any(|line| line.contains("127.0.0.9 is refused: --bmp-allow")), "{lines:?}");
    until(&service, "/v1/lookup?table=127.0.0.1&addr=198.51.100.7", r#""next_hop":"203.0.113.1""#);
    assert!(!service.get("/v1/tables").contains("127.0.0.2"));
}

/// Connects from an address of loopback.
fn from(address: [u8; 4], to: &str) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    use std::net::SocketAddr;
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((address, 0))).unwrap();
    connect(&socket, &to.parse::<SocketAddr>().unwrap()).unwrap();
    socket.into()
}

#[test]
fn what_cannot_be_served_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib.txt");
    fs::write(&path, "10.0.0.0/8 1\n").unwrap();
    let path = path.to_str().unwrap();
    let listening = Service::start(&["-t", path]);
    let absent = folder.path().join("absent");
    for (arguments, what) in [
        (&["-t", absent.to_str().unwrap()][..], "absent: cannot be read: No such file"),
        (&["-t", "a b=x"], "expected NAME=FILE, with a name of letters"),
        (&["-t", path, "--tls-cert", path], "--tls-key <FILE>"),
        (&["-t", path, "--follow", path], "a table and a feed are called rib"),
        (&["--follow", path, "--follow", path], "two feeds are called rib"),
        (&["--follow", "netlink:255"], "expected netlink:TABLE, with the id of a table but 0 and 255"),
        (&["--follow", "ris-live:http://localhost/"], "expected one as wss://ris-live.ripe.net/v1/ws/?host="),
        (&["--follow", "ris-live:?moreSpecific=1"], "moreSpecific=1: expected true or false"),
        (&["--follow", "fpm:zebra"], "expected fpm:ADDRESS:PORT, as in fpm:127.0.0.1:2620"),
        #[cfg(feature = "router")]
        (&["--follow", "netlink", "--follow", "fpm:127.0.0.1:0"], "two feeds are called main"),
        #[cfg(feature = "router")]
        (&["--follow", "a=netlink", "--follow", "a-7=netlink:7"], "a-7 may be a table of the feed a too"),
        (&["-t", path, "--poll", "0s"], "expected more than no time"),
        (&["-t", path, "--shrink", "101%"], "expected a percentage from 0% to 100%"),
        (&["-t", path, "--shrink", "50"], "expected a percentage from 0% to 100%"),
        (&["-t", "/dev/null"], "/dev/null: is a device, expected a regular file"),
        (&["-t", path, "--listen", &listening.address], "Address already in use"),
        (&["-t", path, "--token-file", path], "a token of 12 characters: expected at least 16"),
    ] {
        let fibula = Command::new(env!("CARGO_BIN_EXE_fibula")).arg("serve").args(arguments).output();
        let Output { status, stderr, .. } = fibula.unwrap();
        let told = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(what), "{what} in {told}");
    }
}
