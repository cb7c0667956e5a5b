//! Samples: one frame of `sample_rate`, as it came.

use crate::common::{Framed, can_load_programs};
use crate::{IN_10, IN_DB8};
use fibula_router::plane::xdp::{Attachment, Mode, Options, Xdp};
use fibula_router::plane::{Plane, Sample};

fn sampled(sample_rate: u32) -> Xdp {
    let interfaces = vec![Attachment::of("lo")];
    let plain = Options::new("samples", interfaces, Mode::Unattached);
    let mut plane = Xdp::open(Options { sample_rate, ..plain }).unwrap();
    plane.start().unwrap();
    plane
}

#[test]
fn one_of_so_many_packets_is_a_sample_with_the_beginning_of_its_frame() {
    if !can_load_programs() {
        return;
    }
    let mut plane = sampled(1);
    let frames = [IN_10.frame(0), IN_10.frame(400), IN_DB8.frame(9), IN_10.frame(8000)];
    let probe = |plane: &Xdp, frame: &[u8]| drop(plane.probe("lo", frame).unwrap());
    for frame in &frames {
        probe(&plane, frame);
    }
    let expected: Vec<Sample> = frames
        .iter()
        .map(|frame| Sample {
            interface: 1,
            bytes: frame.len() as u32,
            frame: frame[..frame.len().min(128)].to_vec(),
        })
        .collect();
    assert_eq!(plane.samples().unwrap(), (expected, 0));
    assert_eq!(plane.samples().unwrap(), (Vec::new(), 0));
    // What finds no room is counted.
    (0..10_000).for_each(|_| probe(&plane, &frames[0]));
    let (samples, lost) = plane.samples().unwrap();
    assert!(lost > 0 && samples.len() as u64 + lost == 10_000, "{lost}");

    let mut plane = sampled(10);
    (0..20_000).for_each(|_| probe(&plane, &frames[0]));
    let count = plane.samples().unwrap().0.len();
    // 2,000 is expected, with a standard deviation of 42.
    assert!((1750..2250).contains(&count), "{count}");
}
