//! A router as a process: it is asked over its socket, ends by SIGTERM, and leaves nothing.
#![cfg(all(feature = "router", target_os = "linux"))]

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A router in memory, which is killed when this is dropped.
struct Router(Child);

impl Router {
    fn start(socket: &Path) -> Self {
        Self::start_with(socket, &[])
    }

    fn start_with(socket: &Path, arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_fibula"))
            .args(["router", "run", "--memory", "--kernel", "--socket"])
            .arg(socket)
            .args(arguments)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while !ask(socket, &["status", "--format", "json"]).status.success() {
            assert!(Instant::now() < end, "the router does not answer");
            thread::sleep(Duration::from_millis(20));
        }
        Self(child)
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ask(socket: &Path, arguments: &[&str]) -> Output {
    let (command, rest) = arguments.split_first().unwrap();
    let mut fibula = Command::new(env!("CARGO_BIN_EXE_fibula"));
    fibula.args(["router", command, "--socket"]).arg(socket).args(rest).output().unwrap()
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bfd_is_checked_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (config, bfdd, socket) = (at("router.toml"), at("bfdd.sock"), at("router.sock"));
    fs::write(&config, format!("bfd = {bfdd:?}")).unwrap();
    let check = || {
        let mut fibula = Command::new(env!("CARGO_BIN_EXE_fibula"));
        fibula.args(["router", "run", "--memory", "--check", "--format", "csv", "--config"]).arg(&config);
        text(fibula.output().unwrap())
    };
    let told = check();
    assert!(told.contains("BFD at ") && told.contains("until bfdd is there, no gateway"), "{told}");
    let listener = UnixListener::bind(&bfdd).unwrap();
    let told = check();
    assert!(told.contains("true,,bfdd listens: gateways whose sessions fail are held down"), "{told}");
    drop(listener.accept().unwrap());

    let _router = Router::start_with(&socket, &["--config", config.to_str().unwrap()]);
    let mut stream = listener.accept().unwrap().0;
    let answer = r#"{"status":"ok"}"#;
    let down = r#"{"op":"status","peer-address":"10.2.0.2","state":"down","diagnostics":1}"#;
    for (kind, json) in [(1, answer), (4, down)] {
        stream.write_all(&[0, 0, 0, json.len() as u8, 0, 0, kind, 1]).unwrap();
        stream.write_all(json.as_bytes()).unwrap();
    }
    let line = "connected, 0 up, 1 down, 0 multihop; 1 gateways of 0 next hops held down";
    let end = Instant::now() + Duration::from_secs(30);
    while !text(ask(&socket, &["status"])).contains(line) {
        assert!(Instant::now() < end, "{}", text(ask(&socket, &["status"])));
        thread::sleep(Duration::from_millis(20));
    }
    let json = text(ask(&socket, &["status", "--format", "json"]));
    assert!(json.contains(r#"["10.2.0.2",null]"#), "{json}");
}

#[test]
fn a_router_answers_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("router.sock");
    let mut router = Router::start(&socket);
    let status: serde_json::Value =
        serde_json::from_str(&text(ask(&socket, &["status", "--format", "json"]))).unwrap();
    assert_eq!(status[0]["feeds"][0]["feed"], "kernel");
    assert!(text(ask(&socket, &["status"])).starts_with("forwards "));
    let rows = text(ask(&socket, &["lookup", "127.0.0.1", "::1", "--format", "csv"]));
    assert_eq!(rows.lines().count(), 3);
    assert!(rows.starts_with("address,prefix,leads\n127.0.0.1,"), "{rows}");
    text(ask(&socket, &["routes"]));
    text(ask(&socket, &["counters"]));
    let looks = text(ask(&socket, &["watch", "--interval", "0.01", "--count", "2"]));
    assert_eq!(looks.matches("forwards ").count(), 2);
    assert_eq!(looks.matches("a second").count(), 1);

    // A plane in memory forwards nothing that could be told.
    let error = |arguments: &[&str]| {
        let output = ask(&socket, arguments);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(error(&["trace"]).contains("this plane does not tell what becomes of packets"));
    let filter = error(&["trace", "udp", "from", "here", "to", "any"]);
    assert!(filter.contains("the filter: "), "{filter}");
    let file = folder.path().join("dropped.pcapng");
    let reason = error(&["capture", "--dropped", "no_route", "-w", file.to_str().unwrap()]);
    let expected = "--dropped no_route: packets are dropped for blackhole, malformed, spoofed, denied\n";
    assert!(reason.ends_with(expected) && !file.exists(), "{reason}");

    // Another router does not take its socket.
    let second = Command::new(env!("CARGO_BIN_EXE_fibula"))
        .args(["router", "run", "--memory", "--kernel", "--socket"])
        .arg(&socket)
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another router answers there"));

    rustix::process::kill_process(rustix::process::Pid::from_child(&router.0), rustix::process::Signal::TERM)
        .unwrap();
    assert!(router.0.wait().unwrap().success());
    assert!(!socket.exists());
    let gone = ask(&socket, &["status"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&gone.stderr).starts_with("fibula: no router at "));
}

#[test]
fn systemd_is_told_that_the_router_serves_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, told) = (folder.path().join("router.sock"), folder.path().join("notify.sock"));
    let systemd = std::os::unix::net::UnixDatagram::bind(&told).unwrap();
    systemd.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
    command.args(["router", "run", "--memory", "--kernel", "--socket"]).arg(&socket);
    command.env("NOTIFY_SOCKET", &told).env("WATCHDOG_USEC", "2000").env_remove("WATCHDOG_PID");
    let mut router = command.stderr(Stdio::null()).spawn().unwrap();
    let hear = || {
        let mut text = [0; 64];
        let length = systemd.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    assert_eq!([hear(), hear(), hear()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    assert!(Command::new("kill").arg(router.id().to_string()).status().unwrap().success());
    while hear() != "STOPPING=1" {}
    assert!(router.wait().unwrap().success());
}

#[test]
fn a_socket_that_a_killed_router_left_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("router.sock");
    drop(Router::start(&socket));
    assert!(socket.exists());
    drop(Router::start(&socket));
}

#[test]
fn a_table_in_a_file_is_a_feed() {
    let folder = tempfile::tempdir().unwrap();
    let [socket, config, table] =
        ["router.sock", "router.toml", "rib.txt"].map(|name| folder.path().join(name));
    fs::write(&table, "203.0.113.0/24 1\n203.0.113.128/25 2\n2001:db8:5::/48 2\n").unwrap();
    let leg = |last: u8| format!("{{ interface = 'lo', gateway = '192.0.2.{last}' }}");
    let legs = [leg(7), leg(8)].join(", ");
    fs::write(&config, format!("[table]\nfile = '{}'\nlegs = [{legs}]\n", table.display())).unwrap();
    let _router = Router::start_with(&socket, &["--config", config.to_str().unwrap()]);
    let rows =
        text(ask(&socket, &["lookup", "203.0.113.1", "203.0.113.129", "2001:db8:5::1", "--format", "csv"]));
    let expected = [
        "203.0.113.1,203.0.113.0/24,via 192.0.2.7 dev lo",
        "203.0.113.129,203.0.113.128/25,via 192.0.2.8 dev lo",
        "2001:db8:5::1,2001:db8:5::/48,via 192.0.2.8 dev lo",
    ];
    for (row, expected) in rows.lines().skip(1).zip(expected) {
        assert!(row.starts_with(expected), "{rows}");
    }
}

#[test]
fn the_files_of_acls_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (config, acl, socket) = (at("router.toml"), at("edge.acl"), at("router.sock"));
    fs::write(&acl, "deny tcp from any to any port 22\n").unwrap();
    fs::write(&config, format!("[acl]\nedge = {acl:?}")).unwrap();
    let mut router = Router::start_with(&socket, &["--config", config.to_str().unwrap()]);
    let reload = || ask(&socket, &["reload", "--format", "csv"]);
    assert_eq!(text(reload()), "acl,lines\nedge,1\n");
    fs::write(&acl, "deny tcp from any to any port 22\ndeny udp from any to any port 53\n").unwrap();
    assert_eq!(text(reload()), "acl,lines\nedge,2\n");
    fs::write(&acl, "deny all\n").unwrap();
    let error = reload();
    assert_eq!(error.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&error.stderr).contains("ACL edge, line 1: "));
    // The signal that does the same ends nothing.
    let kill = Command::new("kill").args(["-HUP", &router.0.id().to_string()]).status().unwrap();
    assert!(kill.success());
    text(ask(&socket, &["status"]));
    assert!(router.0.try_wait().unwrap().is_none());
}

#[test]
fn a_wrong_configuration_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("router.toml");
    fs::write(&file, "plane = 'memory'\n[fpm]\nlisten = 'here'\n").unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_fibula"))
        .args(["router", "run", "--config"])
        .arg(&file)
        .output()
        .unwrap();
    let error = String::from_utf8(run.stderr).unwrap();
    assert_eq!((run.status.code(), error.lines().count()), (Some(2), 1), "{error}");
    assert!(error.contains("router.toml") && error.contains("line 3"), "{error}");
}

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The router's page.
fn page() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/router.md")).unwrap()
}

/// Returns whether this process is root and has the commands that a test runs; says so if not.
fn has(commands: &[&str]) -> bool {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let missing = commands.iter().find(|name| !is_there(name));
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it takes root");
    } else if let Some(missing) = missing {
        eprintln!("skipped: there is no {missing}");
    } else {
        return true;
    }
    false
}

/// The five commands of the page, as they are there, but for the program: they are run beside
/// others, so the router has a socket and a BPF file system of its own.
#[test]
fn the_quick_start_is_a_router() {
    if !has(&["ip", "unshare", "nsenter", "ethtool", "ping"]) {
        return;
    }
    if Path::new("/run/netns/router").exists() || Path::new("/run/fibula/router.sock").exists() {
        eprintln!("skipped: somebody has a router here");
        return;
    }
    let page = page();
    let block = page.split("```sh\n").map(|rest| rest.split("```").next().unwrap());
    let block = block.into_iter().find(|block| block.contains("lab.sh")).unwrap();
    let lines: Vec<&str> = block.lines().collect();
    assert_eq!((lines.len(), lines[0]), (5, "cargo build --release --features router"));
    let commands = lines[1..].join("\n").replace("target/release/fibula", env!("CARGO_BIN_EXE_fibula"));
    let program = env!("CARGO_BIN_EXE_fibula");
    let folder = tempfile::tempdir().unwrap();
    let (told, dropped) = (folder.path().join("told"), folder.path().join("dropped.pcapng"));
    let (told, file) = (told.display(), dropped.display());
    let script = format!(
        "set -e
        look() {{
            \"$@\" 2> {told} &
            until grep -q 'from now on' {told}; do sleep 0.05; done
        }}
        mount --make-rprivate /
        mount -t bpf bpf /sys/fs/bpf
        trap 'kill %1 2> {told} || true; wait; sh crates/fibula-router/examples/lab.sh down' EXIT
        {commands}
        look {program} router trace icmp from any to 10.64.0.1 --count 2
        ip netns exec client ping -c 2 10.64.0.1
        wait $!
        ip -n router route add blackhole 10.65.0.0/16
        look {program} router capture --dropped blackhole --count 1 -w {file}
        ip netns exec client ping -c 9 -i 0.2 -W 1 10.65.0.1 || true
        wait $!
        {program} router counters --format csv
        kill %1
        wait %1
        nsenter --net=/run/netns/router {program} router run --kernel --generic -i r0 -i r1 --check
        {program} router detach"
    );
    let mut unshare = Command::new("unshare");
    let output = unshare.args(["--mount", "bash", "-c", &script]).current_dir(ROOT).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{error}");
    assert!(out.contains("3 received, 0% packet loss"), "{out}");
    assert!(out.contains("10.64.0.0/10") && out.contains("via 10.2.0.2 dev r1"), "{out}");
    let way = "\n  route    table 254: 10.64.0.0/10 via 10.2.0.2 dev r1\n  leg      by r1 to ";
    for told in ["icmp from 10.1.0.2 to 10.64.0.1, length 84\n", way, "\n  forwarded\n"] {
        assert!(out.contains(told), "{out}");
    }
    let (mut rest, mut found) = (&fs::read(&dropped).unwrap()[..], 0);
    while !rest.is_empty() {
        let (next, block) = pcap_parser::parse_block_le(rest).unwrap();
        if let pcap_parser::pcapng::Block::EnhancedPacket(packet) = block {
            assert!(
                packet.options[0].value.starts_with(b"blackhole") && packet.data[30..34] == [10, 65, 0, 1]
            );
            found += 1;
        }
        rest = next;
    }
    assert_eq!(found, 1);
    let forwarded = out.lines().find_map(|line| line.strip_prefix("forwarded,r0,")).unwrap();
    assert_ne!(forwarded.split(',').next(), Some("0"), "{out}");
}

#[test]
fn the_unit_and_the_user_are_as_the_page_says() {
    let folder = Path::new(ROOT).join("crates/fibula-router/systemd");
    if !has(&["systemd-analyze", "systemd-sysusers"]) {
        return;
    }
    let rating = Command::new("systemd-analyze")
        .args(["security", "--offline=true", "--no-pager"])
        .arg(folder.join("fibula-router.service"))
        .output()
        .unwrap();
    let rating = String::from_utf8_lossy(&rating.stdout).into_owned();
    let rating = rating.lines().find_map(|line| line.split("fibula-router.service: ").nth(1)).unwrap();
    let figure = rating.split(' ').next().unwrap();
    assert!(page().contains(&format!("an exposure of {figure}")), "{figure}");
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    let made = Command::new("systemd-sysusers")
        .arg(format!("--root={}", root.path().display()))
        .arg(fs::canonicalize(folder.join("fibula-router.sysusers.conf")).unwrap())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    assert!(fs::read_to_string(root.path().join("etc/passwd")).unwrap().starts_with("fibula:"));
    let pages = tempfile::tempdir().unwrap();
    let man = Command::new(env!("CARGO_BIN_EXE_fibula")).arg("man").arg(pages.path()).output().unwrap();
    assert!(man.status.success() && pages.path().join("fibula-router-run.1").exists());
}
