//! The baseline, which every processor of the architecture has; always compiled, always tested.

use super::Isa;

/// No instruction beyond the architecture's baseline.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl Isa for Scalar {
    const NAME: &'static str = "scalar";
}
