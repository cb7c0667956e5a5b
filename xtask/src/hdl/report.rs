//! `docs/hdl.md` and its drawing, made of what was measured.

use super::simulation::Simulated;
use super::synthesis::{Device, Routed};
use crate::run::root;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::Path;

/// The bits of a prefix in the Bloom filters of PBF (the paper, section 6.2).
const PBF_BITS: f64 = 18.755;

/// The blocks of 36 Kb of the paper's part, XC7VX1140T, and the clocks that the paper has for it,
/// in MHz.
const PAPER: (u64, [(&str, u32); 3]) = (1_880, [("sail_b", 351), ("sail_u", 405), ("sail_l", 479)]);

const BEGIN: &str = "\
# Hardware pipelines

`cargo xtask hdl` makes this page. The pipelines are in [`hdl/`](../hdl), and the host's side is the crate `fibula-hdl`.
Each takes one address and one written word a clock and gives one answer a clock. SAIL's are those of Yang et al.
(SIGCOMM 2014, sections 3, 5.1 and 6.2), `mosaic` is fibula's own, and `dir24_8` is DIR-24-8.

![The stages of a pipeline](hdl/pipeline.svg)

- On chip, one table a stage. A stage takes one clock, or two with a register behind its memory (`STAGE_CLOCKS`).
- Off chip, two memories behind queues: answers up to /24 (near), chunks of routes longer than /24 (far).
- A word travels beside an address. Each address sees exactly the words that entered before it. One that enters
  between the words of a change is answered as before the change or as after it.
";

const LARGER: &str = "
## A larger FPGA

The smallest sizes that hold larger tables, by the driver. The maps of SAIL_B and SAIL_U on chip are the same for every
IPv4 table, and 2^16 chunks of B24 are one for each /16. The memories off chip grow, and mosaic's tiles. A block of RAM
holds 36 Kb, and a memory may need more blocks than its bits. IPv6 is not built. It would be SAIL_L with a stage for
each of five levels (section 7 of the paper); below are its parts on chip, as the engine `sail-l6` holds them.

";

/// Writes the page and the drawing.
pub(super) fn write(
    vectors: &Path,
    simulated: &[Simulated],
    devices: &[Device],
    routed: &[Routed],
    larger: &str,
) -> Result<()> {
    let mut page = String::from(BEGIN);
    page += "\n## Simulation\n\nVerilator's models. *even*: the memories off chip are never busy, and the bench asserts the clocks of each address.\n\
             *rough*: the memories are busy at random, the queues fill, and the pipeline is reset in the middle.\n\n\
             | pipeline | stages on chip | clocks a stage | routes | changes | words | what the bench printed |\n\
             | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for run in simulated {
        let [_, changes, words, routes, _] = run.module.numbers[..] else { continue };
        for text in [&run.even, &run.rough] {
            let (stages, clocks) = (&run.module.stages, run.stage_clocks);
            writeln!(
                page,
                "| `{}` | {stages} | {clocks} | {routes} | {changes} | {words} | {} |",
                run.module.name,
                text.trim()
            )?;
        }
    }
    page += "\n## A lookup, followed\n\nThe reads of the model for one address. Memories up to 25 are on chip and named by their level; 32 is near, 33 is far.\n\
             The model of SAIL_B and SAIL_U stops at the longest level with a bit; the hardware reads all levels.\n\n\
             | pipeline | memory | index | data |\n| --- | ---: | ---: | ---: |\n";
    // What follows is the same for any number of clocks a stage.
    let simulated: Vec<&Simulated> = simulated.iter().filter(|run| run.stage_clocks == 1).collect();
    for run in &simulated {
        let name = run.module.name;
        let path = vectors.join(format!("{name}.followed"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                [address, answer, "."] => writeln!(page, "| `{name}` | {address} | next hop | {answer} |")?,
                [memory, index, data] => writeln!(page, "| `{name}` | {memory} | {index} | {data} |")?,
                _ => {}
            }
        }
    }
    synthesis(&mut page, devices, routed)?;
    memory(&mut page, &simulated)?;
    write!(page, "{LARGER}{larger}")?;
    let folder = root().join("docs/hdl");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("pipeline.svg"), drawing()?)?;
    std::fs::write(root().join("docs/hdl.md"), page).context("cannot write docs/hdl.md")
}

fn synthesis(page: &mut String, devices: &[Device], routed: &[Routed]) -> Result<()> {
    let (blocks, clocks) = PAPER;
    let megabytes = |blocks36: f64| blocks36 * f64::from(36 << 10) / 8.0 / f64::from(1 << 20);
    write!(
        page,
        "\n## Virtex 7\n\nyosys (`synth_xilinx -family xc7`), not placed. The paper's part has {blocks} blocks of 36 Kb, {:.2} MB. Its clocks are by\n\
         ISE 13.2; an open flow has no timing of that part. No latch, combinational loop or net without a driver was found.\n\n\
         | pipeline | parameters | RAMB36 | RAMB18 | share of the part | LUT | FF | the paper's MHz |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        megabytes(blocks as f64)
    )?;
    for device in devices {
        let clock = clocks.iter().find(|(name, _)| *name == device.name);
        let clock = clock.map_or("-".into(), |(_, clock)| clock.to_string());
        let taken = device.ramb36 as f64 + device.ramb18 as f64 / 2.0;
        writeln!(
            page,
            "| `{}` | {} | {} | {} | {:.1}% | {} | {} | {clock} |",
            device.name,
            device.parameters,
            device.ramb36,
            device.ramb18,
            100.0 * taken / blocks as f64,
            device.luts,
            device.registers
        )?;
    }
    *page += "\n## ECP5, placed and routed\n\nnextpnr, LFE5U-85, speed grade 8, the pipeline behind registers at its pins. One answer a clock makes Mpps equal to MHz.\n\
              These clocks compare the pipelines with each other and by size. They say nothing about the paper's part, which is made\n\
              in 28 nm instead of 40 and by another flow.\n\n\
              | pipeline | size | clocks a stage | blocks of 18 Kb | MHz = Mpps | longest path | ns | on wires |\n\
              | --- | --- | ---: | ---: | ---: | --- | ---: | ---: |\n";
    for Routed { name, size, stage_clocks, blocks, megahertz, path } in routed {
        writeln!(
            page,
            "| `{name}` | {size} | {stage_clocks} | {blocks} | {megahertz:.1} | `{}` to `{}` | {:.1} | {:.1} |",
            path.from, path.to, path.nanoseconds, path.wires
        )?;
    }
    Ok(())
}

fn memory(page: &mut String, simulated: &[&Simulated]) -> Result<()> {
    let bytes = |bits: f64| bits / 8.0 / f64::from(1 << 20);
    *page += "\n## On chip, beside PBF\n\nBloom filters take 18.755 bits a prefix (the paper, section 6.2). The pipelines take what their parameters reserve,\n\
              whatever the table holds, with 16-bit next hops. At that width mosaic reserves more than the paper's part has.\n\n| pipeline | prefixes | MB on chip | MB of PBF |\n| --- | ---: | ---: | ---: |\n";
    for run in simulated {
        let [_, _, _, routes, bits] = run.module.numbers[..] else { continue };
        let pbf = bytes(routes as f64 * PBF_BITS);
        writeln!(page, "| `{}` | {routes} | {:.2} | {pbf:.2} |", run.module.name, bytes(bits as f64))?;
    }
    Ok(())
}

/// Draws the stages: boxes from left to right.
fn drawing() -> Result<String> {
    let boxes = ["address, word", "stages on chip", "queue", "near memory", "queue", "far memory", "answer"];
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"980\" height=\"90\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"980\" height=\"90\" fill=\"white\"/>\n",
    );
    for (at, text) in boxes.iter().enumerate() {
        let left = 10 + 140 * at;
        let (middle, right, next) = (left + 56, left + 112, left + 140);
        writeln!(
            svg,
            "<rect x=\"{left}\" y=\"25\" width=\"112\" height=\"40\" fill=\"none\" stroke=\"black\"/>"
        )?;
        writeln!(svg, "<text x=\"{middle}\" y=\"49\" text-anchor=\"middle\">{text}</text>")?;
        if at + 1 < boxes.len() {
            let arrow = format!("M{right} 45H{next}m-6 -4l6 4l-6 4");
            writeln!(svg, "<path d=\"{arrow}\" fill=\"none\" stroke=\"black\"/>")?;
        }
    }
    Ok(svg + "</svg>\n")
}
