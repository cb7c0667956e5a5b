//! The study as a Markdown page.

use super::{Effort, Row, What, Workload};
use fibula_image::table::any::compile;
use std::fmt::Write;

/// Returns the page of a study. `command` makes it again, and `machine` is where it was made.
///
/// # Errors
/// If a table exceeds a limit, which the study would have told before.
pub fn page(
    rows: &[Row],
    workload: &Workload<'_>,
    effort: Effort,
    command: &str,
    machine: &str,
) -> Result<String, fibula::Error> {
    let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    let ipv4 = compile("gpu-mosaic", None, workload.ipv4)?;
    let ipv6 = compile("gpu-mosaic6", None, workload.ipv6)?;
    let mut page = format!(
        "# How fast the XDP plane is\n\n\
         Made by `{command}`; every number below was measured by that run.\n\n\
         Machine: {machine}.\n\n\
         {} IPv4 routes in {:.1} MiB and {} IPv6 routes in {:.1} MiB, looked up by {} and {} addresses. All answers of the\n\
         program were compared with the tables' first. Medians of {} rounds in turn, in processor time of the one thread that\n\
         does everything.\n",
        workload.ipv4.len(),
        mebibytes(ipv4.image().bytes()),
        workload.ipv6.len(),
        mebibytes(ipv6.image().bytes()),
        workload.addresses4.len(),
        workload.addresses6.len(),
        effort.rounds,
    );
    let sections = [
        (What::Lookup, "Lookups inside a program", "Many in a row, so that they overlap."),
        (
            What::Packet,
            "Packets from one interface to another",
            "The whole program in native mode on veth interfaces, with a generator before it and a sink behind it, both included.\n\
             The reads of one lookup depend on each other, and packets do not overlap.",
        ),
    ];
    for (what, title, text) in sections {
        let _ = write!(page, "\n## {title}\n\n{text}\n\n");
        page.push_str("| family | looked up by | ns | M/s | fibula is faster, times |\n| --- | --- | ---: | ---: | ---: |\n");
        for row in rows.iter().filter(|row| row.what == what) {
            let Row { family, way, ns, fibula_times, .. } = row;
            let rate = 1e3 / ns;
            let _ = writeln!(page, "| {family} | {way} | {ns:.1} | {rate:.2} | {fibula_times:.1} |");
        }
    }
    Ok(page)
}
