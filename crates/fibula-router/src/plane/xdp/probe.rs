//! Frames that only the program meets: what it would do with them.

use super::Xdp;
use crate::Error;
use aya::programs::{TestRun, TestRunOptions};

/// The room that the program may add to a frame: a VLAN tag, and some to spare.
const FRAME_GROWTH: usize = 64;

/// What the program did with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Where the frame goes.
    pub verdict: Verdict,
    /// The frame as it goes there.
    pub frame: Vec<u8>,
}

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nowhere.
    Drop,
    /// To the kernel, as it came.
    ToKernel,
    /// Out by an interface.
    Redirect,
}

impl Xdp {
    /// Runs the program on a frame as if it came in by an interface, and sends nothing. The frame
    /// is counted.
    ///
    /// # Errors
    /// If the plane was never started, packets do not come in by this interface, or the kernel
    /// refuses the frame (shorter than an Ethernet header, longer than a page).
    pub fn probe(&self, interface: &str, frame: &[u8]) -> Result<Probe, Error> {
        let what = || format!("probe {interface}");
        let known = self.interfaces.iter().find(|known| known.name == interface);
        let index = known.map(|known| known.index).ok_or_else(|| Error::System {
            what: what(),
            error: std::io::Error::other("packets do not come in by it"),
        })?;
        // A `struct xdp_md`: data, data_end, data_meta, ingress_ifindex, rx_queue_index,
        // egress_ifindex.
        let context = [0, frame.len() as u32, 0, index, 0, 0].map(u32::to_ne_bytes);
        let mut out = vec![0; frame.len() + FRAME_GROWTH];
        let options = TestRunOptions {
            data_in: Some(frame),
            data_out: Some(&mut out),
            ctx_in: Some(context.as_flattened()),
            ..TestRunOptions::new()
        };
        let program = self.started()?.loaded(self.program_name());
        let result = program.test_run(options).map_err(|error| Error::of_chain(what(), &error))?;
        out.truncate(result.data_size_out as usize);
        let verdict = match result.return_value {
            1 => Verdict::Drop,
            2 => Verdict::ToKernel,
            4 => Verdict::Redirect,
            other => unreachable!("the program returns drop, pass or redirect, not {other}"),
        };
        Ok(Probe { verdict, frame: out })
    }
}
