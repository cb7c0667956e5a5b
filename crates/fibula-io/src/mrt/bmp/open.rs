//! [`Known`]: what the OPENs of a session say, which a Peer Up has.

/// What the Peer Up of a peer has told.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Whether its IPv4 and its IPv6 prefixes have path identifiers.
    pub(super) add_path: [bool; 2],
    /// Whether those have that the router sends to it.
    pub(super) add_path_out: [bool; 2],
    /// The AS of the router towards it, 0 if not told.
    pub(super) local_as: u32,
}

/// Returns what a Peer Up tells of the peer. It sends path identifiers if it says in its OPEN that
/// it may, and the router in its own that it takes them (RFC 7911).
pub(super) fn told(body: &[u8]) -> Option<Known> {
    let opens = body.get(20..)?; // the router's own address and ports
    let (sent, received) =
        opens.split_at_checked(u16::from_be_bytes(*opens.get(16..)?.first_chunk()?).into())?;
    let (takes, sends) = (Open::read(sent)?, Open::read(received)?);
    let has_ids = |from: &Open, to: &Open| {
        [0, 1].map(|family: usize| to.directions[family] & 1 != 0 && from.directions[family] & 2 != 0)
    };
    let (add_path, add_path_out) = (has_ids(&sends, &takes), has_ids(&takes, &sends));
    Some(Known { add_path, add_path_out, local_as: takes.asn })
}

/// What an OPEN says.
struct Open {
    /// The AS, by the capability of numbers of 4 bytes if it is there (RFC 6793).
    asn: u32,
    /// What ADD-PATH says of IPv4 and IPv6 unicast: 1 is to receive, 2 to send.
    directions: [u8; 2],
}

impl Open {
    fn read(open: &[u8]) -> Option<Self> {
        let length = usize::from(u16::from_be_bytes(*open.get(16..)?.first_chunk()?));
        let open = open.get(..length)?;
        let asn = u16::from_be_bytes(*open.get(20..)?.first_chunk()?).into();
        let mut found = Self { asn, directions: [0; 2] };
        let (mut parameters, is_long) = match open.get(28..)? {
            // RFC 9072: lengths of two bytes.
            [255, 255, _, _, rest @ ..] => (rest, true),
            [_, rest @ ..] => (rest, false),
            [] => return Some(found),
        };
        while let [kind, rest @ ..] = parameters {
            let (length, rest) = match (rest, is_long) {
                ([l0, l1, rest @ ..], true) => (usize::from(u16::from_be_bytes([*l0, *l1])), rest),
                ([length, rest @ ..], false) => (usize::from(*length), rest),
                _ => return None,
            };
            let (mut capabilities, after) = rest.split_at_checked(length)?;
            while *kind == 2
                && let [code, length, rest @ ..] = capabilities
            {
                let (value, after) = rest.split_at_checked((*length).into())?;
                if let (65, Some(octets)) = (*code, value.first_chunk::<4>()) {
                    found.asn = u32::from_be_bytes(*octets);
                }
                if *code == 69 {
                    for family in value.chunks_exact(4) {
                        match family {
                            [0, 1, 1, direction] => found.directions[0] = *direction,
                            [0, 2, 1, direction] => found.directions[1] = *direction,
                            _ => {}
                        }
                    }
                }
                capabilities = after;
            }
            parameters = after;
        }
        Some(found)
    }
}
