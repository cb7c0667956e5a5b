//! Routers that speak BMP, well and badly.

use fibula_io::Kind;
use fibula_io::mrt::bmp::{LENGTH_MAX, PEERS_MAX, Policy, Session, VIEWS_MAX, View, Views, Vrf, Vrfs};
use fibula_io::mrt::{Event, What};

/// The header of a peer of IPv4, by the last byte of its address.
fn peer(last: u8, flags: u8) -> Vec<u8> {
    let mut header = vec![0, flags];
    header.extend([0; 8]);
    header.extend([0; 12]);
    header.extend([192, 0, 2, last]);
    header.extend((64_500 + u32::from(last)).to_be_bytes());
    header.extend([0; 4]);
    header.extend(1_000_u32.to_be_bytes());
    header.extend(250_000_u32.to_be_bytes());
    header
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = (body.len() as u32 + 6).to_be_bytes();
    [&[3], &length[..], &[kind], &body].concat()
}

fn bgp(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16 + 19).to_be_bytes();
    [&[0xFF; 16], &length[..], &[kind], body].concat()
}

/// An UPDATE that withdraws and announces /24s of 198.51.x.0 by their third byte.
fn update(withdrawn: &[u8], announced: &[u8]) -> Vec<u8> {
    let of = |thirds: &[u8]| thirds.iter().flat_map(|&third| [24, 198, 51, third]).collect::<Vec<u8>>();
    let (withdrawn, announced) = (of(withdrawn), of(announced));
    // ORIGIN, AS_PATH of 64500, NEXT_HOP.
    let attributes: &[u8] = &[0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xFB, 0xF4, 0x40, 3, 4, 203, 0, 113, 1];
    let attributes = if announced.is_empty() { &[] } else { attributes };
    let lengths = [withdrawn.len(), attributes.len()].map(|length| (length as u16).to_be_bytes());
    bgp(2, &[&lengths[0][..], &withdrawn, &lengths[1], attributes, &announced].concat())
}

fn monitoring(last: u8, flags: u8, update: &[u8]) -> Vec<u8> {
    message(0, &[&peer(last, flags), update])
}

/// An OPEN with the capability ADD-PATH for IPv4 unicast, in this direction.
fn open(direction: u8) -> Vec<u8> {
    bgp(1, &[4, 0xFB, 0xF4, 0, 90, 192, 0, 2, 1, 8, 2, 6, 69, 4, 0, 1, 1, direction])
}

fn up(last: u8, sent: &[u8], received: &[u8]) -> Vec<u8> {
    message(3, &[&peer(last, 0), &[0; 20], sent, received])
}

fn down(last: u8) -> Vec<u8> {
    message(2, &[&peer(last, 0), &[4]])
}

/// Returns the events and errors of messages, as text.
fn told(bytes: &[u8], views: impl Into<Views>) -> Vec<String> {
    Session::new(bytes, views)
        .map(|event| match event {
            Ok(Event { peer, what, .. }) => {
                let peer = peer.address;
                match what {
                    What::Announce { prefix, path_id, path, .. } => {
                        let id = path_id.map_or_else(String::new, |id| format!(" id {id}"));
                        let via =
                            path.next_hop.map_or_else(|| "-".to_owned(), |next_hop| next_hop.to_string());
                        format!("{peer} + {prefix} {via}{id}")
                    }
                    What::Withdraw { prefix, .. } => format!("{peer} - {prefix}"),
                    What::EndOfRib { is_ipv6 } => format!("{peer} end of {}", if is_ipv6 { 6 } else { 4 }),
                    What::Open => format!("{peer} open"),
                    What::State { from, to } => format!("{peer} {from} {to}"),
                }
            }
            Err(damage) => damage.to_string(),
        })
        .collect()
}

#[test]
fn routes_come_and_go_by_peer() {
    let bytes = [
        message(4, &[&[0, 2, 0, 2], b"r1"]),
        up(1, &open(1), &open(1)),
        monitoring(1, 0, &update(&[], &[100, 101])),
        monitoring(2, 0, &update(&[100], &[])),
        message(1, &[&peer(1, 0), &[0; 4]]),
        down(1),
        message(5, &[&[0, 1, 0, 2, 0, 1]]),
        b"what is after the end is not read".to_vec(),
    ]
    .concat();
    assert_eq!(
        told(&bytes, Policy::Pre),
        [
            "192.0.2.1 1 6",
            "192.0.2.1 + 198.51.100.0/24 203.0.113.1",
            "192.0.2.1 + 198.51.101.0/24 203.0.113.1",
            "192.0.2.2 - 198.51.100.0/24",
            "192.0.2.1 6 1",
        ]
    );
    let mut session = Session::new(&bytes[..], Policy::Pre);
    let first =
        session.find_map(|event| event.ok().filter(|event| matches!(event.what, What::Announce { .. })));
    assert_eq!(first.unwrap().time.as_millis(), 1_000_250);
    assert_eq!(session.name(), Some("r1"));
}

#[test]
fn one_policy_is_followed_and_other_tables_are_counted() {
    let mut vrf = peer(3, 0);
    vrf[9] = 7;
    let mut loc_rib = peer(3, 0);
    loc_rib[0] = 3;
    let bytes = [
        monitoring(1, 0, &update(&[], &[100])),
        monitoring(1, 0x40, &update(&[], &[101])),
        monitoring(1, 0x10, &update(&[], &[102])),
        message(0, &[&vrf, &update(&[], &[103])]),
        message(0, &[&loc_rib, &update(&[], &[104])]),
    ]
    .concat();
    assert_eq!(told(&bytes, Policy::Pre), ["192.0.2.1 + 198.51.100.0/24 203.0.113.1"]);
    assert_eq!(told(&bytes, Policy::Post), ["192.0.2.1 + 198.51.101.0/24 203.0.113.1"]);
    let bytes = [bytes, monitoring(1, 0x50, &update(&[], &[105]))].concat();
    assert_eq!(told(&bytes, Policy::Out), ["192.0.2.1 + 198.51.105.0/24 203.0.113.1"]);
    let mut session = Session::new(&bytes[..], Policy::Pre);
    assert_eq!(session.by_ref().count(), 1);
    let notes: Vec<&str> = session.report().notes.iter().map(|note| &*note.what).collect();
    assert_eq!(
        notes,
        ["route after policy", "route of an Adj-RIB-Out", "route of a peer of a VRF", "route of a Loc-RIB"]
    );
}

#[test]
fn the_routers_own_table_is_followed_from_when_on_it_is_told() {
    let own = |flags| {
        let mut header = peer(9, flags);
        header[0] = 3;
        header
    };
    let mut of_vrf = own(0);
    of_vrf[9] = 7;
    let bytes = [
        up(1, &open(1), &open(1)),
        monitoring(1, 0, &update(&[], &[100])),
        message(3, &[&own(0), &[0; 20], &open(1), &open(1)]),
        monitoring(1, 0, &update(&[], &[101])),
        // The flag says that the table is filtered, as for peers that the address is of IPv6.
        message(0, &[&own(0x80), &update(&[], &[102])]),
        message(0, &[&of_vrf, &update(&[], &[103])]),
        message(2, &[&own(0), &[6]]),
    ]
    .concat();
    let own = [
        "192.0.2.1 1 6",
        "192.0.2.1 + 198.51.100.0/24 203.0.113.1",
        "192.0.2.1 6 1",
        "0.0.0.0 1 6",
        "0.0.0.0 + 198.51.102.0/24 203.0.113.1",
        "0.0.0.0 6 1",
    ];
    assert_eq!(told(&bytes, Policy::Own), own);
    let mut session = Session::new(&bytes[..], Policy::default());
    assert_eq!(session.by_ref().count(), own.len());
    let notes: Vec<&str> = session.report().of(Kind::LeftOut).map(|note| &*note.what).collect();
    assert_eq!(notes, ["route of a peer, beside the router's own table", "route of the Loc-RIB of a VRF"]);
    // Peers are followed alone where that is asked for.
    assert_eq!(told(&bytes, Policy::Pre).len(), 3);
}

#[test]
fn a_vrf_is_followed_alone() {
    // Peers of the VRFs 0:7 and 0:8 and the Loc-RIB of 0:7, beside the global table.
    let of = |kind: u8, vrf: u8, third: u8| {
        let mut header = peer(1, 0);
        (header[0], header[9]) = (kind, vrf);
        message(0, &[&header, &update(&[], &[third])])
    };
    let peers = [of(0, 0, 100), of(1, 7, 101), of(1, 8, 102), of(2, 7, 103), of(1, 7, 104)].concat();
    let view = |policy| View { policy, vrf: Some(Vrf::parse("0:7").unwrap()) };
    let thirds = |bytes: &[u8], view: View| -> Vec<String> {
        let third = |line: &String| Some(line.split_once(" + 198.51.")?.1.split_once('.')?.0.to_owned());
        told(bytes, view).iter().filter_map(third).collect()
    };
    assert_eq!(thirds(&peers, view(Policy::Pre)), ["101", "103", "104"]);
    assert_eq!(thirds(&peers, Policy::Pre.into()), ["100"]);
    let with_own = [peers, of(3, 7, 105), of(3, 0, 106), of(1, 7, 107)].concat();
    assert_eq!(thirds(&with_own, view(Policy::Own)), ["101", "103", "104", "105"]);
    let mut session = Session::new(&with_own[..], view(Policy::Own));
    assert!(session.by_ref().count() > 0);
    let notes: Vec<(&str, u64)> =
        session.report().of(Kind::LeftOut).map(|note| (&*note.what, note.count)).collect();
    let others = ("route of another table than the VRF's", 3);
    assert_eq!(notes, [others, ("route of a peer, beside the router's own table", 1)]);
}

#[test]
fn a_peer_of_the_routers_own_as_is_told_by_its_opens() {
    let internal = |my_as: u32| {
        let [a, b, c, d] = my_as.to_be_bytes();
        // AS_TRANS, and the capability of numbers of 4 bytes.
        let open = bgp(1, &[4, 0x5B, 0xA0, 0, 90, 192, 0, 2, 1, 8, 2, 6, 65, 4, a, b, c, d]);
        let bytes = [up(1, &open, &open), monitoring(1, 0, &update(&[], &[100]))].concat();
        let last = Session::new(&bytes[..], Policy::Own).last().unwrap().unwrap();
        last.speaker.is_internal
    };
    assert_eq!((internal(64_501), internal(64_502)), (Some(true), Some(false)));
}

#[test]
fn a_path_as_the_router_would_send_it_is_read_as_it_was_received() {
    let open = |asn: u16| bgp(1, &[&[4], &asn.to_be_bytes()[..], &[0, 90, 192, 0, 2, 1, 0]].concat());
    // The path begins with 64500. It is the router's own AS, or the peer's, or another one.
    let length = |local_as: u16| {
        let bytes = [up(1, &open(local_as), &open(64_501)), monitoring(1, 0, &update(&[], &[100]))].concat();
        let mut session = Session::new(&bytes[..], Policy::Pre);
        let last = session.by_ref().last().unwrap().unwrap();
        let What::Announce { path, .. } = last.what else { panic!("{last:?}") };
        let notes = session.report().notes.iter().map(|note| note.what.to_string()).collect::<Vec<_>>();
        (path.length, path.preference.neighbour, notes.len())
    };
    assert_eq!(length(64_500), (0, 0, 1));
    assert_eq!(length(64_501), (1, 64_500, 0));
    assert_eq!(length(64_999), (1, 64_500, 0));
}

#[test]
fn the_end_of_a_table_is_told_by_family() {
    let unreach = |attribute: &[u8]| {
        let length = (attribute.len() as u16).to_be_bytes();
        bgp(2, &[&[0, 0], &length[..], attribute].concat())
    };
    let bytes = [
        monitoring(1, 0, &update(&[], &[])),
        monitoring(1, 0, &unreach(&[0x80, 15, 3, 0, 2, 1])),
        monitoring(1, 0, &unreach(&[0x90, 15, 0, 3, 0, 1, 1])),
        // Of VPNs of IPv4.
        monitoring(1, 0, &unreach(&[0x80, 15, 3, 0, 1, 128])),
    ]
    .concat();
    assert_eq!(told(&bytes, Policy::Pre), ["192.0.2.1 end of 4", "192.0.2.1 end of 6", "192.0.2.1 end of 4"]);
}

#[test]
fn a_session_that_never_was_up_has_no_identifier() {
    let mut with_id = peer(1, 0);
    with_id[30..34].copy_from_slice(&[9, 9, 9, 9]);
    let bytes =
        [message(2, &[&peer(1, 0), &[2, 0, 0]]), message(3, &[&with_id, &[0; 20], &open(1), &open(1)])]
            .concat();
    let ids = Session::new(&bytes[..], Policy::Own).map(|event| event.unwrap().speaker.router_id);
    assert_eq!(ids.collect::<Vec<_>>(), [None, Some(0x0909_0909), Some(0x0909_0909)]);
}

#[test]
fn path_identifiers_are_as_the_opens_say() {
    let mut body = update(&[], &[]);
    // One prefix after an identifier.
    let attributes = &update(&[], &[100])[23..];
    let attributes = &attributes[..attributes.len() - 4];
    let length = (attributes.len() as u16).to_be_bytes();
    body = bgp(2, &[&[0, 0], &length[..], attributes, &[0, 0, 0, 9, 24, 198, 51, 100], &body[..0]].concat());
    let bytes = [up(1, &open(1), &open(2)), monitoring(1, 0, &body)].concat();
    assert_eq!(told(&bytes, Policy::Pre)[1], "192.0.2.1 + 198.51.100.0/24 203.0.113.1 id 9");
    // The router does not take them, so there are none.
    let bytes = [up(1, &open(2), &open(2)), monitoring(1, 0, &update(&[], &[100]))].concat();
    assert_eq!(told(&bytes, Policy::Pre)[1], "192.0.2.1 + 198.51.100.0/24 203.0.113.1");
}

#[test]
fn a_damaged_message_is_told_and_those_after_it_are_read() {
    let mut cut = update(&[], &[100]);
    let end = cut.len() - 3;
    cut.truncate(end);
    let bytes = [
        message(0, &[&peer(1, 0)[..30]]),
        monitoring(1, 0, &cut),
        monitoring(1, 0, &bgp(4, &[])),
        monitoring(2, 0, &update(&[], &[101])),
    ]
    .concat();
    let told = told(&bytes, Policy::Pre);
    assert_eq!(told[0], "byte 0: the header of the peer is cut off");
    assert!(told[1].starts_with("byte 36: "), "{told:?}");
    assert_eq!(told.last().unwrap(), "192.0.2.2 + 198.51.101.0/24 203.0.113.1");
    assert!(told.iter().any(|line| line.ends_with("the BGP message is no UPDATE, or damaged")), "{told:?}");
}

#[test]
fn a_session_that_breaks_or_lies_ends_there() {
    let good = monitoring(1, 0, &update(&[], &[100]));
    for cut in 1..good.len() {
        let told = told(&[&good[..], &good[..cut]].concat(), Policy::Pre);
        assert_eq!(told.len(), 2);
        assert!(
            told[1].starts_with(&format!("byte {}: the message is cut off: {cut} of its ", good.len())),
            "{told:?}"
        );
    }
    for length in [0, 5, LENGTH_MAX as u32 + 1, u32::MAX] {
        let mut lie = good.clone();
        lie[1..5].copy_from_slice(&length.to_be_bytes());
        let what = format!("byte 0: a message of {length} bytes, expected 6 to {LENGTH_MAX}");
        assert_eq!(told(&[lie, good.clone()].concat(), Policy::Pre), [what]);
    }
    assert_eq!(
        told(b"GET / HTTP/1.1\r\n\r\n", Policy::Pre),
        ["byte 0: a message of BMP version 71, expected 3"]
    );
}

#[test]
fn more_peers_than_fit_end_the_session() {
    let mut bytes = Vec::new();
    for number in 0..=PEERS_MAX as u32 {
        let mut header = peer(1, 0);
        header[26..30].copy_from_slice(&number.to_be_bytes());
        bytes.extend(message(2, &[&header, &[4]]));
    }
    let told = told(&bytes, Policy::Pre);
    assert_eq!(told.len(), PEERS_MAX + 1);
    assert!(told.last().unwrap().ends_with("more than 4096 peers, the limit of a session"));
}

#[test]
fn more_views_than_fit_end_the_session() {
    let mut bytes = Vec::new();
    for vrf in 1..=VIEWS_MAX as u16 {
        let mut header = peer(1, 0);
        header[0] = 1;
        header[8..10].copy_from_slice(&vrf.to_be_bytes());
        bytes.extend(message(0, &[&header, &update(&[], &[100])]));
    }
    let views = Views::new(vec![Policy::Pre], Vrfs::All);
    let told: Vec<_> = Session::new(&bytes[..], views).collect();
    // The global table is a view, too.
    assert_eq!(told.len(), VIEWS_MAX);
    let last = told.last().unwrap().as_ref().unwrap_err();
    assert!(last.to_string().ends_with("more than 1024 views, the limit of a session"), "{last}");
}

#[test]
fn details_are_read_where_they_are_asked_for() {
    let bytes = monitoring(1, 0, &update(&[], &[100]));
    for is_detailed in [false, true] {
        let views = Views::from(Policy::Own).detailed(is_detailed);
        let event = Session::new(&bytes[..], views).next().unwrap().unwrap();
        let What::Announce { path, .. } = event.what else { panic!("{event:?}") };
        assert_eq!(path.details.map(|details| details.as_path.elements.len()), is_detailed.then_some(1));
    }
}

#[test]
fn any_bytes_end() {
    let random = &mut fastrand::Rng::with_seed(7);
    let good = [up(1, &open(1), &open(2)), monitoring(1, 0, &update(&[9], &[100])), down(1)].concat();
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        assert!(told(&bytes, Policy::Pre).len() < 1000);
    }
}

#[cfg(target_os = "linux")]
mod station {
    use super::{monitoring, update};
    use fibula_io::Budget;
    use fibula_io::follow::Followed;
    use fibula_io::mrt::bmp::{Policy, Station, Told};
    use fibula_io::table::Value;
    use std::io::Write;
    use std::net::{IpAddr, SocketAddr, TcpStream};

    /// Takes what a station tells until a router's session has ended.
    fn until_gone(station: &mut Station, gone: IpAddr, followed: &mut Followed) -> Vec<String> {
        let mut lines = Vec::new();
        for (router, told) in station {
            let name = router.to_string();
            match told {
                Told::Began => lines.push(format!("{name} began {}", followed.forget(&name))),
                Told::Event(_, event) => followed.play(&name, &event, |_, _| {}).unwrap(),
                Told::Damage(damage) => lines.push(format!("{name} {damage}")),
                Told::Ended(..) => {
                    lines.push(format!("{name} ended"));
                    if router == gone {
                        break;
                    }
                }
                Told::Refused | Told::Unknown => lines.push(format!("{name} refused")),
            }
        }
        lines
    }

    #[test]
    fn more_than_the_budget_is_refused_and_forgotten() {
        let budget = Budget { memory: 100_000, ..Budget::default() };
        let mut followed = Followed::new(None, Value::NextHop, budget).unwrap();
        let mut station = Station::listen("127.0.0.1:0", Policy::Pre).unwrap();
        let mut flood = connect([127, 0, 0, 1], station.address());
        std::thread::spawn(move || {
            for peer in (0..=255).cycle() {
                let all: Vec<u8> = (0..=255).collect();
                if flood.write_all(&monitoring(peer, 0, &update(&[], &all))).is_err() {
                    return; // sent away
                }
            }
        });
        let mut why = None;
        while let Some((router, told)) = station.next() {
            match told {
                Told::Event(_, event) if why.is_none() => {
                    why = followed.play("one", &event, |_, _| {}).err();
                    if why.is_some() {
                        followed.forget("one");
                        station.close(router);
                    }
                }
                Told::Ended(..) => break,
                _ => {}
            }
        }
        assert_eq!(why.unwrap().to_string(), "the routes take more than 100000 of memory, the limit");
        assert_eq!(followed.bytes(), 0);
    }

    fn connect(from: [u8; 4], to: SocketAddr) -> TcpStream {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((from, 0))).unwrap();
        connect(&socket, &to).unwrap();
        socket.into()
    }

    #[test]
    fn a_router_that_breaks_takes_nothing_of_another() {
        let mut station = Station::listen("127.0.0.1:0", Policy::Pre).unwrap();
        let mut followed = Followed::new(None, Value::NextHop, Budget::default()).unwrap();
        let (one, two) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let mut good = connect([127, 0, 0, 1], station.address());
        good.write_all(&monitoring(1, 0, &update(&[], &[100, 101, 102]))).unwrap();
        let mut bad = connect([127, 0, 0, 2], station.address());
        bad.write_all(&[monitoring(1, 0, &update(&[], &[100])), vec![3, 0, 0, 0]].concat()).unwrap();
        drop(bad);
        let lines = until_gone(&mut station, two, &mut followed);
        assert!(
            lines.iter().any(|line| line.contains("127.0.0.2 byte 95: the message is cut off")),
            "{lines:?}"
        );
        assert_eq!(followed.len("127.0.0.2"), 1);
        assert_eq!(followed.forget("127.0.0.2"), 1);
        // The other goes on, and connects again without an end: the newest session counts.
        good.write_all(&monitoring(1, 0, &update(&[100], &[]))).unwrap();
        let mut again = connect([127, 0, 0, 1], station.address());
        again.write_all(&monitoring(1, 0, &update(&[], &[103]))).unwrap();
        drop(again);
        let mut lines = until_gone(&mut station, one, &mut followed);
        if followed.len("127.0.0.1") != 1 {
            // The first session was ended before the newest began, and its end was told first.
            lines = until_gone(&mut station, one, &mut followed);
        }
        assert_eq!(lines.last().unwrap(), "127.0.0.1 ended");
        assert_eq!(followed.len("127.0.0.1"), 1);
    }
}
