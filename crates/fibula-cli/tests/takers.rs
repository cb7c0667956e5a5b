//! What `fibula table convert` writes, as other programs take it: each loads the file and is asked
//! what it has.
//!
//! ```text
//!   table ──fibula table convert──▶ file ──▶ nft, ipset, bird, bgpd, mmdblookup ──▶ asked back
//! ```
//! Each runs in a network namespace of its own, so root is needed. A program that is not installed
//! is skipped; `cargo xtask test` installs them.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The prefixes of the table, without one that covers another.
const IPV4: usize = 300;
const IPV6: usize = 200;

/// Returns a table of both families without nested prefixes, so that no program merges them.
fn table(folder: &Path) -> PathBuf {
    let mut text = String::new();
    for number in 0..IPV4 {
        // Every other /24, so that none are neighbours.
        let _ = writeln!(text, "198.{}.{}.0/24 {}", 18 + number / 128, number % 128 * 2, 64_500 + number);
    }
    for number in 0..IPV6 {
        let _ = writeln!(text, "2001:db8:{:x}::/48 {}", 2 * number + 1, 64_500 + number);
    }
    let path = folder.join("table.txt");
    std::fs::write(&path, text).unwrap();
    path
}

/// Writes the table in a format, and returns where.
fn written(folder: &Path, format: &str) -> String {
    let output = folder.join(format!("written.{format}"));
    let convert = Command::new(env!("CARGO_BIN_EXE_fibula"))
        .args(["table", "convert", "--to", format, "-i"])
        .arg(table(folder))
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap();
    assert!(convert.status.success(), "{}", String::from_utf8_lossy(&convert.stderr));
    output.into_os_string().into_string().unwrap()
}

/// Returns whether a program can be tried here, and says so where not.
fn is_here(program: &str) -> bool {
    let is_root = Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    let is_installed = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output();
    let is_here = is_root && is_installed.is_ok_and(|output| output.status.success());
    if !is_here {
        println!("skipped: {program} is not installed, or this is not root");
    }
    is_here
}

/// Runs a script in a network namespace of its own, with the file as `$0`.
fn run(script: &str, file: &str) -> String {
    let output: Output = Command::new("unshare").args(["-n", "sh", "-ec", script, file]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compares the numbers of prefixes of each family in what a program says.
fn counted(said: &str, is_ipv4: impl Fn(&str) -> bool, is_ipv6: impl Fn(&str) -> bool) {
    let words = || said.split(|c: char| c.is_whitespace() || "[],{}".contains(c));
    let found = (words().filter(|word| is_ipv4(word)).count(), words().filter(|word| is_ipv6(word)).count());
    assert_eq!(found, (IPV4, IPV6), "{said}");
}

fn ipv4(word: &str) -> bool {
    word.starts_with("198.") && word.ends_with(".0/24")
}

fn ipv6(word: &str) -> bool {
    word.starts_with("2001:db8:") && word.ends_with("::/48")
}

#[test]
fn nft_takes_its_sets() {
    if !is_here("nft") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    counted(&run("nft -f $0; nft list table inet fibula", &written(folder.path(), "nftables")), ipv4, ipv6);
}

#[test]
fn ipset_restores_its_sets() {
    if !is_here("ipset") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    counted(&run("ipset restore < $0; ipset list", &written(folder.path(), "ipset-restore")), ipv4, ipv6);
}

#[test]
fn bird_reads_its_sets() {
    if !is_here("bird") || !is_here("birdc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let set = written(folder.path(), "bird-set");
    let configuration = folder.path().join("bird.conf");
    // Routes to more prefixes than the sets have, of which the sets let theirs in.
    let mut text = format!("router id 192.0.2.1;\nprotocol device {{}}\ninclude \"{set}\";\n");
    text += "protocol static { ipv4 { import where net ~ fibula_ipv4; };\n";
    for number in 0..2 * IPV4 {
        let _ = writeln!(text, "route 198.{}.{}.0/24 blackhole;", 18 + number / 256, number % 256);
    }
    text += "}\nprotocol static { ipv6 { import where net ~ fibula_ipv6; };\n";
    for number in 0..2 * IPV6 {
        let _ = writeln!(text, "route 2001:db8:{number:x}::/48 blackhole;");
    }
    std::fs::write(&configuration, text + "}\n").unwrap();
    let script = "bird -c $0 -s $0.s -P $0.p; birdc -s $0.s show route count; birdc -s $0.s down";
    let said = run(script, configuration.to_str().unwrap());
    for (count, table) in [(IPV4, "master4"), (IPV6, "master6")] {
        let line = format!("{count} of {count} routes for {count} networks in table {table}");
        assert!(said.contains(&line), "{said}");
    }
}

#[test]
fn frr_takes_its_prefix_lists() {
    const BGPD: &str = "/usr/lib/frr/bgpd";
    if !is_here(BGPD) || !is_here("vtysh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "ip link set lo up; d=$(dirname $0); {BGPD} -S -n -Z -d -p 0 -f $0 --vty_socket $d -i $d/pid; \
         vtysh --vty_socket $d -c 'show ip prefix-list fibula' -c 'show ipv6 prefix-list fibula'; kill $(cat $d/pid)"
    );
    counted(&run(&script, &written(folder.path(), "prefix-list")), ipv4, ipv6);
}

#[test]
fn iptables_restores_its_chain() {
    if !is_here("iptables-restore") || !is_here("ip6tables-restore") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(table(folder.path())).unwrap();
    let mut said = String::new();
    for (restore, save, is_six) in
        [("iptables-restore", "iptables-save", false), ("ip6tables-restore", "ip6tables-save", true)]
    {
        let one: String = text.split_inclusive('\n').filter(|line| line.contains(':') == is_six).collect();
        let path = folder.path().join("one.txt");
        std::fs::write(&path, one).unwrap();
        let fibula = env!("CARGO_BIN_EXE_fibula");
        let script = format!("{fibula} table convert -i $0 --to iptables | {restore}; {save}");
        said += &run(&script, path.to_str().unwrap());
    }
    counted(&said, ipv4, ipv6);
}

#[test]
fn mmdblookup_finds_the_values() {
    if !is_here("mmdblookup") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "mmdb");
    for (address, value) in [
        ("198.18.0.1", Some(64_500)),
        ("198.20.86.255", Some(64_799)),
        ("2001:db8:3::1", Some(64_501)),
        ("198.18.1.0", None),
    ] {
        let output = Command::new("mmdblookup").args(["--file", &file, "--ip", address]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let expected = value.map(|value| format!("{value} <uint32>"));
        assert_eq!(
            said.contains(expected.as_deref().unwrap_or("<uint32>")),
            value.is_some(),
            "{address}: {said}"
        );
    }
}

/// The package `maxminddb` of Python's environment for tests.
#[test]
fn maxminddb_has_every_prefix() {
    const COUNT: &str = "import sys, maxminddb
networks = {str(network): value for network, value in maxminddb.open_database(sys.argv[1])}
for line in open(sys.argv[2]):
    prefix, value = line.split()
    assert networks.pop(prefix) == {'autonomous_system_number': int(value)}, prefix
assert not networks, networks
print('all')";
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let has_it = Command::new(&python).args(["-c", "import maxminddb"]).status();
    if !has_it.is_ok_and(|status| status.success()) {
        println!("skipped: the package maxminddb is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, table) = (written(folder.path(), "mmdb"), table(folder.path()));
    let output = Command::new(python).args(["-c", COUNT, &file]).arg(table).output().unwrap();
    assert_eq!(output.stdout, b"all\n", "{}", String::from_utf8_lossy(&output.stderr));
}
