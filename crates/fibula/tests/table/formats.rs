//! Prefixes and tables from and to other crates: `serde`, and those that have prefixes.

use crate::prefix;
use fibula::{IpPrefix, NextHop, Prefix, Table};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

#[test]
fn a_table_is_a_map_of_text() {
    let table = Table::from([(prefix("2001:db8::/32"), 1), (prefix("10.0.0.0/8"), 2)]);
    let text = serde_json::to_string(&table).unwrap();
    assert_eq!(text, r#"{"10.0.0.0/8":2,"2001:db8::/32":1}"#);
    let read: Table<u32> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, table);
    assert_eq!(read.lookup_value([10, 1, 2, 3]), Some(&2));
    // As from an iterator, the last of several wins.
    let read: Table<u32> = serde_json::from_str(r#"{"::/0":1,"::/0":2}"#).unwrap();
    assert_eq!((read.len(), read.get(prefix("::/0"))), (1, Some(&2)));
}

#[test]
fn what_is_no_prefix_is_refused_by_name() {
    for (text, expected) in [
        (r#"{"10.0.0.1/8":1}"#, "10.0.0.1/8 has bits set after its length (host bits)"),
        (r#"{"x":1}"#, "\"x\" is not a prefix (expected address/length)"),
        (r#"{"::/0":"a"}"#, "invalid type: string \"a\", expected u32"),
        ("[]", "invalid type: sequence, expected a map from prefixes to values"),
    ] {
        let error = serde_json::from_str::<Table<u32>>(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(serde_json::from_str::<Prefix<u32>>("7").unwrap_err().to_string().contains("address/length"));
}

#[test]
fn prefixes_are_text_and_next_hops_numbers() {
    let four: Prefix<u32> = "192.0.2.0/24".parse().unwrap();
    let six: Prefix<u128> = "2001:db8::/32".parse().unwrap();
    let values = (four, six, IpPrefix::from(four), NextHop(7));
    let text = serde_json::to_string(&values).unwrap();
    assert_eq!(text, r#"["192.0.2.0/24","2001:db8::/32","192.0.2.0/24",7]"#);
    assert_eq!(
        serde_json::from_str::<(Prefix<u32>, Prefix<u128>, IpPrefix, NextHop)>(&text).unwrap(),
        values
    );
    assert!(serde_json::from_str::<Prefix<u32>>(r#""::/0""#).is_err());
}

#[test]
fn prefixes_of_ipnet_are_keys() {
    let net: IpNet = "10.1.2.3/8".parse().unwrap();
    let mut table = Table::from([(net, 1)]);
    assert_eq!(table.insert("2001:db8::/32".parse::<Ipv6Net>().unwrap(), 2), None);
    assert_eq!(table.insert("10.0.0.0/8".parse::<Ipv4Net>().unwrap(), 3), Some(1));
    let (found, value) = table.lookup([10, 9, 9, 9]).unwrap();
    assert_eq!((IpNet::from(found), *value), (net.trunc(), 3));
    assert_eq!(table.covering(net).count(), 1);
}

/// Prefixes go to a crate and back, and bits after the length are cleared.
macro_rules! there_and_back {
    ($name:ident: $v4:ty, $v6:ty, $either:ty, $masked:expr) => {
        #[test]
        fn $name() {
            for text in
                ["0.0.0.0/0", "192.0.2.0/24", "255.255.255.255/32", "::/0", "2001:db8::/32", "::1/128"]
            {
                let (ours, theirs): (IpPrefix, $either) = (text.parse().unwrap(), text.parse().unwrap());
                assert_eq!((<$either>::from(ours), IpPrefix::from(theirs)), (theirs, ours));
                match ours {
                    IpPrefix::V4(ours) => {
                        let theirs: $v4 = text.parse().unwrap();
                        assert_eq!((<$v4>::from(ours), Prefix::from(theirs)), (theirs, ours));
                        assert_eq!(
                            (<$either>::from(ours), IpPrefix::from(theirs)),
                            (theirs.into(), ours.into())
                        );
                    }
                    IpPrefix::V6(ours) => {
                        let theirs: $v6 = text.parse().unwrap();
                        assert_eq!((<$v6>::from(ours), Prefix::from(theirs)), (theirs, ours));
                        assert_eq!(
                            (<$either>::from(ours), IpPrefix::from(theirs)),
                            (theirs.into(), ours.into())
                        );
                    }
                }
            }
            let masked: Option<$either> = $masked;
            assert!(masked.is_none_or(|net| IpPrefix::from(net) == prefix("10.0.0.0/8")));
        }
    };
}

there_and_back!(cidr_and_back: cidr::Ipv4Cidr, cidr::Ipv6Cidr, cidr::IpCidr, None);
there_and_back!(
    ip_network_and_back: ip_network::Ipv4Network, ip_network::Ipv6Network, ip_network::IpNetwork, None
);
there_and_back!(ipnet_and_back: Ipv4Net, Ipv6Net, IpNet, Some("10.1.2.3/8".parse().unwrap()));
there_and_back!(
    ipnetwork_and_back: ipnetwork::Ipv4Network, ipnetwork::Ipv6Network, ipnetwork::IpNetwork,
    Some("10.1.2.3/8".parse().unwrap())
);
