//! Reads addresses from files.

use super::capture;
use crate::blocks::{Blocks, hold};
use crate::{Budget, Content, Damage, Error, Report, Source, address};
use std::io::Read;
use std::net::IpAddr;

/// Reads the addresses of a file in order, of both families. A text file has one a line; empty
/// lines and lines that begin with `#` are skipped. Of a pcap or pcapng capture these are the
/// destinations of its IP packets, also under VLAN tags, PPPoE, PPP and MPLS; the report counts the
/// other packets. The first bytes tell which it is, and whether it is compressed.
///
/// # Errors
/// If the source cannot be read, a line is no address, or a capture is damaged or truncated. The
/// place is named.
pub fn read(source: &Source) -> Result<(Vec<IpAddr>, Report), Error> {
    let read = |mut head: Vec<u8>, content: &mut Content| {
        if capture::is_capture(&head) {
            hold(content, &mut head, Budget::default().memory)
                .map_err(|damage| Error::at(source, &damage))?;
            return parse(&head, source);
        }
        of_text(head.as_slice().chain(content), source)
    };
    Ok(source.open(None)?.read_as(source, false, read)?.0)
}

/// As [`read`], of content that is in memory; `source` is the name in errors.
///
/// ```
/// use fibula_io::{Source, trace};
/// let (addresses, _) = trace::parse(b"192.0.2.1\n2001:db8::1\n", &Source::StandardInput)?;
/// assert_eq!(addresses.len(), 2);
/// let error = trace::parse(b"192.0.2.1\n192.0.2.256\n", &Source::StandardInput).unwrap_err();
/// let expected = r#"standard input, line 2: "192.0.2.256" is no address (expected one a line)"#;
/// assert_eq!(error.to_string(), expected);
/// # Ok::<(), fibula_io::Error>(())
/// ```
///
/// # Errors
/// If a line is no address, or a capture is damaged or truncated. The place is named.
pub fn parse(content: &[u8], source: &Source) -> Result<(Vec<IpAddr>, Report), Error> {
    if capture::is_capture(content) {
        let found = capture::destinations(content);
        let found = found.map_err(|(byte, what)| Error::at(source, &Damage::byte(byte, what)))?;
        return Ok((found.all, found.report));
    }
    of_text(content, source)
}

/// Reads one address a line.
fn of_text(input: impl Read, source: &Source) -> Result<(Vec<IpAddr>, Report), Error> {
    let mut all = Vec::new();
    let read = Blocks::new(input, false).each_line(|line, text| {
        let text = text.map_err(|what| Damage::line(line, what))?.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            return Ok(());
        }
        all.push(address::parse(text).ok_or_else(|| refused(line, text))?);
        Ok(())
    });
    read.map_err(|damage| Error::at(source, &damage))?;
    Ok((all, Report::default()))
}

fn refused(line: u64, text: &[u8]) -> Damage {
    let text: String = String::from_utf8_lossy(text).chars().take(80).collect();
    Damage::line(line, format!("{text:?} is no address (expected one a line)"))
}
