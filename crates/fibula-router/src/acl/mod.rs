//! [`Acl`]: lines that say which packets of an interface are forwarded.
//!
//! ```text
//! # the first line that matches holds; a packet that none matches is permitted
//! deny tcp from any to 192.0.2.0/24 port 22
//! permit udp from 198.51.100.0/24 port 53 to any port 1024-65535 length 0-512
//! deny 50 from 2001:db8::/32 to any
//! deny ip from any to any
//! ```
//! A line matches if all that it says is so: the protocol (a name, a number, or `ip` for all), the
//! prefixes, the ports, and the length of the packet from its IP header on. It is stateless. A
//! fragment after the first has no ports, so no line that names some matches it.
//!
//! [`Compiled`] is what a plane reads.

mod compiled;
#[doc(hidden)]
pub mod samples;

pub use compiled::{Compiled, Field, Lists};

use fibula::IpPrefix;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// How many lines an ACL has at most.
pub const LINES_MAX: usize = 2048;

/// The names of protocols, and which have ports.
const PROTOCOLS: [(&str, u8, bool); 11] = [
    ("icmp", 1, false),
    ("igmp", 2, false),
    ("tcp", 6, true),
    ("udp", 17, true),
    ("dccp", 33, true),
    ("gre", 47, false),
    ("esp", 50, false),
    ("icmp6", 58, false),
    ("ospf", 89, false),
    ("sctp", 132, true),
    ("udplite", 136, true),
];

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the text, from 1 on.
    pub number: usize,
    /// Whether packets that it matches are forwarded.
    pub is_permit: bool,
    /// Their protocol; `None` for any.
    pub protocol: Option<u8>,
    /// The prefix of their source, and of their destination; `None` for any.
    pub prefixes: [Option<IpPrefix>; 2],
    /// Their ports, of the source and the destination; `None` also for those without ports.
    pub ports: [Option<RangeInclusive<u16>>; 2],
    /// Their length from the IP header on, in bytes.
    pub length: RangeInclusive<u16>,
}

/// What lines look at in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The source and the destination, of one family.
    pub addresses: [IpAddr; 2],
    /// The protocol, after the extension headers of IPv6.
    pub protocol: u8,
    /// The ports of source and destination, if it has some.
    pub ports: Option<[u16; 2]>,
    /// The length from the IP header on, in bytes; 65,535 for what is longer.
    pub length: u16,
}

/// A list of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acl {
    /// Its name.
    pub name: String,
    /// Its lines in order.
    pub lines: Vec<Line>,
}

/// A text that is no ACL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ACL {name}, line {line}: {what}")]
pub struct Error {
    name: String,
    line: usize,
    what: String,
}

impl Line {
    /// Returns whether it matches a packet. The compiled form is compared with this.
    #[must_use]
    pub fn matches(&self, packet: &Packet) -> bool {
        let prefixes = self.prefixes.iter().zip(packet.addresses);
        let ports = self.ports.iter().enumerate();
        self.protocol.is_none_or(|protocol| protocol == packet.protocol)
            && self.length.contains(&packet.length)
            && prefixes
                .into_iter()
                .all(|(prefix, address)| prefix.is_none_or(|prefix| prefix.covers(IpPrefix::host(address))))
            && ports.into_iter().all(|(at, ports)| match (ports, packet.ports) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(ports), Some(of)) => ports.contains(&of[at]),
            })
    }
}

impl Line {
    /// Reads what a line says of packets, without the word that permits or denies them.
    ///
    /// # Errors
    /// If it cannot be read. The text says why.
    pub fn about(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = ["permit"].into_iter().chain(text.split_whitespace()).collect();
        parse(1, &words)
    }
}

impl Acl {
    /// Reads a list from text.
    ///
    /// # Errors
    /// If a line cannot be read, or there are more than [`LINES_MAX`]. The error names the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let mut lines = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            let wrong = |what: String| Error { name: name.into(), line: number, what };
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            if lines.len() == LINES_MAX {
                return Err(wrong(format!("more than {LINES_MAX} lines")));
            }
            lines.push(parse(number, &words).map_err(wrong)?);
        }
        Ok(Self { name: name.into(), lines })
    }

    /// Returns the first line that matches a packet.
    #[must_use]
    pub fn first(&self, packet: &Packet) -> Option<&Line> {
        self.lines.iter().find(|line| line.matches(packet))
    }
}

/// Reads the words of a line.
fn parse(number: usize, words: &[&str]) -> Result<Line, String> {
    let mut words = words.iter().copied();
    let mut next =
        |expected: &str| words.next().ok_or_else(|| format!("it ends where {expected} is expected"));
    let is_permit = match next("permit or deny")? {
        "permit" => true,
        "deny" => false,
        other => return Err(format!("expected permit or deny, found {other}")),
    };
    let protocol = protocol(next("a protocol")?)?;
    let mut line = Line {
        number,
        is_permit,
        protocol,
        prefixes: [None, None],
        ports: [None, None],
        length: 0..=u16::MAX,
    };
    let expect = |found: &str, expected: &str| {
        if found == expected { Ok(()) } else { Err(format!("expected {expected}, found {found}")) }
    };
    expect(next("from")?, "from")?;
    line.prefixes[0] = prefix(next("a prefix")?)?;
    match next("to")? {
        "port" => {
            line.ports[0] = Some(range(next("a port")?)?);
            expect(next("to")?, "to")?;
        }
        other => expect(other, "to")?,
    }
    line.prefixes[1] = prefix(next("a prefix")?)?;
    let mut rest = words;
    while let Some(word) = rest.next() {
        let value = || rest.next().ok_or_else(|| format!("it ends after {word}"));
        match word {
            "port" if line.ports[1].is_none() => line.ports[1] = Some(range({ value }()?)?),
            "length" => line.length = range({ value }()?)?,
            other => return Err(format!("expected port or length, found {other}")),
        }
    }
    if let [Some(source), Some(destination)] = line.prefixes
        && source.first().is_ipv4() != destination.first().is_ipv4()
    {
        return Err("its prefixes are of two families".into());
    }
    let has_ports =
        |protocol| PROTOCOLS.iter().any(|&(_, number, has_ports)| number == protocol && has_ports);
    if line.ports.iter().any(Option::is_some) && !line.protocol.is_some_and(has_ports) {
        return Err("only tcp, udp, dccp, sctp and udplite have ports".into());
    }
    Ok(line)
}

/// Returns the name that lines have for a protocol.
#[must_use]
pub fn protocol_name(protocol: u8) -> Option<&'static str> {
    PROTOCOLS.iter().find(|known| known.1 == protocol).map(|known| known.0)
}

fn protocol(word: &str) -> Result<Option<u8>, String> {
    if word == "ip" {
        return Ok(None);
    }
    let known = PROTOCOLS.iter().find(|(name, ..)| *name == word).map(|known| known.1);
    let number = known.or_else(|| word.parse().ok());
    number.map(Some).ok_or_else(|| format!("expected ip, a protocol's name or number, found {word}"))
}

fn prefix(word: &str) -> Result<Option<IpPrefix>, String> {
    if word == "any" {
        return Ok(None);
    }
    let host = word.parse::<IpAddr>().map(IpPrefix::host);
    host.or_else(|_| word.parse()).map(Some).map_err(|error: fibula::Error| error.to_string())
}

/// Reads a number, or two with a hyphen between.
fn range(word: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err(format!("expected a number up to 65535, or two in order as in 1024-65535, found {word}")),
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_permit { "permit " } else { "deny " })?;
        match self.protocol.map(|number| protocol_name(number).ok_or(number)) {
            None => f.write_str("ip")?,
            Some(Ok(name)) => f.write_str(name)?,
            Some(Err(number)) => write!(f, "{number}")?,
        }
        for (word, (prefix, ports)) in ["from", "to"].into_iter().zip(self.prefixes.iter().zip(&self.ports)) {
            match prefix {
                None => write!(f, " {word} any")?,
                Some(prefix) => write!(f, " {word} {prefix}")?,
            }
            if let Some(ports) = ports {
                write!(f, " port {}-{}", ports.start(), ports.end())?;
            }
        }
        if self.length != (0..=u16::MAX) {
            write!(f, " length {}-{}", self.length.start(), self.length.end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_written_or_the_error_names_its_place() {
        let text = "# nothing\n\ndeny tcp from any to 192.0.2.0/24 port 22  # ssh\n\
            permit udp from 198.51.100.7 port 53 to any port 1024-65535 length 0-512\n\
            deny 50 from 2001:db8::/32 to any\npermit ip from any to any\n";
        let acl = Acl::parse("edge", text).unwrap();
        let written: Vec<String> = acl.lines.iter().map(|line| format!("{} {line}", line.number)).collect();
        assert_eq!(
            written,
            [
                "3 deny tcp from any to 192.0.2.0/24 port 22-22",
                "4 permit udp from 198.51.100.7/32 port 53-53 to any port 1024-65535 length 0-512",
                "5 deny esp from 2001:db8::/32 to any",
                "6 permit ip from any to any",
            ]
        );
        for (line, what) in [
            ("allow ip from any to any", "expected permit or deny, found allow"),
            ("deny", "it ends where a protocol is expected"),
            ("deny foo from any to any", "expected ip, a protocol's name or number, found foo"),
            ("deny ip any to any", "expected from, found any"),
            ("deny ip from 10.0.0.0/33 to any", "prefix length 33 is past the 32 bits of the family"),
            ("deny ip from any to any port 1", "only tcp, udp, dccp, sctp and udplite have ports"),
            ("deny tcp from any to any port 9-8", "expected a number up to 65535, or two in order as in"),
            ("deny tcp from any to any port", "it ends after port"),
            ("deny ip from 10.0.0.0/8 to ::/0", "its prefixes are of two families"),
            ("deny ip from any to any log", "expected port or length, found log"),
        ] {
            let error = Acl::parse("edge", &format!("\n{line}")).unwrap_err().to_string();
            assert!(error.starts_with("ACL edge, line 2: ") && error.contains(what), "{error}");
        }
        let many = "deny ip from any to any\n".repeat(LINES_MAX + 1);
        assert!(Acl::parse("edge", &many).unwrap_err().to_string().ends_with("more than 2048 lines"));
    }

    #[test]
    fn a_fragment_has_no_ports_that_a_line_could_match() {
        let acl = Acl::parse("x", "deny tcp from any to any port 1\ndeny tcp from any to any").unwrap();
        let addresses = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        let mut packet = Packet { addresses, protocol: 6, ports: Some([9, 1]), length: 40 };
        assert_eq!(acl.first(&packet).unwrap().number, 1);
        packet.ports = None;
        assert_eq!(acl.first(&packet).unwrap().number, 2);
        packet.protocol = 17;
        assert_eq!(acl.first(&packet), None);
    }
}
