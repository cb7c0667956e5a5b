//! The suite, stamped on every engine of this crate.

fibula_suite::suite!(fibula_engines::for_each_engine, fibula_engines::ENGINES);

#[test]
fn every_stride_of_tree_bitmap_comes_back_from_a_snapshot() {
    for strides in ["12-5-5-5-5", "14-6-6-6", "11-7-7-7"] {
        let name = format!("tree-bitmap/strides={strides}");
        let engine = fibula_suite::Subject { engines: fibula_engines::ENGINES, name };
        for width in fibula::engine::WidthBits::ALL {
            fibula_suite::snapshots::come_back::<u32>(&engine, width);
            fibula_suite::snapshots::are_refused_or_end::<u32>(&engine, width);
        }
    }
}
