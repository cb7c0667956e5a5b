//! `fibula study papers`, and a study of each paper: the papers' tables and figures.

use super::common::{each_table, header};
use crate::commands::measuring::{INTERNET, UpdatesFrom};
use crate::exit::{Verdict, tell};
use crate::output::Output;
use crate::reading::Reading;
use crate::registry;
use crate::writing::write_text;
use anyhow::{Context, bail};
use clap::Args;
use fibula_io::Source;
use fibula_kit::{Evidence, Row, distinct};
use fibula_papers::{
    Judged, Lab, Named, Options, PAPERS, Paper, Reproduction, Tally, Verdict as Verdicts, agreements,
    evidence, html, judge_all, reproduce, tallies,
};
use indicatif::ProgressBar;
use std::path::{Path, PathBuf};

/// The options of a paper's study.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The tables, files or `internet` for the made one; exhibits of one table take the first
    #[arg(short, long, default_value = INTERNET, value_name = "TABLE")]
    table: Vec<String>,
    /// The addresses of a trace
    #[arg(long, default_value_t = 1 << 22, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    addresses: u32,
    /// How many timed passes
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    passes: u16,
    /// The numbers of threads besides 1
    #[arg(long, value_delimiter = ',', default_value = "2", value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    threads: Vec<u16>,
    /// Addresses of real traffic (a capture or a list), whose locality the traces of real traffic
    /// take; else Zipf's law
    #[arg(long, value_name = "FILE")]
    traffic: Option<Source>,
    /// Changes of the first IPv4 table, a file, for the exhibits of updates; else made ones
    #[arg(short, long, value_name = "UPDATES")]
    updates: Option<UpdatesFrom>,
    /// Makes the papers' own tables and buffers smaller by this factor: a quick look
    #[arg(long, default_value_t = 1, value_name = "FACTOR", value_parser = clap::value_parser!(u16).range(1..=1000))]
    smaller: u16,
    /// Make only this exhibit again, as `Figure 4`; several are given one by one. In a file of
    /// evidence that is there, and in a folder's, it takes the place of what was measured before
    #[arg(long, value_name = "EXHIBIT")]
    exhibit: Vec<String>,
    /// Write all rows to this file, if its name ends in .jsonl; else to this folder, with a report
    /// (one HTML file, with plots)
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

impl Arguments {
    /// Makes the exhibits of one paper again, by its name.
    pub(crate) fn run_one(self, name: &str, output: &Output) -> anyhow::Result<Verdict> {
        let paper = fibula_papers::paper(name).with_context(|| format!("no paper {name:?}"))?;
        self.run(name, &[paper], output)
    }

    /// Makes the exhibits of all papers again.
    pub(crate) fn run_all(self, output: &Output) -> anyhow::Result<Verdict> {
        self.run("papers", &PAPERS, output)
    }

    fn run(self, name: &str, papers: &[&'static Paper], output: &Output) -> anyhow::Result<Verdict> {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        let mut changes = Vec::new();
        let whole = each_table(&self.table, &self.reading, |name, mut tables| {
            let name = || name.to_owned();
            if !tables.ipv4.is_empty() {
                if let Some(updates) = self.updates.as_ref().filter(|_| ipv4.is_empty()) {
                    changes = updates.load(&mut tables)?.ipv4;
                }
                ipv4.push(Named { name: name(), rib: tables.ipv4 });
            }
            if !tables.ipv6.is_empty() {
                ipv6.push(Named { name: name(), rib: tables.ipv6 });
            }
            Ok(())
        })?;
        let options = Options {
            addresses: self.addresses as usize,
            passes: self.passes.into(),
            threads: self.threads.iter().map(|&threads| threads.into()).collect(),
            traffic: self.traffic.clone(),
            changes,
            smaller: self.smaller.into(),
            ..Options::default()
        };
        let is_known =
            |name: &str| papers.iter().any(|paper| paper.exhibits.iter().any(|one| one.id == name));
        if let Some(unknown) = self.exhibit.iter().find(|name| !is_known(name)) {
            let known = papers.iter().flat_map(|paper| paper.exhibits).map(|exhibit| exhibit.id);
            bail!("no exhibit {unknown:?}: expected {}", known.collect::<Vec<_>>().join(", "));
        }
        let lab = Lab { engines: registry::engines(), ipv4, ipv6, options };
        let mut printer = output.printer();
        let mut done: Vec<Reproduction> = Vec::new();
        let bar = ProgressBar::new_spinner();
        for &paper in papers {
            let begin = |exhibit: &fibula_papers::Exhibit| {
                bar.set_message(format!("{}, {}: {}", paper.name, exhibit.id, exhibit.title));
                bar.tick();
                self.exhibit.is_empty() || self.exhibit.iter().any(|one| one == exhibit.id)
            };
            reproduce(paper, &lab, begin, |reproduction| -> anyhow::Result<()> {
                reproduction.rows().try_for_each(|row| printer.row(&row))?;
                done.push(reproduction);
                Ok(())
            })
            .inspect_err(|_| bar.finish_and_clear())?;
        }
        bar.finish_and_clear();
        printer.finish()?;
        self.write(name, &done)?;
        Ok(whole)
    }

    /// Tells the verdicts, and writes what was asked for: a file of evidence, or a folder with a
    /// report, the evidence of each paper and the verdicts.
    fn write(&self, name: &str, done: &[Reproduction]) -> anyhow::Result<()> {
        let header = header(name);
        let mut all = Evidence { header, ..evidence(done, None)? };
        let judged = judge_all(std::slice::from_ref(&all))?;
        tell_tallies(&judged);
        let Some(path) = &self.output else { return Ok(()) };
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            return write(path, &self.among(path, all)?);
        }
        std::fs::create_dir_all(path).with_context(|| format!("{}: cannot be made", path.display()))?;
        for paper in distinct(done.iter().map(|each| each.paper.name)) {
            let evidence = Evidence { header: all.header.clone(), ..evidence(done, Some(paper))? };
            let path = path.join(format!("{paper}.jsonl"));
            write(&path, &self.among(&path, evidence)?)?;
        }
        if !self.exhibit.is_empty() {
            tell(format_args!("the verdicts are those of a part: `fibula study claims` judges all"));
            return Ok(());
        }
        let report = html::report(std::slice::from_ref(&all))?;
        only_verdicts(&mut all, &judged)?;
        write(&path.join("claims.jsonl"), &all)?;
        let path = path.join("report.html");
        write_text(&path, |out| out.write_all(report.as_bytes()))?;
        tell(format_args!("wrote {}", path.display()));
        Ok(())
    }

    /// Returns evidence, or, if only some exhibits were made again, what a file has of the others
    /// with these in their places.
    fn among(&self, path: &Path, new: Evidence) -> anyhow::Result<Evidence> {
        if self.exhibit.is_empty() || !path.exists() {
            return Ok(new);
        }
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
        let mut all = Evidence::read(&text).with_context(|| name.to_string())?;
        let mut new = new;
        let header = std::mem::take(&mut new.header);
        new.part(&header, |row| row.contains_key("title"));
        let of = |row: &Row| ["paper", "exhibit"].map(|key| row.get(key).cloned());
        for exhibit in distinct(new.rows.iter().map(of)) {
            let at = all.rows.iter().position(|row| of(row) == exhibit).unwrap_or(all.rows.len());
            all.rows.retain(|row| of(row) != exhibit);
            all.rows.splice(at..at, new.rows.iter().filter(|row| of(row) == exhibit).cloned());
        }
        Ok(all)
    }
}

/// Replaces the rows of evidence by the verdicts on them: the counts of each paper, both words on
/// each exhibit, and every claim.
pub(super) fn only_verdicts(evidence: &mut Evidence, judged: &[Judged]) -> Result<(), fibula_kit::Error> {
    let rows = std::mem::take(&mut evidence.rows);
    evidence.add(tallies(judged))?;
    evidence.add(agreements(judged, &rows))?;
    evidence.add(judged)
}

/// Writes evidence.
pub(super) fn write(path: &Path, evidence: &Evidence) -> anyhow::Result<()> {
    let text = evidence.text()?;
    write_text(path, |out| out.write_all(text.as_bytes()))
}

/// Tells how many claims of each paper have which verdict.
pub(super) fn tell_tallies(judged: &[Judged]) {
    for tally in tallies(judged) {
        let counts =
            Verdicts::ALL.iter().zip(tally.counts()).map(|(verdict, count)| format!(", {count} {verdict}"));
        let Tally { tally, claims, .. } = &tally;
        tell(format_args!("{tally}: {claims} claims{}", counts.collect::<String>()));
    }
}
