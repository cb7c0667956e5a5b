//! What a terminal adds to the text of a router: prompts and commands.

use super::words::{self, Words};

/// The words that a command begins with.
#[rustfmt::skip]
const VERBS: [&str; 15] = [
    "show", "sh", "get", "display", "dis", "do", "run", "ip", "/ip", "ipv6", "routing", "route", "netstat",
    "birdc", "bgpctl",
];

/// The words of commands that show a table, or a part of one.
#[rustfmt::skip]
const WORDS: [&str; 73] = [
    "ipv4", "routes", "bgp", "vrf", "all", "table", "router", "info", "info6", "routing-table", "route-table",
    "detail", "terse", "print", "unicast", "|", "no-more", "summary", "cef", "advertised-routes",
    "received-routes", "received", "neighbors", "neighbor", "neighbour", "protocol", "static", "connected", "direct",
    "local", "ospf", "isis", "rip", "eigrp", "active-path", "best", "exact", "longer-prefixes", "longer",
    "brief", "extensive", "instance", "interface", "forwarding", "vpnv4", "rd", "ipv4-family", "vpn-instance",
    "verbose", "inet", "inet6", "hidden", "receive-protocol", "advertising-protocol", "match-prefix",
    "community", "exclude", "include", "begin", "proto", "database", "vpn", "for", "primary", "where", "rib",
    "fib", "-6", "-4", "-d", "-n", "-rn", "-nr",
];

/// Words that a name follows.
#[rustfmt::skip]
const NAMED: [&str; 12] = [
    "vrf", "table", "instance", "router", "protocol", "interface", "neighbors", "vpn-instance", "include",
    "begin", "regexp", "route-map",
];

/// What IOS says of its load and its clock before each answer.
const LOAD: [&str; 3] = [
    "Load for five secs: ANY one minute: ANY five minutes: ANY",
    "Time source is NTP , ANY NAME NAME NAME NUM NUM",
    "Time source is hardware calendar , ANY NAME NAME NAME NUM NUM",
];

/// Returns whether a line is a prompt, a command that shows a table, both, or what IOS says before
/// its answer. SR OS shows where in its tree a prompt is.
pub(in super::super) fn is_prompt(text: &str) -> bool {
    let is_load = || LOAD.iter().any(|phrase| Words::new(text).whole(phrase).is_some());
    if ["[/]", "(ex)[/]", "*(ex)[/]"].contains(&text) || is_command(text) || is_load() {
        return true;
    }
    let Some(at) = text.find(['#', '>', '$']) else { return false };
    let (host, command) = (text[..at].trim_end(), text[at + 1..].trim());
    // FortiOS names its VDOM: `FGT (root) # get ...`.
    let host = host.split_once(" (").filter(|(_, rest)| rest.ends_with(')')).map_or(host, |(host, _)| host);
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-_./:@()~<[]".contains(c);
    let is_one = if command.is_empty() { !host.is_empty() } else { is_command(command) };
    is_one && host.chars().all(is_host)
}

/// Returns whether a text is a command with names, addresses and numbers where they may be. A line
/// of a configuration, `ip route 10.0.0.0 255.0.0.0 192.0.2.1`, is none.
fn is_command(text: &str) -> bool {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let Some((&first, others)) = words.split_first() else { return false };
    let is_address = |word: &str| words::address(word.split('/').next().unwrap_or_default()).is_some();
    let is_known = |(before, word): (&&str, &&str)| {
        NAMED.contains(before)
            || VERBS.contains(word)
            || WORDS.contains(word)
            || is_address(word)
            || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
    };
    let shows = words.iter().any(|word| ["show", "sh", "print", "get", "display", "dis"].contains(word));
    VERBS.contains(&first)
        && words.iter().zip(others).all(is_known)
        && (shows || !words.iter().any(|word| is_address(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_prompt_or_a_command() {
        for text in [
            "edge#",
            "user@host> show route table inet.0 10.0.0.4",
            "show ip route vrf red 192.0.2.1",
            "[admin@MikroTik] > /ip route print terse",
            "FGT (root) # get router info6 routing-table",
            "root@host:~# ip -6 route",
        ] {
            assert!(is_prompt(text), "{text}");
        }
        for text in [
            ">",
            "> 10.0.0.0/8 192.0.2.1",
            "ip route 10.0.0.0 255.0.0.0 192.0.2.1",
            "edge# ip route 10.0.0.0 255.0.0.0 192.0.2.1",
            "> to 192.0.2.2 via ge-0/0/1.0",
            "edge# show ip route frobnicate",
            "unicast",
            "10.0.0.0/8",
        ] {
            assert!(!is_prompt(text), "{text}");
        }
    }
}
