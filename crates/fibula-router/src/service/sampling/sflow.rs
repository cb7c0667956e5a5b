//! sFlow version 5 (sflow.org, "sFlow Version 5", July 2004): XDR, so all numbers are of 32 bits.

use super::Context;
use crate::plane::Sample;
use std::net::IpAddr;

/// The bytes of a sample beside its frame.
pub(super) const OVERHEAD: usize = 68;

/// The frame check sequence, which the program does not see, but the length of a frame includes.
const CHECK: u32 = 4;

fn add(bytes: &mut Vec<u8>, words: &[u32]) {
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
}

/// Writes a datagram of flow samples with raw headers. What packets there were is computed from the
/// rate: the program counts none beside what it samples.
pub(super) fn datagram(context: &Context, samples: &[Sample]) -> Vec<u8> {
    let mut bytes = Vec::new();
    add(&mut bytes, &[5]);
    match context.agent {
        IpAddr::V4(agent) => add(&mut bytes, &[1, agent.to_bits()]),
        IpAddr::V6(agent) => {
            let agent = agent.to_bits();
            add(&mut bytes, &[2]);
            add(&mut bytes, &[96, 64, 32, 0].map(|shift| (agent >> shift) as u32));
        }
    }
    add(&mut bytes, &[0, context.datagrams.wrapping_add(1), context.uptime_ms, samples.len() as u32]);
    for (sample, number) in samples.iter().zip(context.samples.wrapping_add(1)..) {
        let padded = sample.frame.len().next_multiple_of(4);
        let record = 16 + padded as u32;
        let pool = number.wrapping_mul(context.rate);
        // A flow sample, its length, number and source, and that the way out is not known.
        add(
            &mut bytes,
            &[1, 40 + record, number, sample.interface & 0xFF_FFFF, context.rate, pool, context.lost],
        );
        add(&mut bytes, &[sample.interface, 0, 1]);
        // A raw header of Ethernet.
        add(&mut bytes, &[1, record, 1, sample.bytes + CHECK, CHECK, sample.frame.len() as u32]);
        bytes.extend(&sample.frame);
        bytes.resize(bytes.len() + padded - sample.frame.len(), 0);
    }
    bytes
}
