//! The study as a page: the generated part of `docs/gpu.md`.

use super::{CooperativeRow, Limits, Study, SweepRow, UpdateRow};
use std::fmt::Write;

/// The marker. Everything below this line is generated.
pub const MADE_BELOW: &str =
    "<!-- Below this line everything is written by `fibula study gpu -o docs/gpu.md`. -->";

/// Returns a page with a new part below [`MADE_BELOW`]. The text above stays.
///
/// ```
/// use fibula_gpu::study::{MADE_BELOW, with_made};
/// let page = format!("By hand.\n{MADE_BELOW}\nold\n");
/// assert_eq!(with_made(&page, "new\n"), format!("By hand.\n{MADE_BELOW}\n\nnew\n"));
/// assert_eq!(with_made("", "new\n"), format!("{MADE_BELOW}\n\nnew\n"));
/// ```
#[must_use]
pub fn with_made(page: &str, made: &str) -> String {
    let by_hand = page.split(MADE_BELOW).next().unwrap_or_default();
    format!("{by_hand}{MADE_BELOW}\n\n{made}")
}

/// Returns the generated part: limits, sweep, division and updates of each study.
#[must_use]
pub fn page(studies: &[Study], command: &str, device: &str, machine: &str) -> String {
    let mut page = format!("Made by `{command}`.\n\nDevice: {device}. Machine: {machine}.\n");
    for study in studies {
        let Study { engine, family, table, prefixes, .. } = study;
        let _ = write!(page, "\n## {engine}, {family}: {table}, {prefixes} prefixes\n\n");
        page.push_str(&limits(study));
        page.push_str("\n### Batches, streams and threads (SAIL, Figures 13 and 14)\n\n");
        page.push_str(&rows(&study.sweep, &SWEEP, sweep_cells));
        if !study.cooperative.is_empty() {
            page.push_str("\n### Processor and device together (Bloom filters, Figure 9)\n\n");
            page.push_str(&rows(&study.cooperative, &COOPERATIVE, cooperative_cells));
        }
        if !study.updates.is_empty() {
            page.push_str("\n### Updates under load\n\n");
            page.push_str(&rows(&study.updates, &UPDATES, update_cells));
        }
    }
    page
}

/// Writes the limits, and the share of each that the best rows reach, with the arithmetic.
fn limits(study: &Study) -> String {
    let best = |speed: fn(&SweepRow) -> f64| study.sweep.iter().map(speed).fold(0.0, f64::max);
    let (kernel, end_to_end) = (best(|row| row.kernel_mlps), best(|row| row.mlps));
    let Limits { bytes, address_bytes, answer_bytes, copy_in_gbs, copy_out_gbs, gather_m, .. } =
        &study.limits;
    let copy = study.limits.copy_mlps();
    let wrong: usize = study.sweep.iter().map(|row| row.mismatches).sum::<usize>()
        + study.cooperative.iter().map(|row| row.mismatches).sum::<usize>();
    let mut text = format!(
        "- Table on the device: {:.2} MB. Answers that differ from the processor's: {wrong}.\n\
         - Random sectors of 32 bytes out of as many bytes: {gather_m:.0} million a second. Kernel only: {kernel:.0} million \
         lookups a second, {:.0} % of it.\n\
         - Copies: {copy_in_gbs:.1} GB/s in, {copy_out_gbs:.1} GB/s out; at {address_bytes} bytes in and {answer_bytes} out a \
         lookup the smaller of {:.0} and {:.0}: {copy:.0} million lookups a second. End to end: {end_to_end:.0}, {:.0} % of it.\n",
        *bytes as f64 / 1e6,
        100.0 * kernel / gather_m,
        copy_in_gbs * 1e3 / *address_bytes as f64,
        copy_out_gbs * 1e3 / *answer_bytes as f64,
        100.0 * end_to_end / copy,
    );
    if let Some(best) = study.cooperative.iter().max_by(|a, b| a.both_mlps.total_cmp(&b.both_mlps)) {
        let CooperativeRow { buffer, mode, processor_mlps, device_mlps, both_mlps, gain, .. } = best;
        let _ = writeln!(
            text,
            "- Together at best, buffers of {buffer}, {mode}: {processor_mlps:.0} + {device_mlps:.0} = {:.0} at most, \
             {both_mlps:.0} reached: {gain:.2} times the better one alone.",
            processor_mlps + device_mlps,
        );
    }
    text
}

fn rows<R, const N: usize>(rows: &[R], header: &[&str; N], cells: fn(&R) -> [String; N]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let rule = vec!["---:".to_owned(); N];
    let body = rows.iter().map(|row| line(&cells(row)));
    [line(&header), line(&rule)].into_iter().chain(body).collect()
}

const SWEEP: [&str; 8] =
    ["batch", "streams", "blocks", "threads", "Mlps end to end", "latency us p50", "p99", "Mlps kernel only"];

fn sweep_cells(row: &SweepRow) -> [String; 8] {
    let chosen = |number: Option<u32>| number.map_or("own".into(), |number| number.to_string());
    [
        row.batch.to_string(),
        row.lanes.to_string(),
        chosen(row.blocks),
        chosen(row.threads),
        format!("{:.0}", row.mlps),
        format!("{:.1}", row.latency_us_p50),
        format!("{:.1}", row.latency_us_p99),
        format!("{:.0}", row.kernel_mlps),
    ]
}

const COOPERATIVE: [&str; 9] = [
    "buffer",
    "mode",
    "Mlps processor",
    "Mlps device",
    "Mlps both",
    "device's share",
    "gain",
    "us a buffer, device",
    "us a part, both",
];

fn cooperative_cells(row: &CooperativeRow) -> [String; 9] {
    [
        row.buffer.to_string(),
        row.mode.into(),
        format!("{:.0}", row.processor_mlps),
        format!("{:.0}", row.device_mlps),
        format!("{:.0}", row.both_mlps),
        format!("{:.2}", row.share),
        format!("{:.2}", row.gain),
        format!("{:.0}", row.device_us_p50),
        format!("{:.0}", row.both_us_p50),
    ]
}

const UPDATES: [&str; 7] =
    ["burst", "updates/s", "visible us p50", "p99", "bytes", "Mlps before", "Mlps during"];

fn update_cells(row: &UpdateRow) -> [String; 7] {
    [
        row.burst.to_string(),
        format!("{:.0}", row.updates_per_s),
        format!("{:.0}", row.visible_us_p50),
        format!("{:.0}", row.visible_us_p99),
        format!("{:.0}", row.bytes_p50),
        format!("{:.0}", row.mlps_before),
        format!("{:.0}", row.mlps_during),
    ]
}
