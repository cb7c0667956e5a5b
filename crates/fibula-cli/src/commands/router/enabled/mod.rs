//! The router, and the commands that ask one.

mod pcapng;
mod rows;
mod traces;
mod watch;

use super::{Command, Lookup, Routes, Run, Socket};
use crate::exit::Verdict;
use crate::output::Output;
use anyhow::{Context, bail, ensure};
use fibula_router::config::{Config, Incoming, Mode, PlaneKind};
use fibula_router::feed::bfd;
use fibula_router::plane::memory::Memory;
use fibula_router::plane::xdp::{self, Xdp};
use fibula_router::service::{self, Answer, Ask, Client};
use rows::{AclRow, CounterRow, FindingRow, Route};
use std::fs;
use std::io::{self, IsTerminal};
use tracing_subscriber::EnvFilter;

/// Runs the command.
pub(super) fn run(command: Command, output: &Output) -> anyhow::Result<Verdict> {
    match command {
        Command::Run(run) => router(&run, output),
        Command::Status(socket) => status(&socket, output),
        Command::Routes(routes) => list(&routes, output),
        Command::Lookup(lookup) => look_up(lookup, output),
        Command::Counters(socket) => counters(&socket, output),
        Command::Trace(trace) => traces::trace(trace, output),
        Command::Capture(capture) => traces::capture(capture),
        Command::Watch(watch) => watch::run(&watch),
        Command::Reload(socket) => reload(&socket, output),
        Command::Detach(detach) => {
            Xdp::detach(&detach.name)?;
            Ok(Verdict::Good)
        }
    }
}

/// Returns the configuration of a file and of what was given beside it.
fn configuration(run: &Run) -> anyhow::Result<Config> {
    let mut config = match &run.config {
        None => Config::default(),
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
            Config::parse(&text).with_context(|| path.display().to_string())?
        }
    };
    if let Some(listen) = run.fpm {
        (config.fpm.enabled, config.fpm.listen) = (true, listen);
    }
    if run.kernel {
        config.fpm.enabled = false;
        config.kernel.routes = Some(true);
    }
    if !run.interfaces.is_empty() {
        config.interfaces = run.interfaces.iter().cloned().map(Incoming::Name).collect();
    }
    if run.generic {
        config.mode = Mode::Generic;
    }
    if run.memory {
        config.plane = PlaneKind::Memory;
    }
    config.metrics.listen = run.metrics.or(config.metrics.listen);
    if let Some(socket) = &run.socket {
        config.socket.clone_from(socket);
    }
    Ok(config)
}

/// Runs a router.
fn router(run: &Run, output: &Output) -> anyhow::Result<Verdict> {
    let config = configuration(run)?;
    if run.check {
        return check(&config, output);
    }
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false).with_writer(io::stderr);
    log.with_ansi(io::stderr().is_terminal()).init();
    let has_interfaces = !config.interfaces.is_empty() || config.plane == PlaneKind::Memory;
    ensure!(has_interfaces, "no interface: name one with --interface, or in the file");
    match config.plane {
        PlaneKind::Memory => drop(service::serve(&config, Memory::default())?),
        PlaneKind::Xdp => drop(service::serve(&config, Xdp::open(config.xdp()?)?)?),
    }
    Ok(Verdict::Good)
}

/// Says what the machine has and lacks for a configuration.
fn check(config: &Config, output: &Output) -> anyhow::Result<Verdict> {
    config.metrics.access()?;
    config.socket_group()?;
    let mut findings = match config.plane {
        PlaneKind::Memory => Vec::new(),
        PlaneKind::Xdp => xdp::check(&config.xdp()?),
    };
    findings.extend(config.bfd.as_deref().map(bfd::check));
    output.rows(findings.iter().map(FindingRow::from))?;
    Ok(Verdict::good_if(findings.iter().all(|finding| finding.wrong.is_none())))
}

fn connect(socket: &Socket) -> anyhow::Result<Client> {
    Ok(Client::connect(&socket.socket)?)
}

fn status(socket: &Socket, output: &Output) -> anyhow::Result<Verdict> {
    let Answer::Status(status) = connect(socket)?.ask(&Ask::Status)? else { return unexpected() };
    if output.is_table() {
        print!("{}", rows::glance(&status));
    } else {
        output.rows([&*status])?;
    }
    let is_attached = status.attached.iter().all(|(_, wrong)| wrong.is_none());
    Ok(Verdict::good_if(status.error.is_none() && is_attached))
}

fn list(routes: &Routes, output: &Output) -> anyhow::Result<Verdict> {
    let mut client = connect(&routes.socket)?;
    let mut printer = output.batch_printer();
    let families = [(false, !routes.ipv6), (true, !routes.ipv4)];
    for ipv6 in families.into_iter().filter(|family| family.1).map(|family| family.0) {
        let mut after = None;
        loop {
            let question = Ask::Routes { table: routes.table, ipv6, after };
            let Answer::Routes(page) = client.ask(&question)? else { return unexpected() };
            let Some(last) = page.last() else { break };
            after = Some(last.prefix.clone());
            page.iter().try_for_each(|route| printer.row(&Route::from(route)))?;
        }
    }
    printer.finish()?;
    Ok(Verdict::Good)
}

fn look_up(lookup: Lookup, output: &Output) -> anyhow::Result<Verdict> {
    let mut client = connect(&lookup.socket)?;
    let mut printer = output.batch_printer();
    for address in lookup.addresses {
        let question = Ask::Lookup { table: lookup.table, address };
        let Answer::Lookup(answer) = client.ask(&question)? else { return unexpected() };
        printer.row(&rows::Looked::from(&*answer))?;
    }
    printer.finish()?;
    Ok(Verdict::Good)
}

fn counters(socket: &Socket, output: &Output) -> anyhow::Result<Verdict> {
    let Answer::Counters(counters) = connect(socket)?.ask(&Ask::Counters)? else { return unexpected() };
    output.rows(counters.iter().map(CounterRow::from))?;
    Ok(Verdict::Good)
}

fn reload(socket: &Socket, output: &Output) -> anyhow::Result<Verdict> {
    let Answer::Reloaded(acls) = connect(socket)?.ask(&Ask::Reload)? else { return unexpected() };
    output.rows(acls.into_iter().map(|(acl, lines)| AclRow { acl, lines }))?;
    Ok(Verdict::Good)
}

/// The answer is not of the question: the router is of another version.
fn unexpected<T>() -> anyhow::Result<T> {
    bail!("the router's answer is of another kind: is it of this version?")
}
