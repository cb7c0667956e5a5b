//! A service that answers lookups over UDP, and loads its table again on SIGHUP. Lookups go on
//! meanwhile: a packet is answered by the whole old table or by the whole new one. A table that
//! cannot be read is reported, and the old one stays. This program is its own client, too.
//!
//! ```text
//! 198.51.100.7: Antwerp
//! SIGHUP: 2 routes
//! 198.51.100.7: Bruges
//! SIGHUP: line 2: prefix length 33 is past the 32 bits of the family, 2 routes as before
//! 198.51.100.7: Bruges
//! ```

use anyhow::Context;
use fibula::table::live::{LiveTable, Settings, TableReader};
use fibula::{IpPrefix, Table};
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io, thread};

/// What is in the file at first, and at each SIGHUP.
const FILES: [&str; 3] = [
    "0.0.0.0/0 nowhere\n198.51.100.0/24 Antwerp\n",
    "0.0.0.0/0 nowhere\n198.51.100.0/24 Bruges\n",
    "0.0.0.0/0 nowhere\n198.51.100.0/33 Ghent\n",
];

/// Reads a table: a prefix and a name on each line.
fn load(path: &Path) -> anyhow::Result<Table<String>> {
    let text = fs::read_to_string(path)?;
    let lines = text.lines().zip(1..);
    lines.map(|(line, number)| route(line).with_context(|| format!("line {number}"))).collect()
}

fn route(line: &str) -> anyhow::Result<(IpPrefix, String)> {
    let (prefix, name) = line.split_once(' ').context("expected a prefix and a name")?;
    Ok((prefix.parse()?, name.to_owned()))
}

/// Loads the table again, and publishes it whole. Returns the number of routes.
fn reload(live: &mut LiveTable<String>, path: &Path) -> anyhow::Result<usize> {
    live.replace(load(path)?);
    live.publish()?;
    Ok(live.published().len())
}

/// Answers every packet, an address as text, by the name of its longest match.
fn serve(socket: &UdpSocket, mut reader: TableReader<String>) -> io::Result<()> {
    let mut packet = [0; 64];
    loop {
        // A reader that waits for packets must not hold a table up.
        reader.rest();
        let (length, client) = socket.recv_from(&mut packet)?;
        let text = str::from_utf8(&packet[..length]).unwrap_or_default();
        let found = text.parse::<IpAddr>().ok().and_then(|address| reader.guard().lookup_value(address));
        socket.send_to(found.map_or("no route", String::as_str).as_bytes(), client)?;
    }
}

/// Asks the service.
fn ask(client: &UdpSocket, address: &str) -> anyhow::Result<String> {
    client.send(address.as_bytes())?;
    let mut answer = [0; 64];
    let length = client.recv(&mut answer)?;
    Ok(str::from_utf8(&answer[..length])?.to_owned())
}

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.txt");
    fs::write(&path, FILES[0])?;

    // From here on SIGHUP no longer ends the program.
    let mut signals = Signals::new([SIGHUP])?;
    let mut live = LiveTable::new(load(&path)?, Settings::default());
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let service = socket.local_addr()?;
    let reader = live.reader(); // one a thread
    thread::spawn(move || serve(&socket, reader));

    // The writer is a thread of its own: loading takes as long as it takes.
    let (report, reports) = mpsc::channel();
    let loaded = path.clone();
    thread::spawn(move || {
        for _ in signals.forever() {
            let said = match reload(&mut live, &loaded) {
                Ok(routes) => format!("{routes} routes"),
                Err(error) => format!("{error:#}, {} routes as before", live.published().len()),
            };
            if report.send(said).is_err() {
                break;
            }
        }
    });

    let client = UdpSocket::bind("127.0.0.1:0")?;
    client.connect(service)?;
    client.set_read_timeout(Some(Duration::from_secs(10)))?;
    let address = "198.51.100.7";
    println!("{address}: {}", ask(&client, address)?);
    for text in &FILES[1..] {
        fs::write(&path, text)?;
        signal_hook::low_level::raise(SIGHUP)?;
        println!("SIGHUP: {}", reports.recv()?);
        println!("{address}: {}", ask(&client, address)?);
    }
    Ok(())
}
