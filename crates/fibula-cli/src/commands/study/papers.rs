//! `fibula study sail|dxr|bloom|tilepro|triec|all`: the papers' tables and figures.

use super::common::each_table;
use crate::commands::measuring::{INTERNET, base_name, table_options};
use crate::exit::{Verdict, tell};
use crate::output::Output;
use crate::reading::Reading;
use crate::registry;
use crate::writing::write_text;
use anyhow::Context;
use clap::Args;
use fibula_io::Source;
use fibula_lab::machine::Machine;
use fibula_papers::{Lab, Named, Options, PAPERS, Paper, Reproduction, html, markdown, reproduce};
use indicatif::ProgressBar;
use std::path::PathBuf;

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
    /// Makes the papers' own tables and buffers smaller by this factor: a quick look
    #[arg(long, default_value_t = 1, value_name = "FACTOR", value_parser = clap::value_parser!(u16).range(1..=1000))]
    smaller: u16,
    /// Write the report (one HTML file, with plots) and a page of each paper to this folder
    #[arg(short, long, value_name = "FOLDER")]
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
        self.run("all", &PAPERS, output)
    }

    fn run(self, name: &str, papers: &[&'static Paper], output: &Output) -> anyhow::Result<Verdict> {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        let whole = each_table(&self.table, &self.reading, |name, tables| {
            let name = || name.rsplit('/').next().unwrap_or_default().to_owned();
            if !tables.ipv4.is_empty() {
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
            smaller: self.smaller.into(),
            ..Options::default()
        };
        let lab = Lab { engines: registry::engines(), ipv4, ipv6, options };
        let mut printer = output.printer();
        let mut done: Vec<Reproduction> = Vec::new();
        let bar = ProgressBar::new_spinner();
        for &paper in papers {
            let begin = |exhibit: &fibula_papers::Exhibit| {
                bar.set_message(format!("{}, {}: {}", paper.name, exhibit.id, exhibit.title));
                bar.tick();
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
        self.write(name, papers, &done)?;
        Ok(whole)
    }

    /// Returns the options that say what was measured, with which the command makes it again.
    fn options(&self) -> String {
        let Self { addresses, passes, smaller, .. } = self;
        let tables = table_options(&self.table);
        let threads = self.threads.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        let traffic =
            self.traffic.as_ref().map(|traffic| format!(" --traffic {}", base_name(&traffic.to_string())));
        let smaller = if *smaller == 1 { String::new() } else { format!(" --smaller {smaller}") };
        let traffic = traffic.unwrap_or_default();
        format!("{tables} --addresses {addresses} --passes {passes} --threads {threads}{traffic}{smaller}")
    }

    /// Writes the report and a page for each paper, where a folder was named.
    fn write(&self, name: &str, papers: &[&Paper], done: &[Reproduction]) -> anyhow::Result<()> {
        let Some(folder) = &self.output else { return Ok(()) };
        std::fs::create_dir_all(folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        let command = format!("fibula study {name}{}", self.options());
        let machine = Machine::here().to_string();
        let date = chrono::Utc::now().format("%Y-%m-%d").to_string();
        let report = html::report(done, &command, &machine, &date)?;
        let mut files = vec![("report.html".to_owned(), report)];
        for paper in papers {
            let of: Vec<&Reproduction> = done.iter().filter(|each| each.paper.name == paper.name).collect();
            files.push((format!("{}.md", paper.name), markdown::page(paper, &of, &command, &machine)));
        }
        for (file, text) in files {
            let path = folder.join(file);
            write_text(&path, |out| out.write_all(text.as_bytes()))?;
            tell(format_args!("wrote {}", path.display()));
        }
        Ok(())
    }
}
