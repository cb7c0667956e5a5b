//! Every kernel as PTX, for two generations of cards, without a card.

use fibula_gpu::nvrtc;

#[test]
fn every_kernel_compiles_for_both_generations() {
    for (capability, target) in [((8, 0), ".target sm_80"), ((9, 0), ".target sm_90")] {
        let ptx = nvrtc::compile(capability).unwrap_or_else(|error| panic!("{error}")).to_src();
        assert!(ptx.contains(target), "{target}");
        let entry_points = nvrtc::entry_points();
        for name in &entry_points {
            assert!(ptx.contains(&format!(".visible .entry {name}(")), "{target}: no entry point {name}");
        }
        assert_eq!(ptx.matches(".visible .entry ").count(), entry_points.len(), "{target}");
        // Tables are read through the read-only path, leaves at their own width.
        for read in ["ld.global.nc.u8", "ld.global.nc.u16", "ld.global.nc.u32"] {
            assert!(ptx.contains(read), "{target}: no {read}");
        }
    }
}
