//! Sets of prefixes as firewalls, routers and switches take them, written.
//!
//! The names of sets begin with `fibula`. Next hops are left out, but for those of P4.

use super::Tables;
use super::layouts::{Layout, Looks, Reader, Writer};
use fibula::{Address, IpPrefix, Prefix, Rib};
use std::io::{self, Write};

/// Returns a layout that only writes.
const fn only(write: fn(&Tables, &[String], &mut dyn Write) -> io::Result<()>) -> Layout {
    Layout {
        looks: Looks::Begins(|_| false),
        reader: Reader::Never,
        writer: Some(Writer::Whole(write)),
        endings: &[],
    }
}

pub(super) fn write_nftables(tables: &Tables, _: &[String], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "table inet fibula {{")?;
    for (name, kind, prefixes) in families(tables) {
        writeln!(out, "\tset {name} {{\n\t\ttype {kind}\n\t\tflags interval\n\t\tauto-merge")?;
        if !prefixes.is_empty() {
            let elements: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
            writeln!(out, "\t\telements = {{ {} }}", elements.join(",\n\t\t\t"))?;
        }
        writeln!(out, "\t}}")?;
    }
    writeln!(out, "}}")
}

/// `ipset restore`. A set of networks has no default route, so it is written as its two halves.
pub(super) const IPSET: Layout = only(|tables, _, out| {
    for (name, kind, prefixes) in families(tables) {
        let family = if kind == "ipv4_addr" { "inet" } else { "inet6" };
        let most = prefixes.len().next_power_of_two().max(65_536) * 2;
        writeln!(out, "create fibula-{name} hash:net family {family} maxelem {most}")?;
        for prefix in prefixes {
            for half in halves(prefix) {
                writeln!(out, "add fibula-{name} {half}")?;
            }
        }
    }
    Ok(())
});

/// `iptables-restore` or `ip6tables-restore`: a chain that drops what comes from the prefixes.
pub(super) const IPTABLES: Layout = only(|tables, _, out| {
    if !tables.ipv4.is_empty() && !tables.ipv6.is_empty() {
        let what = "iptables-restore takes one family, and the table has both";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    writeln!(out, "*filter\n:FIBULA - [0:0]")?;
    for prefix in all(tables) {
        writeln!(out, "-A FIBULA -s {prefix} -j DROP")?;
    }
    writeln!(out, "COMMIT")
});

/// Prefix lists of FRR, Cisco IOS and Arista EOS.
pub(super) const PREFIX_LIST: Layout = only(|tables, _, out| {
    for (number, prefix) in (1_u64..).zip(all(tables)) {
        let ip = if matches!(prefix, IpPrefix::V4(_)) { "ip" } else { "ipv6" };
        writeln!(out, "{ip} prefix-list fibula seq {} permit {prefix}", 5 * number)?;
    }
    Ok(())
});

pub(super) const JUNOS: Layout = only(|tables, _, out| {
    all(tables).iter().try_for_each(|prefix| writeln!(out, "set policy-options prefix-list fibula {prefix}"))
});

pub(super) const BIRD: Layout = only(|tables, _, out| {
    for (name, _, prefixes) in families(tables).into_iter().filter(|(_, _, prefixes)| !prefixes.is_empty()) {
        let prefixes: Vec<String> = prefixes.iter().map(ToString::to_string).collect();
        writeln!(out, "define fibula_{name} = [\n\t{}\n];", prefixes.join(",\n\t"))?;
    }
    Ok(())
});

/// Entries of the tables `ipv4_lpm` and `ipv6_lpm` for bmv2's `simple_switch_CLI`; the argument of
/// the action `set_next_hop` is the number of the next hop.
pub(super) const P4: Layout = only(|tables, _, out| {
    for route in &tables.ipv4 {
        writeln!(out, "table_add ipv4_lpm set_next_hop {} => {}", route.prefix, route.next_hop.0)?;
    }
    for route in &tables.ipv6 {
        writeln!(out, "table_add ipv6_lpm set_next_hop {} => {}", route.prefix, route.next_hop.0)?;
    }
    Ok(())
});

/// `first,last,value`: what every address answers, merged where neighbours answer the same.
pub(super) fn write_ranges(tables: &Tables, names: &[String], out: &mut dyn Write) -> io::Result<()> {
    fn of<A: Address>(rib: &Rib<A>, names: &[String], out: &mut dyn Write) -> io::Result<()> {
        for range in rib.ranges().filter(|range| range.next_hop.is_some()) {
            let name = super::csv::quote(&names[range.next_hop.0 as usize], ',');
            writeln!(out, "{},{},{name}", range.first.to_ip(), range.last.to_ip())?;
        }
        Ok(())
    }
    of(&tables.ipv4, names, out)?;
    of(&tables.ipv6, names, out)
}

fn all(tables: &Tables) -> Vec<IpPrefix> {
    let ipv4 = tables.ipv4.iter().map(|route| IpPrefix::from(route.prefix));
    ipv4.chain(tables.ipv6.iter().map(|route| route.prefix.into())).collect()
}

/// The prefixes of each family, with the name of its set and the type that nftables has for it.
fn families(tables: &Tables) -> [(&'static str, &'static str, Vec<IpPrefix>); 2] {
    let ipv4 = tables.ipv4.iter().map(|route| route.prefix.into()).collect();
    let ipv6 = tables.ipv6.iter().map(|route| route.prefix.into()).collect();
    [("ipv4", "ipv4_addr", ipv4), ("ipv6", "ipv6_addr", ipv6)]
}

/// Returns a prefix, or its two halves where it is a default route.
fn halves(prefix: IpPrefix) -> Vec<IpPrefix> {
    match prefix {
        IpPrefix::V4(all) if all == Prefix::ALL => {
            [0_u32, 1 << 31].map(|first| Prefix::containing(first, 1).into()).to_vec()
        }
        IpPrefix::V6(all) if all == Prefix::ALL => {
            [0_u128, 1 << 127].map(|first| Prefix::containing(first, 1).into()).to_vec()
        }
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, ReadOptions, Tables, parse, write};

    fn tables(text: &str) -> Tables {
        parse(text.as_bytes(), &ReadOptions::default()).unwrap().tables
    }

    fn written(text: &str, format: Format) -> String {
        let mut bytes = Vec::new();
        write(&tables(text), format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    const BOTH: &str = "10.0.0.0/8 a\n10.1.0.0/16 b\n2001:db8::/32 a\n";

    #[test]
    fn what_others_take() {
        assert_eq!(
            written(BOTH, Format::Nftables),
            "table inet fibula {\n\tset ipv4 {\n\t\ttype ipv4_addr\n\t\tflags interval\n\t\tauto-merge\n\
             \t\telements = { 10.0.0.0/8,\n\t\t\t10.1.0.0/16 }\n\t}\n\tset ipv6 {\n\t\ttype ipv6_addr\n\
             \t\tflags interval\n\t\tauto-merge\n\t\telements = { 2001:db8::/32 }\n\t}\n}\n"
        );
        let ipset = written("0.0.0.0/0 a\n", Format::IpsetRestore);
        assert!(ipset.contains("add fibula-ipv4 0.0.0.0/1\nadd fibula-ipv4 128.0.0.0/1\n"), "{ipset}");
        assert_eq!(
            written("10.0.0.0/8 a\n", Format::Iptables),
            "*filter\n:FIBULA - [0:0]\n-A FIBULA -s 10.0.0.0/8 -j DROP\nCOMMIT\n"
        );
        let lines = written(BOTH, Format::PrefixList);
        assert!(lines.ends_with("\nipv6 prefix-list fibula seq 15 permit 2001:db8::/32\n"), "{lines}");
        let lines = written(BOTH, Format::JunosPrefixList);
        assert!(lines.starts_with("set policy-options prefix-list fibula 10.0.0.0/8\n"), "{lines}");
        let lines = written(BOTH, Format::BirdSet);
        assert!(lines.starts_with("define fibula_ipv4 = [\n\t10.0.0.0/8,\n\t10.1.0.0/16\n];\n"), "{lines}");
        let lines = written(BOTH, Format::P4);
        assert!(lines.ends_with("table_add ipv6_lpm set_next_hop 2001:db8::/32 => 1\n"), "{lines}");
    }

    #[test]
    fn ranges_are_what_addresses_answer() {
        let lines = "10.0.0.0,10.0.255.255,a\n10.1.0.0,10.1.255.255,b\n10.2.0.0,10.255.255.255,a\n\
            2001:db8::,2001:db8:ffff:ffff:ffff:ffff:ffff:ffff,a\n";
        assert_eq!(written(BOTH, Format::Ranges), lines);
        assert_eq!(tables(lines).ipv4.ranges().count(), tables(BOTH).ipv4.ranges().count());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = write(&tables(BOTH), Format::Iptables, &mut Vec::new()).unwrap_err().to_string();
        assert_eq!(error, "iptables-restore takes one family, and the table has both");
        let options = ReadOptions { format: Some(Format::P4), ..Default::default() };
        let error = parse(b"", &options).unwrap_err().to_string();
        assert_eq!(error, "memory, byte 0: tables of this format are only written");
    }
}
