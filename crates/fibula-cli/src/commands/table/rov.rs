//! `fibula table rov`: whether the origins of routes are authorised.

use super::answered::{Answered, Answering};
use crate::exit::{Verdict, tell};
use crate::operand::check_standard_input;
use crate::output::Output;
use crate::reading::{Reading, tell_loaded, verdict};
use anyhow::ensure;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use fibula::{Family, NextHopInfo};
use fibula_io::Source;
use fibula_io::rov::{Origins, Validity, Vrps};
use fibula_io::table::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};
use smallvec::{SmallVec, smallvec};

/// Validate the origins of routes by RPKI (RFC 6811)
///
/// Each value becomes an object: `origin_as`, and `rov`, which is valid, invalid-as, invalid-length
/// or not-found. All payloads that cover the route are asked. Where a prefix has several origins
/// (--value origins), both fields are lists. A set of ASes is never valid, also one of a single AS;
/// a path that is empty or ends in a confederation has the peer's AS as its origin.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    /// The validated ROA payloads, as rpki-client and Routinator write them: CSV or JSON
    #[arg(long, value_name = "FILE")]
    vrps: String,
    /// Only routes with one of these answers, with commas between them
    #[arg(long, value_name = "ANSWERS", value_delimiter = ',', value_parser = validity_parser())]
    only: Vec<Validity>,
    #[command(flatten)]
    answering: Answering,
    #[command(flatten)]
    reading: Reading,
}

fn validity_parser() -> impl TypedValueParser<Value = Validity> {
    let names = PossibleValuesParser::new(Validity::ALL.map(Validity::name));
    names.try_map(|name| name.parse::<Validity>())
}

/// The number of answers of a family: one for each origin of each prefix.
#[derive(Debug, Default, Serialize)]
struct Counts {
    family: String,
    routes: usize,
    valid: usize,
    invalid_as: usize,
    invalid_length: usize,
    not_found: usize,
}

impl Counts {
    fn of(family: Family) -> Self {
        Self { family: family.to_string(), ..Self::default() }
    }

    fn add(&mut self, validity: Validity) {
        self.routes += 1;
        *match validity {
            Validity::Valid => &mut self.valid,
            Validity::InvalidAs => &mut self.invalid_as,
            Validity::InvalidLength => &mut self.invalid_length,
            Validity::NotFound => &mut self.not_found,
        } += 1;
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let (input, source) = (Source::from(self.input.as_str()), Source::from(self.vrps.as_str()));
        check_standard_input([&input, &source])?;
        let options = self.reading.of_payloads()?;
        let (payloads, loaded) = std::thread::scope(|scope| {
            let payloads = scope.spawn(|| Vrps::read(&source, &options));
            let loaded = self.reading.read_for(&input, Value::OriginAs);
            (payloads.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), loaded)
        });
        let (loaded, (vrps, payloads)) = (loaded?, payloads?);
        tell_loaded(&source, &payloads);
        let whole = verdict(&loaded) == Verdict::Good && verdict(&payloads) == Verdict::Good;
        let tables = &loaded.tables;
        let origins: Vec<Origins> = std::iter::once(Origins::Unknown)
            .chain(tables.next_hops.iter().map(|(_, info)| Origins::of(info)))
            .collect();
        let mut answered = Answered::new();
        let mut counts = [Counts::of(Family::Ipv4), Counts::of(Family::Ipv6)];
        let (mut unknown, mut result) = (0, Ok(()));
        vrps.each(tables, |prefix, next_hop, validity| {
            let counts = &mut counts[usize::from(prefix.family() == Family::Ipv6)];
            let mut judge = |origin: Option<u32>| {
                let validity = validity(origin);
                counts.add(validity);
                validity
            };
            let found: SmallVec<[Validity; 8]> = match &origins[next_hop.0 as usize] {
                Origins::Unknown => {
                    unknown += 1;
                    smallvec![judge(None)]
                }
                Origins::One(origin) => smallvec![judge(*origin)],
                Origins::Several(all) => all.iter().map(|&origin| judge(origin)).collect(),
            };
            if result.is_ok() && (self.only.is_empty() || found.iter().any(|one| self.only.contains(one))) {
                result = answered.add(prefix, next_hop, found, |found| {
                    value(tables.next_hops.get(next_hop), &origins[next_hop.0 as usize], found)
                });
            }
        });
        result?;
        let routes = tables.ipv4.len() + tables.ipv6.len();
        ensure!(unknown == 0 || unknown < routes, "{input}: no value of the table names an origin");
        if unknown > 0 {
            tell(format_args!("{input}: {unknown} routes whose value names no origin are never valid"));
        }
        self.answering.finish(answered, counts.into_iter().filter(|counts| counts.routes > 0), output)?;
        Ok(Verdict::good_if(whole))
    }
}

/// Returns the value of a route with its answers.
fn value(info: Option<&NextHopInfo>, origins: &Origins, found: &[Validity]) -> String {
    // A table has hundreds of thousands of these.
    if let (Origins::One(Some(origin)), [validity]) = (origins, found) {
        return format!(r#"{{"origin_as":{origin},"rov":"{validity}"}}"#);
    }
    let names: Vec<&str> = found.iter().map(|validity| validity.name()).collect();
    let text = info.map(ToString::to_string);
    let (origin, rov) = match origins {
        Origins::Unknown => (Json::Null, json!(names.first())),
        Origins::One(_) => (json!(text), json!(names.first())),
        Origins::Several(all) => (json!(all), json!(names)),
    };
    json!({ "origin_as": origin, "rov": rov }).to_string().replace('#', "\\u0023")
}
