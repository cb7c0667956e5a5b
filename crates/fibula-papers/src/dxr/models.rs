//! The FX-8150 in model: Figure 3.

use super::speed::FIGURE_3;
use crate::Point;
use crate::machine::shared::Processor;

/// Cycles a second.
const CLOCK: f64 = 3.6e9;

/// The cores of a module, which share instruction fetch and decoding.
const MODULE: usize = 2;

/// The share of a lookup's instructions in which the shared part is held: a decoder for two cores
/// serves each in every other cycle. Not fitted.
const SHARED: f64 = 0.5;

/// What the exhibit says of the model.
pub(super) const MODEL: &str = "The model is of 4 modules of 2 cores that share a decoder. It is fitted to the paper's two rates of one core, repeated keys for the instructions of a lookup and random ones for what memory adds; those of 8 cores are predictions.";

/// Returns the rates of 1 to 8 cores for random and repeated keys.
pub(super) fn figure_3() -> Vec<Point> {
    let (_, random, repeated) = FIGURE_3[0];
    let instructions = CLOCK / (repeated * 1e6);
    let mut points = Vec::new();
    for (keys, alone) in [("random", random), ("repeated", repeated)] {
        let cycles = CLOCK / (alone * 1e6);
        let of_group = instructions * SHARED;
        let processor = Processor { alone: cycles - of_group, of_group, group: MODULE, of_all: 0.0 };
        for cores in 1..=8 {
            let mlps = processor.rate(cores) * CLOCK / 1e6;
            let known = FIGURE_3.iter().find(|known| known.0 == cores);
            let paper = known.map(|known| if keys == "random" { known.1 } else { known.2 });
            let point = Point::model(format!("D18R, {keys}, model"), cores, "Mlps", mlps).beside_any(paper);
            points.push(if cores == 1 { point.fitted() } else { point });
        }
    }
    points
}
