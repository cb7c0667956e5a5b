//! How fast the service answers, client and server on loopback:
//!
//! ```sh
//! cargo run --release -p fibula-serve --example speed
//! ```
//!
//! Serves the made table `internet` and streams addresses drawn from its prefixes, as NDJSON and as
//! Arrow. Prints addresses a second, and the processor time of client and server. With `serve ADDR`
//! it only serves, for a client such as `wrk`.

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_ipc::writer::StreamWriter;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{Format, write};
use fibula_serve::{Server, Settings};
use std::error::Error;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

/// The addresses of a stream.
const NDJSON: usize = 4_000_000;
const ARROW: usize = 64_000_000;

/// The rows of a batch.
const ROWS: usize = 1 << 16;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("internet");
    let tables = internet(Size::FULL, NextHopModel::Near(40), 1)?;
    write(&tables, Format::Text, &mut std::io::BufWriter::new(std::fs::File::create(&path)?))?;
    let prefixes: Vec<fibula::Prefix<u32>> = tables.ipv4.iter().map(|route| route.prefix).collect();
    let mut random = fastrand::Rng::with_seed(1);
    let mut address = || {
        let prefix = prefixes[random.usize(..prefixes.len())];
        let host = u64::from(prefix.last() - prefix.first()) + 1;
        prefix.first() + random.u64(..host) as u32
    };
    let only = std::env::args().nth(1).filter(|first| first == "serve");
    let listen: SocketAddr = match only.and(std::env::args().nth(2)) {
        Some(address) => address.parse()?,
        None => "127.0.0.1:0".parse()?,
    };
    let (send, receive) = channel();
    let settings = Settings::new(vec![("internet".into(), path)]);
    let server = thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let server = Server::bind(settings, listen).expect("the table is good");
            send.send((server.address(), server.handle())).expect("main waits");
            server.run().await;
        });
    });
    let (server_address, handle) = receive.recv()?;
    let server_address = server_address?;
    println!("{} IPv4 routes at {server_address}", prefixes.len());
    if listen.port() != 0 {
        return server.join().map_err(|_| "the server failed".into());
    }
    let mut body = String::new();
    for _ in 0..NDJSON {
        writeln!(body, "{{\"addr\":\"{}\"}}", Ipv4Addr::from_bits(address()))?;
    }
    for _ in 0..3 {
        stream(server_address, "application/x-ndjson", body.as_bytes(), NDJSON)?;
    }
    let batch = |addresses: Vec<u32>| {
        RecordBatch::try_from_iter([("addr", Arc::new(UInt32Array::from(addresses)) as ArrayRef)])
    };
    let mut writer = StreamWriter::try_new(Vec::new(), &batch(Vec::new())?.schema())?;
    for _ in 0..ARROW / ROWS {
        writer.write(&batch((0..ROWS).map(|_| address()).collect())?)?;
    }
    let body = writer.into_inner()?;
    for _ in 0..3 {
        stream(server_address, "application/vnd.apache.arrow.stream", &body, ARROW / ROWS * ROWS)?;
    }
    handle.stop();
    server.join().map_err(|_| "the server failed".into())
}

/// Sends a body and reads the answer at the same time. Prints what it took.
fn stream(server: SocketAddr, media: &str, body: &[u8], addresses: usize) -> Result<(), Box<dyn Error>> {
    let stream = TcpStream::connect(server)?;
    let (mut sending, mut receiving) = (stream.try_clone()?, stream);
    let head = format!(
        "POST /v1/lookup HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {media}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let (begin, before) = (Instant::now(), processor_seconds("self")?);
    let (client, bytes) = thread::scope(|scope| {
        let sent = scope.spawn(move || -> std::io::Result<f64> {
            sending.write_all(head.as_bytes())?;
            sending.write_all(body)?;
            processor_seconds("thread-self")
        });
        let read = scope.spawn(move || -> std::io::Result<(f64, usize)> {
            let (mut part, mut bytes) = (vec![0; 1 << 18], 0);
            loop {
                match receiving.read(&mut part)? {
                    0 => return Ok((processor_seconds("thread-self")?, bytes)),
                    read => bytes += read,
                }
            }
        });
        let sent = sent.join().expect("the sender ends")?;
        let (read, bytes) = read.join().expect("the reader ends")?;
        Ok::<_, std::io::Error>((sent + read, bytes))
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let server = processor_seconds("self")? - before - client;
    let rate = addresses as f64 / seconds / 1e6;
    println!(
        "{media}: {rate:.2} M addresses/s, {:.0} MB sent, {:.0} MB read in {seconds:.2} s; processor time: \
         server {server:.2} s, client {client:.2} s",
        body.len() as f64 / 1e6,
        bytes as f64 / 1e6,
    );
    Ok(())
}

/// Returns the processor time of this process or thread.
fn processor_seconds(of: &str) -> std::io::Result<f64> {
    /// Ticks of `/proc`, on every Linux.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{of}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and kernel mode (proc(5)).
    Ok(fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS)
}
