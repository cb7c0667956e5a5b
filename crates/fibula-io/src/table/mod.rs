//! Routing tables: reads every format, writes the text formats and Parquet.
//!
//! A route's family is that of its address; a v4-mapped IPv6 prefix stays IPv6. Where a prefix
//! comes twice, the last route wins, except in formats that say which one the router uses
//! ([`Format::IpRoute`] by metric, [`Format::Frr`] and [`Format::Bird`] by their marks).
//!
//! # Limits
//! MRT and formats of lines are read as streams: a reader holds the routes and some megabytes. A
//! line has at most 1 MiB and a value 4,096 bytes. FRR's JSON, snapshots and Parquet are held as a
//! whole; compressed, they may expand to 64 MiB and 100 times their compressed size. At most
//! 100,000 damaged places are passed over. All together has a [`Budget`]. An error names the limit
//! and the place.

mod at;
mod bgp;
mod bgp_json;
mod bgpdump;
mod bird;
mod bmp;
mod builder;
mod columns;
mod csv;
mod delegated;
mod eos_json;
mod fields;
mod frr;
mod geofeed;
mod grid;
mod hops;
mod ip_json;
mod ip_route;
mod irr;
mod json;
mod junos;
mod junos_json;
mod layouts;
mod list;
mod locations;
mod mmdb;
mod mrt;
mod named;
mod ndjson;
mod nftables;
mod parquet;
mod pfx2as;
mod published;
mod ranges;
mod recognise;
mod router;
mod routeros;
mod routes;
mod rows;
mod sets;
mod settings;
mod show_bgp;
mod show_route;
mod snapshot;
mod sros_json;
#[cfg(test)]
mod testing;
mod text;
mod updates;
mod vrps;
mod write;

pub use crate::beside::write_beside;
pub use crate::mrt::AddPath;
pub use at::read_at;
pub use columns::Columns;
pub(crate) use columns::fields;
pub use fields::json_of;
pub use hops::value_of;
pub(crate) use hops::{all_next_hops, list_of_origins, route_fields};
#[cfg(feature = "parquet")]
#[doc(hidden)]
pub use parquet::unpacked_bytes;
pub(crate) use router::samples::SAMPLES;
pub(crate) use router::{Account, account};
pub(crate) use rows::read_value;
pub use settings::Setting;
pub(crate) use text::without_comment;
pub use write::{write, write_file, write_separated};

use crate::names::named;
use crate::rov::Payloads;
use crate::{Budget, Content, Damage, Encoding, Error, Kind, Note, Place, Progress, Report, Source};
use builder::{Builder, Kept};
use fibula::{IpPrefix, NextHopInfo, NextHops, Rib, Route};
use std::path::{Path, PathBuf};

/// The routes of both families and the next hops they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The IPv4 routes.
    pub ipv4: Rib<u32>,
    /// The IPv6 routes.
    pub ipv6: Rib<u128>,
    /// The names of the routes' next hops.
    pub next_hops: NextHops,
}

impl Tables {
    /// Returns the tables of prefixes, each with the value `listed` that plain lists have.
    ///
    /// ```
    /// use fibula_io::table::{Format, Tables, write};
    /// let tables = Tables::of_prefixes(["10.0.0.0/8".parse()?, "2001:db8::/32".parse()?]);
    /// let mut out = Vec::new();
    /// write(&tables, Format::Text, &mut out)?;
    /// assert_eq!(out, b"10.0.0.0/8\tlisted\n2001:db8::/32\tlisted\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// Never: there is room for one next hop.
    #[must_use]
    pub fn of_prefixes(prefixes: impl IntoIterator<Item = IpPrefix>) -> Self {
        let mut next_hops = NextHops::new();
        let listed = next_hops.intern(NextHopInfo::Label(columns::LISTED.into()));
        let next_hop = listed.expect("an empty list of next hops has room");
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for prefix in prefixes {
            match prefix {
                IpPrefix::V4(prefix) => ipv4.push(Route { prefix, next_hop }),
                IpPrefix::V6(prefix) => ipv6.push(Route { prefix, next_hop }),
            }
        }
        Self { ipv4: ipv4.into_iter().collect(), ipv6: ipv6.into_iter().collect(), next_hops }
    }
}

named! {
    /// What a route's value is taken from, in formats that hold more than one.
    pub enum Value, "value" {
        /// The next hop (MRT: the NEXT_HOP attribute, or MP_REACH_NLRI's).
        NextHop = "next-hop",
        /// All next hops with their weights, as a list of objects:
        /// `[{"via":"192.0.2.1","weight":1}]`.
        NextHops = "next-hops",
        /// The autonomous system at the end of the path; a set of them as a label, `{64500,64501}`.
        /// In formats of any value, such as text and CSV, `AS64500` is read as a number.
        OriginAs = "origin-as",
        /// The origins of all routes of a prefix, not of the best alone, as a list:
        /// `[64500,64501]`. Only of MRT and tables of BGP.
        Origins = "origins",
        /// The peer that sent the route: its address (BIRD: its protocol's name).
        Peer = "peer",
        /// An object with `next_hop`, `origin_as`, `peer`, `as_path` and `communities`, of which
        /// the last two are lists. Only of MRT and tables of BGP.
        Route = "route",
    }
}

#[allow(clippy::derivable_impls, reason = "the enumeration is made by a macro")]
impl Default for Value {
    fn default() -> Self {
        Self::NextHop
    }
}

/// Makes [`Format`], and the list of its layouts.
macro_rules! layouts {
    ($($(#[$about:meta])* $format:ident = $name:literal in $layout:path,)*) => {
        named! {
            /// A table format. Reading recognises them by content where none is named.
            #[non_exhaustive]
            pub enum Format, "table format" {
                $($(#[$about])* $format = $name,)*
            }
        }

        static LAYOUTS: [&layouts::Layout; Format::ALL.len()] = [$(&$layout,)*];
    };
}

// Of several that take a line or a document the last is meant.
layouts! {
    /// `prefix next-hop-or-AS`, one a line, separated by white space: the project's own. `#`
    /// begins a comment.
    Text = "text" in text::LAYOUT,
    /// MRT: TABLE_DUMP, TABLE_DUMP_V2, or BGP4MP updates applied to a table.
    Mrt = "mrt" in mrt::LAYOUT,
    /// BMP, as a router has sent it: what its messages have left of one of its tables.
    Bmp = "bmp" in bmp::LAYOUT,
    /// CAIDA pfx2as: `address length AS`, tab-separated. Several origins become a list.
    Pfx2as = "pfx2as" in pfx2as::LAYOUT,
    /// `ip route` and `ip -6 route`: the route of the lowest metric, its first live hop.
    IpRoute = "ip-route" in ip_route::LAYOUT,
    /// FRR `show ip route json`: the selected route, its first hop in the forwarding table.
    Frr = "frr" in frr::LAYOUT,
    /// Comma-, tab-, semicolon- or bar-separated with a header line that names the columns.
    Csv = "csv" in csv::LAYOUT,
    /// Tab-separated with a header line. Read as CSV is, which needs no name.
    Tsv = "tsv" in csv::TSV,
    /// A JSON object a line, with keys named as the columns of CSV.
    Ndjson = "ndjson" in ndjson::LINES,
    /// A list of such objects.
    JsonRows = "json-rows" in ndjson::LIST,
    /// BIRD `show route`: the route marked `*`, its first hop.
    Bird = "bird" in bird::LAYOUT,
    /// A [snapshot](fibula::snapshot) that keeps its routes.
    Snapshot = "snapshot" in snapshot::LAYOUT,
    /// Parquet with columns named as those of CSV: text, or integers as AS numbers. Read and
    /// written where the feature `parquet` is on.
    Parquet = "parquet" in parquet::LAYOUT,
    /// A prefix, an address or a range a line, without a value: netsets, DROP, `ipset save`.
    List = "list" in list::LAYOUT,
    /// Ranges `first,last,...` without a header: DB-IP, ip-location-db, iptoasn, IP2Location.
    Ranges = "ranges" in ranges::LAYOUT,
    /// Geofeeds (RFC 8805).
    Geofeed = "geofeed" in geofeed::LAYOUT,
    /// The statistics files of the regional registries.
    Delegated = "delegated" in delegated::LAYOUT,
    /// Route objects of the routing registries.
    Irr = "irr" in irr::LAYOUT,
    /// Validated ROA payloads as CSV, or as routers show them: a list for each prefix.
    Vrps = "vrps" in vrps::CSV,
    /// Validated ROA payloads as JSON, or assertions of SLURM (RFC 8416).
    VrpsJson = "vrps-json" in vrps::JSON,
    /// `bgpdump -m`.
    Bgpdump = "bgpdump" in bgpdump::LAYOUT,
    /// `ip -j route`.
    IpJson = "ip-json" in ip_json::LAYOUT,
    /// `route -n` and `netstat -rn`.
    Netstat = "netstat" in grid::NETSTAT,
    /// `show ip route` as text of FRR, Cisco, Arista and others that write so.
    ShowRoute = "show-route" in show_route::LAYOUT,
    /// `show ip bgp` of FRR, Cisco and Arista as text, `bgpctl show rib` of OpenBGPD, `gobgp global
    /// rib`.
    ShowBgp = "show-bgp" in show_bgp::LAYOUT,
    /// `show route` of Junos.
    Junos = "junos" in junos::LAYOUT,
    /// FRR `show bgp json`.
    FrrBgp = "frr-bgp" in bgp_json::FRR,
    /// `gobgp global rib -j`.
    Gobgp = "gobgp" in bgp_json::GOBGP,
    /// OpenBGPD `bgpctl -j show rib`.
    Openbgpd = "openbgpd" in bgp_json::OPENBGPD,
    /// The JSON lists of AWS, Google, Azure, Oracle, GitHub and the like.
    Published = "published" in published::LAYOUT,
    /// MaxMind DB (`.mmdb`) of any type.
    Mmdb = "mmdb" in mmdb::LAYOUT,
    /// Updates `A|W prefix next-hop time`, applied one after the other.
    Updates = "updates" in updates::LAYOUT,
    /// Sets and maps of `nft list ruleset`.
    Nftables = "nftables" in nftables::LAYOUT,
    /// Tables in columns: PAN-OS, ScreenOS, ProCurve, VRP, Yamaha, SR OS, NX-OS, AOS-CX, Si-R.
    RouteColumns = "route-columns" in grid::LAYOUT,
    /// `ip route print terse` and `detail` of RouterOS.
    Routeros = "routeros" in routeros::LAYOUT,
    /// EOS `show ip route | json`.
    EosJson = "eos-json" in eos_json::LAYOUT,
    /// EOS `show ip bgp | json`.
    EosBgp = "eos-bgp" in bgp_json::EOS,
    /// Junos `show route | display json`.
    JunosJson = "junos-json" in junos_json::LAYOUT,
    /// SR OS `info json /state router "Base" route-table`.
    SrosJson = "sros-json" in sros_json::LAYOUT,
    /// `ipset restore`. This format and those after it are only written.
    IpsetRestore = "ipset-restore" in sets::IPSET,
    /// `iptables-restore` or `ip6tables-restore`.
    Iptables = "iptables" in sets::IPTABLES,
    /// Prefix lists of FRR, Cisco and Arista.
    PrefixList = "prefix-list" in sets::PREFIX_LIST,
    /// Prefix lists of Junos.
    JunosPrefixList = "junos-prefix-list" in sets::JUNOS,
    /// Sets of prefixes of BIRD.
    BirdSet = "bird-set" in sets::BIRD,
    /// Table entries for P4's bmv2.
    P4 = "p4" in sets::P4,
}

impl Format {
    /// Returns whether it is read.
    #[must_use]
    pub fn is_read(self) -> bool {
        !matches!(layouts::of(self).reader, layouts::Reader::Never)
    }

    /// Returns whether [`write()`](crate::table::write()) writes it, with the features that are on.
    #[must_use]
    pub fn is_written(self) -> bool {
        layouts::of(self).writer.is_some() && (self != Self::Parquet || cfg!(feature = "parquet"))
    }

    /// Returns the format that the name of a file says by its ending, which `.gz`, `.bz2` or `.zst`
    /// may follow.
    ///
    /// ```
    /// use fibula_io::table::Format;
    /// use std::path::{Path, PathBuf};
    /// assert_eq!(Format::of_name(Path::new("sites.csv.gz")), Some(Format::Csv));
    /// assert_eq!(Format::of_name(Path::new("sites")), None);
    /// ```
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        if matches!(ending, "gz" | "bz2" | "zst") {
            return Self::of_name(Path::new(path.file_stem()?));
        }
        Self::ALL.into_iter().find(|&format| layouts::of(format).endings.contains(&ending))
    }
}

/// How to read a table.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch on its own")]
pub struct ReadOptions {
    /// The format; recognised by content when `None`.
    pub format: Option<Format>,
    /// What the value of a route is taken from.
    pub value: Value,
    /// Make everything that is left out or guessed an error. See [`Report`].
    pub strict: bool,
    /// The VRF whose routes are read, in formats that show several; the default one if not named.
    /// BMP: by its route distinguisher.
    pub vrf: Option<String>,
    /// The routing table that is read, in formats that show several; the main one if not named.
    /// BMP: by the name of a [`Policy`](crate::mrt::bmp::Policy).
    pub table: Option<String>,
    /// MRT: whether prefixes come with path identifiers where the records do not say so.
    pub add_path: AddPath,
    /// The columns, in formats that have some.
    pub columns: Columns,
    /// MRT: only routes of this peer (its address or AS number, as text). `None` takes the best
    /// path of all peers: the one that RFC 4271 section 9.1 chooses by what is told.
    pub peer: Option<String>,
    /// The encoding of text; without one UTF-8, or UTF-16 with a byte order mark.
    pub encoding: Option<Encoding>,
    /// A file whose rows are joined to the rows of a table of columns, by the column that both
    /// have: the locations of GeoLite2.
    pub locations: Option<PathBuf>,
    /// Skip damaged records instead of stopping at the first.
    pub keep_going: bool,
    /// Accept prefixes with host bits set, and clear them. In MRT they are always cleared: RFC 4271
    /// section 4.3 calls the bits after the length irrelevant padding.
    pub mask_host_bits: bool,
    /// Options that may have no effect, such as those that another table of the same command heeds.
    /// Without them an option that the table's format does not heed is an error.
    pub may_be_idle: Vec<Setting>,
    /// What the table may take; more is an error. [`Budget::of_environment`] if not given.
    pub budget: Option<Budget>,
    /// Only a regular file is read: a pipe, a socket, a device or a directory is refused without
    /// waiting for it. So is one of [`locations`](Self::locations).
    pub regular_only: bool,
    /// Called while the source is read.
    pub progress: Option<Progress>,
}

impl ReadOptions {
    fn open(&self, source: &Source) -> Result<Content, Error> {
        source.open_as(self.progress.clone(), self.regular_only)
    }
}

/// A table as it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The routes.
    pub tables: Tables,
    /// The format it was in.
    pub format: Format,
    /// The damage that was passed over, in order; empty unless [`ReadOptions::keep_going`].
    pub damage: Vec<Damage>,
    /// What was left out and what was guessed.
    pub report: Report,
}

/// Reads a table.
///
/// # Errors
/// If the source cannot be read or its format is not known. Without [`ReadOptions::keep_going`],
/// also if a record is damaged or the compressed stream is truncated; the first such place is
/// named.
pub fn read(source: &Source, options: &ReadOptions) -> Result<Loaded, Error> {
    read_apart(source, || options.open(source), options, false).map(|(loaded, _)| loaded)
}

/// Reads a table from bytes in memory, compressed or not. Never panics, whatever they hold.
///
/// # Errors
/// As [`read`]; the source is called `memory`.
pub fn parse(bytes: &[u8], options: &ReadOptions) -> Result<Loaded, Error> {
    read_apart(&Source::Memory, || Content::of_bytes(bytes), options, false).map(|(loaded, _)| loaded)
}

/// Reads a table. RPKI payloads are no routes of it, but returned apart.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_payloads(source: &Source, options: &ReadOptions) -> Result<(Loaded, Payloads), Error> {
    read_apart(source, || options.open(source), options, true)
}

/// As [`read_payloads`], from bytes in memory.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse_payloads(bytes: &[u8], options: &ReadOptions) -> Result<(Loaded, Payloads), Error> {
    read_apart(&Source::Memory, || Content::of_bytes(bytes), options, true)
}

/// Reads a table, and RPKI payloads apart if they are wanted so. A dump is read without the paths
/// that are not chosen, and where changes of it follow, once more with all of them.
fn read_apart(
    source: &Source,
    open: impl Fn() -> Result<Content, Error>,
    options: &ReadOptions,
    apart: bool,
) -> Result<(Loaded, Payloads), Error> {
    let budget = options.budget.map_or_else(Budget::of_environment, Ok);
    let budget = budget.map_err(|what| Error::of(source, what))?;
    let begun = |kept: Kept| {
        let mut builder = Builder::new(options, budget);
        (builder.payloads, builder.kept) = (apart.then(Payloads::default), kept);
        builder
    };
    let is_there_again = match source {
        Source::Memory => true,
        Source::StandardInput => false,
        Source::File(path) => path.metadata().is_ok_and(|file| file.is_file()),
    };
    let mut first = begun(if is_there_again { Kept::Chosen } else { Kept::All });
    let read = read_once(source, open()?, options, &mut first);
    if first.kept == Kept::TooFew {
        let mut all = begun(Kept::All);
        return finished(source, read_once(source, open()?, options, &mut all)?, all);
    }
    finished(source, read?, first)
}

fn finished(source: &Source, format: Format, mut builder: Builder) -> Result<(Loaded, Payloads), Error> {
    let payloads = builder.payloads.take().unwrap_or_default();
    let (tables, damage, report) = builder.finish().map_err(|what| Error::of(source, what))?;
    Ok((Loaded { tables, format, damage, report }, payloads))
}

fn read_once(
    source: &Source,
    content: Content,
    options: &ReadOptions,
    builder: &mut Builder,
) -> Result<Format, Error> {
    let content = content.encoded(options.encoding);
    if let Source::File(path) = source {
        builder.source = Some(path.clone());
    }
    let read = |mut head: Vec<u8>, content: &mut Content| {
        let format = if let Some(format) = options.format {
            format
        } else {
            let room = builder.room();
            let found = recognise::of_content(&mut head, content, options, room);
            let found = found.map_err(|what| Error::of(source, what))?;
            let note = |what: String| {
                let (kind, what, first) = (Kind::Guessed, what.into(), Place::Line(1));
                Note { kind, what, count: 1, first }
            };
            builder.notes(found.guess.map(note)).map_err(|damage| Error::at(source, &damage))?;
            found.format
        };
        if let Some(what) = options.refusal(&[format]) {
            return Err(Error::of(source, what));
        }
        let result = layouts::of(format).read(head, content, options, builder);
        result.map_err(|damage| Error::at(source, &damage))?;
        if options.lacks_origin(builder) {
            let what =
                "--value origin-as has no effect on values of several fields: --value-column names one";
            return Err(Error::of(source, what));
        }
        Ok(format)
    };
    let (format, cut) = content.read_as(source, options.keep_going, read)?;
    builder.damage.extend(cut);
    Ok(format)
}
