//! Collectors of the test's own: plain readers of both formats, by their documents.

use super::*;
use std::time::Duration;

/// Reads numbers from the beginning of bytes.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }
}

/// A sample as a collector reads it: interface, rate, length of the frame, the frame.
type Read = (u32, u32, u32, Vec<u8>);

/// Reads an sFlow datagram. Returns its number and its samples, each with its own number.
fn sflow(bytes: &[u8]) -> (u32, Vec<(u32, Read)>) {
    let mut reader = Reader(bytes);
    assert_eq!(reader.u32(), 5, "the version");
    assert_eq!((reader.u32(), reader.take(4)), (1, &[192, 0, 2, 1][..]), "the agent");
    assert_eq!(reader.u32(), 0, "one agent");
    let (number, _uptime, count) = (reader.u32(), reader.u32(), reader.u32());
    let samples = (0..count).map(|_| {
        assert_eq!(reader.u32(), 1, "a flow sample");
        let length = reader.u32() as usize;
        let mut sample = Reader(reader.take(length));
        let (number, source, rate, pool) = (sample.u32(), sample.u32(), sample.u32(), sample.u32());
        assert_eq!((pool, sample.u32()), (number * rate, 3), "packets and what was lost");
        let (input, output) = (sample.u32(), sample.u32());
        assert_eq!((source, output), (input, 0));
        assert_eq!((sample.u32(), sample.u32()), (1, 1), "one raw header");
        assert_eq!(sample.u32() as usize, sample.0.len(), "its length");
        assert_eq!(sample.u32(), 1, "of Ethernet");
        let (bytes, stripped, header) = (sample.u32(), sample.u32(), sample.u32() as usize);
        let frame = sample.take(header).to_vec();
        assert!(sample.0.len() < 4 && sample.0.iter().all(|byte| *byte == 0), "padding");
        (number, (input, rate, bytes - stripped, frame))
    });
    let samples = samples.collect();
    assert!(reader.0.is_empty(), "nothing follows");
    (number, samples)
}

/// Reads an IPFIX message. Returns its number and its records.
fn ipfix(bytes: &[u8]) -> (u32, Vec<Read>) {
    let mut reader = Reader(bytes);
    assert_eq!((reader.u16(), reader.u16() as usize), (10, bytes.len()));
    let (_seconds, number, domain) = (reader.u32(), reader.u32(), reader.u32());
    assert_eq!(domain, 0);
    assert_eq!(reader.u16(), 2, "a set of templates");
    let length = usize::from(reader.u16());
    let mut template = Reader(reader.take(length - 4));
    let (id, count) = (template.u16(), template.u16());
    let elements: Vec<(u16, u16)> = (0..count).map(|_| (template.u16(), template.u16())).collect();
    assert_eq!(reader.u16(), id);
    let length = usize::from(reader.u16());
    let mut set = Reader(reader.take(length - 4));
    assert!(reader.0.is_empty() && template.0.is_empty());
    let mut records = Vec::new();
    while !set.0.is_empty() {
        let mut record: Read = (0, 0, 0, Vec::new());
        for &(element, length) in &elements {
            let length = if length == 0xFFFF { set.take(1)[0].into() } else { usize::from(length) };
            let value = set.take(length);
            let number = || value.iter().fold(0, |number, &byte| number << 8 | u32::from(byte));
            match element {
                10 => record.0 = number(),
                305 => record.1 = number(),
                312 => record.2 = number(),
                315 => record.3 = value.to_vec(),
                other => panic!("element {other}"),
            }
        }
        records.push(record);
    }
    (number, records)
}

#[test]
fn collectors_read_every_sample_once() {
    let open = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket
    };
    let (of_sflow, of_ipfix) = (open(), open());
    let config = Sampling {
        rate: 1000,
        sflow: Some(of_sflow.local_addr().unwrap()),
        ipfix: Some(of_ipfix.local_addr().unwrap()),
        agent: Some("192.0.2.1".parse().unwrap()),
    };
    let mut sampler = sampler(&config).unwrap();
    let sample = |at: u32| Sample {
        interface: 2 + at % 3,
        bytes: 60 + at,
        frame: vec![at as u8; 60 + at as usize % 69],
    };
    let samples: Vec<Sample> = (0..300).map(sample).collect();
    let expected: Vec<Read> =
        samples.iter().map(|sample| (sample.interface, 1000, sample.bytes, sample.frame.clone())).collect();
    sampler(&samples[..1], 3);
    sampler(&[], 3);
    sampler(&samples[1..], 3);
    let mut buffer = [0; 2000];
    let mut receive = |socket: &UdpSocket| {
        let length = socket.recv(&mut buffer).unwrap();
        assert!(length <= DATAGRAM + 64, "{length}");
        buffer[..length].to_vec()
    };
    let (mut found, mut datagrams) = (Vec::new(), 0);
    while found.len() < expected.len() {
        let (number, samples) = sflow(&receive(&of_sflow));
        datagrams += 1;
        assert_eq!(number, datagrams);
        for (number, sample) in samples {
            found.push(sample);
            assert_eq!(number as usize, found.len());
        }
    }
    assert!(datagrams > 10 && found == expected);
    let mut found = Vec::new();
    while found.len() < expected.len() {
        let (number, records) = ipfix(&receive(&of_ipfix));
        assert_eq!(number as usize, found.len());
        found.extend(records);
    }
    assert!(found == expected);
}
