//! Tables in columns under a line of their names: `route -n`, `netstat -rn` of the BSDs and macOS,
//! and what PAN-OS, ScreenOS, ProCurve, VRP, Yamaha, SR OS, NX-OS (`show forwarding route`), AOS-CX
//! and IOS (`show ip cef`) print.
//!
//! ```text
//! Destination     Gateway         Genmask         Flags Metric Ref    Use Iface
//! 0.0.0.0         192.0.2.1       0.0.0.0         UG    100    0        0 eth0
//! ```
//!
//! A [`Grid`] says of each column what it is, and whether it may be empty. A word that is not of
//! its column leaves out the line. Of several routes to one prefix that of the lowest metric is
//! taken where a column has it (OpenBSD: Prio), the first of equals.

use super::ReadOptions;
use super::builder::Builder;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::Choice;
use super::router::marks::{Grammar, Mark, Said, State, nowhere, unknown, whole};
use super::router::sink::{Line, REST, Route, Sink};
use super::router::terminal::is_prompt;
use super::router::words::{self, Words};
use super::show_route::{is_rule, legend};
use crate::scan::{self, utf8};
use crate::{Damage, Place};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod blocks;
mod grids;

use blocks::Block;
pub(super) use grids::GRIDS;

pub(super) const LAYOUT: Layout = layout(|line| {
    let is_block = || {
        let fields = utf8(line).ok().and_then(|line| blocks::fields(line.trim()));
        fields.is_some_and(|fields| fields[0].0 == "Destination" && !fields[0].1.is_empty())
    };
    of(line).is_some_and(|(grid, _)| !grid.is_of_kernel) || is_block()
});
pub(super) const NETSTAT: Layout = layout(|line| of(line).is_some_and(|(grid, _)| grid.is_of_kernel));

const fn layout(is_line: fn(&[u8]) -> bool) -> Layout {
    Layout { looks: Looks::Router(is_line), reader: Reader::Lines(read), writer: None, endings: &[] }
}

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    /// A prefix, or the address that a mask follows.
    Network,
    Mask,
    /// A next hop's address, a word that stands for one, or an interface.
    Gateway,
    Device,
    /// Letters of [`Grid::flags`].
    Flags,
    /// The lowest is taken.
    Rank,
    /// Any of these, without effect; they are parts of [phrases](words).
    Of(&'static [&'static str]),
}

/// A column: its name, what it holds, and whether it may be empty.
pub(super) type Column = (&'static str, Role, bool);

/// One kind of table in columns.
#[derive(Debug)]
pub(super) struct Grid {
    /// What prints it.
    pub(super) program: &'static str,
    pub(super) columns: &'static [Column],
    /// The columns of a second line that each route has.
    pub(super) below: &'static [Column],
    /// How far from the name of its column a word begins at most.
    pub(super) slack: Option<usize>,
    /// Whether it is the kernel's, which has one table.
    pub(super) is_of_kernel: bool,
    pub(super) flags: &'static [(&'static str, Mark)],
    /// Flags without effect.
    pub(super) idle: &'static str,
    /// The state of a route without a flag that says one.
    pub(super) unmarked: State,
    /// Words in the place of a next hop's address, beside those of [`nowhere`].
    pub(super) gateways: &'static [(&'static str, Mark)],
    /// Lines that are no routes.
    pub(super) lines: &'static Grammar,
}

/// Returns the grid that a line of names is of, and where its columns begin.
fn of(line: &[u8]) -> Option<(&'static Grid, Vec<usize>)> {
    let line = utf8(line).ok()?;
    GRIDS.iter().find_map(|grid| Some((grid, grid.offsets(line)?)))
}

struct Reading {
    /// The block of names and values that is read.
    block: Option<Block>,
    grid: Option<(&'static Grid, Vec<usize>)>,
    mask_host_bits: bool,
    /// The family of `default`.
    is_ipv6: bool,
    is_skipping: bool,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    const USUAL: &[&str] = &["trust-vr", "Public", "Base", "_public_", "default/base", "default"];
    let choice = Choice { usual: USUAL, ..Choice::of_vrf(options.vrf.as_deref()) };
    let mut sink = Sink::new(options, choice);
    let mut reading = Reading {
        block: None,
        grid: None,
        mask_host_bits: options.mask_host_bits,
        is_ipv6: false,
        is_skipping: false,
    };
    sink.each_line(blocks, builder, |sink, place, line| reading.line(sink, place, line))?;
    Block::end(&mut reading.block, &mut sink, options.mask_host_bits);
    sink.finish(builder)
}

impl Reading {
    fn line(&mut self, sink: &mut Sink<'_>, place: Place, line: &str) -> Line {
        let text = line.trim();
        if text.is_empty() {
            return Line::Blank;
        }
        if let Some(found) = of(line.as_bytes()) {
            sink.close();
            // The kernel names its tables' families, all others show the next hops of a prefix one
            // by one.
            sink.merges = !found.0.is_of_kernel;
            self.grid = Some(found);
            return Line::Aside;
        }
        if self.grid.as_ref().is_some_and(|(grid, _)| grid.is_second_heading(text)) || is_prompt(text) {
            return Line::Aside;
        }
        if is_rule(text) && text.len() > 1 {
            return Line::Aside;
        }
        if let Some(line) = self.heading(sink, text) {
            return line;
        }
        let is_legend = self.grid.is_none() && text.contains(" - ");
        if let Some(line) = is_legend.then(|| legend(text)).flatten() {
            return line;
        }
        if let Some(fields) = blocks::fields(text) {
            // The next hops of a prefix are blocks one after the other.
            sink.merges = true;
            return Block::take(&mut self.block, sink, place, &fields, self.mask_host_bits).into();
        }
        let Some((grid, offsets)) = self.grid.take() else {
            return Line::Unknown(unknown(text.split_ascii_whitespace().next().unwrap_or_default()));
        };
        let is_below = !grid.below.is_empty() && line.starts_with(' ');
        let begins = |word: &str| self.network(grid, word, None).is_some();
        let is_further = !is_below
            && grid.below.is_empty()
            && matches!(grid.columns[0].1, Role::Network)
            && line.starts_with(' ')
            && (sink.route().is_some() || self.is_skipping)
            && text.split_ascii_whitespace().next().is_some_and(|word| !begins(word) && word != "*");
        let result = if is_below || is_further {
            let columns = if is_below { grid.below } else { grid.columns };
            let cells = grid.cells(columns, if is_below { &[] } else { &offsets }, line, is_further);
            cells.and_then(|cells| self.further(sink, &cells.said))
        } else {
            let cells = grid.cells(grid.columns, &offsets, line, false);
            let result = cells.and_then(|cells| self.route(sink, place, grid, cells));
            self.is_skipping = result.is_err();
            if self.is_skipping {
                sink.close();
            }
            result
        };
        self.grid = Some((grid, offsets));
        result.into()
    }

    fn heading(&mut self, sink: &mut Sink<'_>, text: &str) -> Option<Line> {
        let grids = GRIDS.iter().filter(|grid| match &self.grid {
            Some((known, _)) => known.program == grid.program,
            None => true,
        });
        let (caught, mark) = { grids }.find_map(|grid| whole(Words::new(text), grid.lines))?;
        match text {
            "Internet:" => self.is_ipv6 = false,
            "Internet6:" | "Kernel IPv6 routing table" => self.is_ipv6 = true,
            _ => {}
        }
        if mark == Mark::Table {
            Block::end(&mut self.block, sink, self.mask_host_bits);
            sink.close();
            sink.table(caught.name.unwrap_or_default());
        }
        Some(Line::Aside)
    }

    /// Takes a further next hop of the open route.
    fn further(&self, sink: &mut Sink<'_>, said: &Said<'_>) -> Result<(), String> {
        let route = sink.route().filter(|_| !self.is_skipping).ok_or(REST)?;
        route.state = said.route.unwrap_or(route.state);
        route.hops.extend(said.hop().map(|hop| (hop, said.state.unwrap_or(State::Used))));
        Ok(())
    }

    fn route(&self, sink: &mut Sink<'_>, place: Place, grid: &Grid, cells: Cells<'_>) -> Result<(), String> {
        let (word, said) = (cells.network.unwrap_or_default(), cells.said);
        if let (Ok(address), Some(mask)) = (word.parse(), cells.mask) {
            scan::len_of_mask(address, mask.parse().map_err(|_| unknown(mask))?)?;
        }
        let (address, len) = self.network(grid, word, cells.mask).ok_or_else(|| unknown(word))?;
        let mut route = Route::new(place, scan::prefix_of(address, len, self.mask_host_bits)?);
        route.rank = cells.rank;
        route.state = said.route.unwrap_or(grid.unmarked);
        // A flag that says where packets go ends the route, whether it is up or not.
        if cells.is_nowhere {
            route.state = State::Used;
        }
        let state = said.state.unwrap_or(State::Used);
        route.hops.extend(said.hop().map(|hop| (hop, state)));
        sink.open(route);
        Ok(())
    }

    /// Reads a destination: `10.0.0.0/8`, `default`, and of the kernels' tables also `10.0.0.0`
    /// with its mask and the BSDs' `10.1/16`, `127`, `fe80::%em0/64`.
    fn network(&self, grid: &Grid, text: &str, mask: Option<&str>) -> Option<(IpAddr, u8)> {
        let text = text.trim_start_matches('*');
        if text == "default" || text == "0.0.0.0" && mask.is_none() && grid.is_of_kernel {
            let all = if self.is_ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
            return Some((all, 0));
        }
        if let Some(mask) = mask {
            let address: IpAddr = text.parse().ok()?;
            return Some((
                address,
                mask.parse().ok().and_then(|mask| scan::len_of_mask(address, mask).ok())?,
            ));
        }
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let len = len.map(str::parse::<u8>).transpose().ok()?;
        if !grid.is_of_kernel {
            return Some((address.parse().ok()?, len?));
        }
        let address = address.split('%').next()?;
        if self.is_ipv6 || address.contains(':') {
            return Some((address.parse::<Ipv6Addr>().ok()?.into(), len.unwrap_or(128)));
        }
        let mut octets = [0; 4];
        let mut count = 0;
        for octet in address.split('.') {
            *octets.get_mut(count)? = octet.parse().ok()?;
            count += 1;
        }
        Some((IpAddr::from(octets), len.unwrap_or(8 * count as u8)))
    }
}

/// What the words of a line say.
#[derive(Default)]
struct Cells<'l> {
    network: Option<&'l str>,
    mask: Option<&'l str>,
    rank: u64,
    said: Said<'l>,
    /// Whether a flag says that the route does not forward.
    is_nowhere: bool,
}

impl Grid {
    /// Returns where the columns begin, if a line has their names.
    fn offsets(&self, line: &str) -> Option<Vec<usize>> {
        let mut end = 0;
        let mut offsets = Vec::new();
        for (name, _, is_optional) in self.columns {
            if name.is_empty() {
                offsets.push(0);
                continue;
            }
            let rest = line.get(end..)?;
            let start = end + (rest.len() - rest.trim_start_matches([' ', '|', '\t']).len());
            match line[start..].strip_prefix(name) {
                Some(after) if after.is_empty() || after.starts_with([' ', '\t', '|']) => {
                    offsets.push(start);
                    end = start + name.len();
                }
                // A program may leave out the last columns, a kernel any.
                _ if *is_optional && (self.is_of_kernel || self.are_optional(offsets.len())) => {
                    offsets.push(usize::MAX);
                }
                _ => return None,
            }
        }
        line[end..].trim_matches([' ', '|', '\t']).is_empty().then_some(offsets)
    }

    /// Returns whether all columns from one on may be empty.
    fn are_optional(&self, from: usize) -> bool {
        self.columns[from..].iter().all(|(.., is_optional)| *is_optional)
    }

    fn is_second_heading(&self, text: &str) -> bool {
        let mut rest = text;
        let names = self.below.iter().map(|(name, ..)| *name).filter(|name| !name.is_empty());
        for name in names {
            let Some(after) = rest.strip_prefix(name) else { return false };
            rest = after.trim_start();
        }
        !self.below.is_empty() && rest.is_empty()
    }

    /// Reads the words of a line into columns.
    ///
    /// # Errors
    /// The first word that is of no column.
    fn cells<'l>(
        &self,
        columns: &'static [Column],
        offsets: &[usize],
        line: &'l str,
        is_further: bool,
    ) -> Result<Cells<'l>, String> {
        let mut cells = Cells::default();
        let mut at = 0;
        // The columns that a heading does not name are not there.
        let columns: Vec<(usize, &Column)> = (0..).zip(columns).collect();
        let present = |index: usize| offsets.get(index).is_none_or(|offset| *offset != usize::MAX);
        let columns: Vec<_> = columns.into_iter().filter(|(index, _)| present(*index)).collect();
        let words: Vec<&str> = Words::new(line).collect();
        if is_further {
            at = columns
                .iter()
                .position(|(_, (_, role, _))| matches!(role, Role::Network))
                .map_or(0, |at| at + 1);
        }
        // A column of next hops that may be empty says that the network is connected.
        cells.said.has_hop =
            columns.iter().any(|(_, (_, role, is_optional))| matches!(role, Role::Gateway) && *is_optional);
        for word in words {
            let start = word.as_ptr() as usize - line.as_ptr() as usize;
            loop {
                let Some((index, (name, role, is_optional))) = columns.get(at) else {
                    return Err(unknown(word));
                };
                let begin = offsets.get(*index).copied().unwrap_or(start);
                let next = offsets.get(index + 1).copied().unwrap_or(usize::MAX);
                let is_under = match role {
                    Role::Flags if self.slack.is_some() => start + 1 >= begin && start < next,
                    // Numbers may end where the name of their column does.
                    Role::Of(_) if self.slack.is_some() && begin + name.len() == start + word.len() => true,
                    _ => self.slack.is_none_or(|slack| offsets.is_empty() || start.abs_diff(begin) <= slack),
                };
                if is_under && self.cell(&mut cells, *role, word) {
                    // Flags may be several words.
                    at += usize::from(!matches!(role, Role::Flags) || self.slack.is_none());
                    break;
                }
                let is_over = matches!(role, Role::Flags) && cells.said.is_marked;
                if !is_optional && !is_over && !is_further {
                    return Err(unknown(word));
                }
                at += 1;
            }
        }
        Ok(cells)
    }

    /// Reads a word of a column. Returns whether it is one.
    fn cell<'l>(&self, cells: &mut Cells<'l>, role: Role, word: &'l str) -> bool {
        let said = &mut cells.said;
        match role {
            Role::Network if cells.network.is_none() => cells.network = Some(word),
            Role::Network => return false,
            Role::Mask => cells.mask = Some(word),
            Role::Rank => match word.parse() {
                Ok(rank) => cells.rank = rank,
                Err(_) if word == "-" => {}
                Err(_) => return false,
            },
            Role::Of(parts) => {
                return parts.iter().any(|part| Words::new(word).whole(part).is_some());
            }
            Role::Flags => {
                let marks = self.flags(word);
                said.is_marked |= marks.is_some();
                let Some(marks) = marks else { return false };
                for mark in marks {
                    match mark {
                        Mark::Route(state) => said.route = Some(state),
                        Mark::Nowhere(kind) => {
                            (said.value, cells.is_nowhere) = (Some(kind.to_owned()), true);
                        }
                        _ => {}
                    }
                }
            }
            Role::Device => match nowhere(word) {
                Some(kind) => said.value = Some(kind.to_owned()),
                None if Words::new(word).whole("NAME").is_some() => said.device = Some(word),
                None => return word == "-",
            },
            Role::Gateway => {
                let known = self
                    .gateways
                    .iter()
                    .find_map(|(part, mark)| Words::new(word).whole(part).map(|caught| (caught, *mark)));
                // SR OS names the interface of a link-local router.
                if let Some((address, device)) = word.split_once("-\"") {
                    let Some(address) = words::address(address) else { return false };
                    said.address = Some(address);
                    said.device = Some(device.trim_end_matches('"'));
                    said.has_hop = true;
                    return true;
                }
                match (words::address(word), known) {
                    (Some(address), _) => {
                        (said.address, said.has_hop) =
                            (Some(address).filter(|it| !it.is_unspecified()), true);
                    }
                    (None, Some((_, Mark::Nowhere(kind)))) => said.value = Some(kind.to_owned()),
                    (None, Some((caught, Mark::Named(what)))) => {
                        said.value = Some(format!("{what} {}", caught.name.unwrap_or_default()));
                    }
                    (None, Some((caught, Mark::Device))) => match nowhere(word) {
                        Some(kind) => said.value = Some(kind.to_owned()),
                        None => said.device = caught.name,
                    },
                    (None, Some(_)) => said.has_hop = true,
                    (None, None) => match nowhere(word) {
                        Some(kind) => said.value = Some(kind.to_owned()),
                        None => return false,
                    },
                }
            }
        }
        true
    }

    /// Returns what the letters of a word mean; `None` if one is not known.
    fn flags(&self, word: &str) -> Option<Vec<Mark>> {
        let (mut rest, mut marks) = (word, Vec::new());
        while !rest.is_empty() {
            let found = self.flags.iter().find_map(|(flag, mark)| Some((rest.strip_prefix(flag)?, *mark)));
            let idle = || Some((rest.strip_prefix(|c| self.idle.contains(c))?, Mark::Nothing));
            let (after, mark) = found.or_else(idle)?;
            marks.push(mark);
            rest = after;
        }
        Some(marks)
    }
}

#[cfg(test)]
mod tests;
