//! IPFIX (RFC 7011) with the elements of packet sampling (RFC 5477). Each message has its template,
//! so that a collector that has just started reads it too.

use super::Context;
use crate::plane::Sample;

/// The bytes of a sample beside its frame.
pub(super) const OVERHEAD: usize = 16;

/// The number of the template, and its elements with their lengths: ingressInterface,
/// samplingPacketInterval, dataLinkFrameSize, dataLinkFrameSection of any length.
const TEMPLATE: u16 = 256;
const ELEMENTS: [(u16, u16); 4] = [(10, 4), (305, 4), (312, 2), (315, 0xFFFF)];

/// Sets of templates have this number.
const TEMPLATES: u16 = 2;

/// Writes a message with the template and a record for each sample.
pub(super) fn datagram(context: &Context, samples: &[Sample]) -> Vec<u8> {
    let mut template = Vec::new();
    template.extend([TEMPLATE, ELEMENTS.len() as u16].map(u16::to_be_bytes).concat());
    template.extend(ELEMENTS.iter().flat_map(|element| [element.0, element.1]).flat_map(u16::to_be_bytes));
    let mut records = Vec::new();
    for sample in samples {
        records.extend(sample.interface.to_be_bytes());
        records.extend(context.rate.to_be_bytes());
        records.extend(u16::try_from(sample.bytes).unwrap_or(u16::MAX).to_be_bytes());
        // A length below 255 is one byte.
        records.push(sample.frame.len().min(254) as u8);
        records.extend(&sample.frame[..sample.frame.len().min(254)]);
    }
    let mut message = Vec::new();
    let length = 16 + 4 + template.len() + 4 + records.len();
    message.extend([10, length as u16].map(u16::to_be_bytes).concat());
    // The number counts records of data, and the domain is the whole router.
    message.extend([context.seconds, context.samples, 0].map(u32::to_be_bytes).concat());
    for (number, set) in [(TEMPLATES, template), (TEMPLATE, records)] {
        message.extend([number, 4 + set.len() as u16].map(u16::to_be_bytes).concat());
        message.extend(set);
    }
    message
}
