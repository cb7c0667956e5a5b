//! Tables from files and to snapshots.

use crate::abi::{COptions, given, hand_over, interface, options};
use crate::error::{Failure, call, text};
use crate::table::{Number, Table};
use fibula::snapshot::Image;
use fibula::table::Settings;
use fibula::{Address, Error, Fib, IpPrefix, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use fibula_io::Source;
use fibula_io::table::{ReadOptions, Tables};
use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};

/// Set in values that stand for a text.
const TEXT: u64 = 1 << 63;

impl From<fibula_io::Error> for Failure {
    fn from(error: fibula_io::Error) -> Self {
        Self::new(libc::EIO, error.to_string())
    }
}

/// Compiles a table that was read. A value that is a number is that number; another stands for its
/// text.
fn compiled(tables: &Tables, settings: Settings) -> Result<Table, Failure> {
    let texts: Vec<String> = tables.next_hops.iter().map(|(_, info)| info.to_string()).collect();
    let value = |next_hop: NextHop| {
        let at = next_hop.0 as usize - 1;
        let number = texts[at].parse().ok();
        let number = number.filter(|number: &u64| number & TEXT == 0 && number.to_string() == texts[at]);
        number.unwrap_or(TEXT | at as u64)
    };
    let ipv4 = routes(&tables.ipv4).map(|(prefix, next_hop)| (prefix, Some(Number::new(value(next_hop)))));
    let ipv6 = routes(&tables.ipv6).map(|(prefix, next_hop)| (prefix, Some(Number::new(value(next_hop)))));
    let mut table = Table::new(settings)?;
    table.routes.try_apply(ipv4.chain(ipv6))?;
    table.texts = texts.into();
    Ok(table)
}

fn routes<A: Address>(rib: &Rib<A>) -> impl Iterator<Item = (IpPrefix, NextHop)>
where
    fibula::Prefix<A>: Into<IpPrefix>,
{
    rib.iter().map(|route| (route.prefix.into(), route.next_hop))
}

fn text_of(table: &Table, value: u64) -> Option<&str> {
    let at = usize::try_from(value & !TEXT).ok()?;
    if value & TEXT == 0 { None } else { table.texts.get(at).map(String::as_str) }
}

/// Writes a snapshot with its routes, whose next hops are the texts of their values. Its engines
/// are built for it: a table numbers the values of each family for itself, a snapshot all.
fn save(table: &Table, path: &Path) -> Result<(), Failure> {
    let mut next_hops = NextHops::new();
    let ipv4 = named(table, table.routes.iter_ipv4(), &mut next_hops)?;
    let ipv6 = named(table, table.routes.iter_ipv6(), &mut next_hops)?;
    let (ipv4_engine, ipv6_engine) = (compiled_again(table, &ipv4)?, compiled_again(table, &ipv6)?);
    let mut image = Image::new(&next_hops);
    if let Some(engine) = &ipv4_engine {
        image = image.with(engine, &ipv4, true)?;
    }
    if let Some(engine) = &ipv6_engine {
        image = image.with(engine, &ipv6, true)?;
    }
    Ok(fibula_io::snapshot::write(&image, path)?)
}

fn named<'t, A: Address>(
    table: &Table,
    routes: impl Iterator<Item = (Prefix<A>, &'t Number)>,
    next_hops: &mut NextHops,
) -> Result<Rib<A>, Error> {
    let route = |(prefix, number): (_, &Number)| {
        let value = number.get();
        let text = text_of(table, value).map_or_else(|| value.to_string(), str::to_owned);
        Ok(Route { prefix, next_hop: next_hops.intern(NextHopInfo::parse(&text))? })
    };
    routes.map(route).collect()
}

/// Returns the engine of a family's routes; `None` without routes.
fn compiled_again<A: Address>(table: &Table, rib: &Rib<A>) -> Result<Option<Fib<A>>, Error> {
    (!rib.is_empty()).then(|| table.routes.settings().build(rib)).transpose()
}

interface! {
    /// Reads a table from a file.
    fn fibula_open(path: *const c_char, options: *const COptions, out: *mut *mut Table) {
        let path = PathBuf::from(text(path, "the path")?);
        let loaded = fibula_io::table::read(&Source::File(path), &ReadOptions::default())?;
        hand_over(out, compiled(&loaded.tables, self::options(options)?)?)
    }

    /// Writes a snapshot.
    fn fibula_save(table: *const Table, path: *const c_char) {
        save(given(table, "the table")?, Path::new(text(path, "the path")?))?;
        Ok(0)
    }

    /// Returns the length of the text of a value, and writes as much of it as there is room for.
    fn fibula_text(table: *const Table, value: u64, buffer: *mut c_char, size: usize) {
        let Some(text) = text_of(given(table, "the table")?, value) else { return Ok(-libc::ENOENT) };
        if size > 0 {
            if buffer.is_null() {
                return Err(Failure::null("the buffer"));
            }
            let len = text.len().min(size - 1);
            buffer.copy_from_nonoverlapping(text.as_ptr().cast(), len);
            buffer.add(len).write(0);
        }
        Ok(c_int::try_from(text.len()).unwrap_or(c_int::MAX))
    }
}
