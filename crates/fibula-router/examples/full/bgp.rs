//! A BGP speaker: it opens a session, announces and withdraws routes, and listens to nothing else.

use anyhow::{Context, bail};
use bgpkit_parser::models::capabilities::{
    BgpCapabilityType, FourOctetAsCapability, MultiprotocolExtensionsCapability,
};
use bgpkit_parser::models::{
    Afi, AsPath, AsnLength, AttrFlags, Attribute, AttributeValue, Attributes, BgpMessage, BgpOpenMessage,
    BgpUpdateMessage, Capability, CapabilityValue, NetworkPrefix, Nlri, OptParam, Origin, ParamValue, Safi,
};
use fibula::IpPrefix;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::thread;

/// The port of BGP.
pub(crate) const PORT: u16 = 179;

/// The types of messages.
const OPEN: u8 = 1;
const NOTIFICATION: u8 = 3;
const KEEPALIVE: u8 = 4;

/// How many prefixes an update has at most. One of 4096 bytes holds more, however long they are.
const IPV4_AN_UPDATE: usize = 750;
const IPV6_AN_UPDATE: usize = 220;

/// Where a route leads, and the last AS of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) gateway: IpAddr,
    pub(crate) origin: u32,
}

/// A session that is up.
#[derive(Debug)]
pub(crate) struct Speaker {
    stream: TcpStream,
    asn: u32,
}

impl Speaker {
    /// Opens a session over a connection. It has no hold time, so nobody sends keepalives.
    pub(crate) fn open(mut stream: TcpStream, asn: u32, id: Ipv4Addr) -> anyhow::Result<Self> {
        stream.set_nodelay(true)?;
        let family = |afi| Capability {
            ty: BgpCapabilityType::MULTIPROTOCOL_EXTENSIONS_FOR_BGP_4,
            value: CapabilityValue::MultiprotocolExtensions(MultiprotocolExtensionsCapability::new(
                afi,
                Safi::Unicast,
            )),
        };
        let long_as = Capability {
            ty: BgpCapabilityType::SUPPORT_FOR_4_OCTET_AS_NUMBER_CAPABILITY,
            value: CapabilityValue::FourOctetAs(FourOctetAsCapability::new(asn)),
        };
        let capabilities = vec![family(Afi::Ipv4), family(Afi::Ipv6), long_as];
        let open = BgpOpenMessage {
            version: 4,
            asn: asn.into(),
            hold_time: 0,
            bgp_identifier: id,
            extended_length: false,
            opt_params: vec![OptParam { param_type: 2, param_value: ParamValue::Capacities(capabilities) }],
        };
        stream.write_all(&encode(&BgpMessage::Open(open))?)?;
        while receive(&mut stream)? != OPEN {}
        stream.write_all(&encode(&BgpMessage::KeepAlive)?)?;
        while receive(&mut stream)? != KEEPALIVE {}
        let mut reader = stream.try_clone()?;
        thread::spawn(move || {
            while let Ok(kind) = receive(&mut reader) {
                if kind == NOTIFICATION {
                    eprintln!("bgpd ends the session of AS {asn}");
                }
            }
        });
        Ok(Self { stream, asn })
    }

    /// Sends messages.
    pub(crate) fn send(&mut self, messages: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(messages).with_context(|| format!("the session of AS {}", self.asn))
    }

    /// Returns the updates that announce prefixes, which are all of one family.
    pub(crate) fn announce(&self, path: Path, prefixes: &[IpPrefix]) -> anyhow::Result<Vec<u8>> {
        let as_path = AsPath::from_sequence([self.asn, path.origin]);
        let common = [AttributeValue::Origin(Origin::IGP), AttributeValue::AsPath(as_path)];
        let mut bytes = Vec::new();
        let size = if path.gateway.is_ipv4() { IPV4_AN_UPDATE } else { IPV6_AN_UPDATE };
        for some in prefixes.chunks(size) {
            let some = network_prefixes(some)?;
            let mut attributes: Vec<Attribute> = common.iter().cloned().map(Attribute::from).collect();
            let announced = if path.gateway.is_ipv4() {
                attributes.push(AttributeValue::NextHop(path.gateway).into());
                some
            } else {
                let nlri =
                    Nlri { prefixes: some.clone(), ..Nlri::new_reachable(some[0], Some(path.gateway)) };
                // Its length takes two bytes.
                let flag = AttrFlags::OPTIONAL | AttrFlags::EXTENDED;
                attributes.push(Attribute { flag, value: AttributeValue::MpReachNlri(nlri) });
                Vec::new()
            };
            bytes.extend(update(attributes, announced, Vec::new())?);
        }
        Ok(bytes)
    }

    /// Returns the update that withdraws a prefix.
    pub(crate) fn withdraw(prefix: IpPrefix) -> anyhow::Result<Vec<u8>> {
        let prefixes = network_prefixes(&[prefix])?;
        match prefix {
            IpPrefix::V4(_) => update(Vec::new(), Vec::new(), prefixes),
            IpPrefix::V6(_) => {
                let nlri = AttributeValue::MpUnreachNlri(Nlri::new_unreachable(prefixes[0]));
                update(vec![nlri.into()], Vec::new(), Vec::new())
            }
        }
    }
}

fn network_prefixes(prefixes: &[IpPrefix]) -> anyhow::Result<Vec<NetworkPrefix>> {
    let parsed = prefixes.iter().map(|prefix| prefix.to_string().parse::<NetworkPrefix>());
    Ok(parsed.collect::<Result<_, _>>()?)
}

fn update(
    attributes: Vec<Attribute>,
    announced_prefixes: Vec<NetworkPrefix>,
    withdrawn_prefixes: Vec<NetworkPrefix>,
) -> anyhow::Result<Vec<u8>> {
    let attributes = Attributes::from(attributes);
    encode(&BgpMessage::Update(BgpUpdateMessage { withdrawn_prefixes, attributes, announced_prefixes }))
}

fn encode(message: &BgpMessage) -> anyhow::Result<Vec<u8>> {
    Ok(message.encode(AsnLength::Bits32)?.to_vec())
}

/// Reads a message, and returns its type.
fn receive(stream: &mut TcpStream) -> anyhow::Result<u8> {
    let mut header = [0; 19];
    stream.read_exact(&mut header)?;
    let length = usize::from(u16::from_be_bytes([header[16], header[17]]));
    let Some(rest) = length.checked_sub(header.len()) else { bail!("a BGP message of {length} bytes") };
    stream.read_exact(&mut vec![0; rest])?;
    Ok(header[18])
}
