//! Figures of this process, as Prometheus' clients name them.

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use rustix::param::{clock_ticks_per_second, page_size};
use std::fs;

/// The fields of `/proc/self/stat` after the command's name (`proc(5)` counts two more): time in
/// user and kernel mode and since the machine began, in ticks, and pages in memory.
const USER: usize = 11;
const KERNEL: usize = 12;
const STARTED: usize = 19;
const PAGES: usize = 21;

/// Registers what the kernel tells of this process. What it does not tell is left out.
pub(super) fn register(registry: &mut Registry) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may have spaces and brackets.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    let seconds = |ticks: u64| ticks as f64 / clock_ticks_per_second() as f64;
    if let (Some(user), Some(kernel)) = (field(USER), field(KERNEL)) {
        let used = ConstCounter::new(seconds(user + kernel));
        registry.register_with_unit("process_cpu", "Processor time of this process", Unit::Seconds, used);
    }
    if let Some(pages) = field(PAGES) {
        let bytes = ConstGauge::new((pages * page_size() as u64).cast_signed());
        let help = "Memory of this process that is resident";
        registry.register_with_unit("process_resident_memory", help, Unit::Bytes, bytes);
    }
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let boot = stat.lines().find_map(|line| line.strip_prefix("btime ")?.parse::<u64>().ok());
    if let (Some(started), Some(boot)) = (field(STARTED), boot) {
        let start = ConstGauge::new(boot as f64 + seconds(started));
        let help = "When this process started, since 1970";
        registry.register_with_unit("process_start_time", help, Unit::Seconds, start);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let open = ConstGauge::new(i64::try_from(open.count()).unwrap_or(i64::MAX));
        registry.register("process_open_fds", "File descriptors that this process has open", open);
    }
}
