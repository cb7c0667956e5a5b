//! Validated ROA payloads of RPKI (RFC 6811), as rpki-client and Routinator write them: CSV and
//! JSON; the assertions of SLURM (RFC 8416); and the tables that FRR, rtrclient and BIRD show.
//!
//! ```text
//! ASN,IP Prefix,Max Length,Trust Anchor
//! AS64500,192.0.2.0/24,24,apnic
//!
//! Prefix                                   Prefix Length  Origin-AS
//! 192.0.2.0                                   24 -  24        64500
//!
//! Table roa_v4:
//! 192.0.2.0/24-24 AS64500  [rpki1 2024-01-01] * (100)
//! ```
//!
//! A prefix may have several. Its value is the list of all:
//! `[{"asn":64500,"max_length":24,"ta":"apnic"}]`.

use super::builder::{Builder, Lists, Trouble};
use super::columns::fields;
use super::fields::quoted;
use super::layouts::{Layout, Lines, Looks, Reader};
use super::router::words::Words;
use super::{ReadOptions, json};
use crate::mrt::as_number;
use crate::rov::Payload;
use crate::scan::{self, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

pub(super) const CSV: Layout = Layout {
    looks: Looks::Line(|line| columns(line).is_some() || utf8(line).is_ok_and(|line| shown(line).is_some())),
    reader: Reader::Lines(read_csv),
    writer: None,
    endings: &[],
};

pub(super) const JSON: Layout = Layout {
    looks: Looks::Json(|value| {
        if value.get("slurmVersion").is_some() {
            return true;
        }
        let first = value.get("roas").map(json::first);
        first.is_some_and(|roa| roa.is_null() || roa.get("prefix").is_some() && roa.get("asn").is_some())
    }),
    reader: Reader::Held(|bytes, options, builder| read_json(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// One payload.
#[derive(Deserialize)]
struct Roa<'r> {
    #[serde(borrow)]
    asn: Number<'r>,
    prefix: Cow<'r, str>,
    #[serde(rename = "maxLength", alias = "maxPrefixLength")]
    max_length: Option<u8>,
    ta: Option<Cow<'r, str>>,
}

/// An AS number, with or without `AS`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number<'r> {
    Text(Cow<'r, str>),
    Number(u32),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Document<'r> {
    Payloads {
        #[serde(borrow)]
        roas: Vec<Roa<'r>>,
    },
    #[serde(rename_all = "camelCase")]
    Slurm {
        #[serde(borrow)]
        locally_added_assertions: Assertions<'r>,
        validation_output_filters: Filters,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Assertions<'r> {
    #[serde(borrow)]
    prefix_assertions: Vec<Roa<'r>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filters {
    prefix_filters: Vec<IgnoredAny>,
}

fn read_json(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "RPKI payloads", builder, |document: Document<'_>, builder| {
        let mut lists = Lists::default();
        let roas = match document {
            Document::Payloads { roas } => roas,
            Document::Slurm { locally_added_assertions, validation_output_filters } => {
                for number in (1..).take(validation_output_filters.prefix_filters.len()) {
                    builder.left_out(Place::Row(number), "filter of SLURM, which takes payloads away")?;
                }
                locally_added_assertions.prefix_assertions
            }
        };
        json::each(roas, builder, |place, roa, builder| push(place, roa, options, builder, &mut lists))?;
        lists.finish(builder, false)
    })
}

/// Returns the columns of AS, prefix, length and trust anchor.
fn columns(line: &[u8]) -> Option<[Option<usize>; 4]> {
    let names = fields(line, b',').ok()?;
    let names: Vec<String> =
        names.iter().map(|name| String::from_utf8_lossy(name).trim().to_lowercase()).collect();
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let asn = find(&["asn", "as"])?;
    let prefix = find(&["ip prefix", "prefix"])?;
    let length = find(&["max length", "maxlength", "max_length", "maxlen"])?;
    Some([Some(asn), Some(prefix), Some(length), find(&["trust anchor", "ta"])])
}

fn read_csv(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut lists = Lists::default();
    let mut header = None;
    blocks.each_line(|number, line| {
        let result = line.map_err(Trouble::Here).and_then(|line| {
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                return Ok(());
            }
            let text = utf8(line)?;
            if header.is_none() && columns(line).is_none() {
                let place = Place::Line(number);
                return match shown(text) {
                    Some(roa) => push(place, roa, options, builder, &mut lists),
                    None if is_heading(text) => Ok(()),
                    None if lists.bytes() == 0 && number == 1 => {
                        Err("expected a header with ASN, IP Prefix and Max Length".into())
                    }
                    None => Ok(builder.left_out(place, "line that is no payload")?),
                };
            }
            let Some(places) = header else {
                header = Some(columns(line).ok_or("expected a header with ASN, IP Prefix and Max Length")?);
                return Ok(());
            };
            let fields = fields(line, b',')?;
            let [asn, prefix, length, ta] = places.map(|place| fields.get(place?).and_then(|f| utf8(f).ok()));
            let (Some(asn), Some(prefix)) = (asn, prefix) else {
                return Err(format!("{} columns, expected an AS and a prefix", fields.len()).into());
            };
            let length = length.map(str::trim).filter(|length| !length.is_empty());
            let max_length = length.map(|length| {
                length.parse().map_err(|_| format!("{} is no prefix length", scan::quoted(length)))
            });
            let roa = Roa {
                asn: Number::Text(asn.trim().into()),
                prefix: prefix.trim().into(),
                max_length: max_length.transpose()?,
                ta: ta.map(|ta| ta.trim().into()),
            };
            push(Place::Line(number), roa, options, builder, &mut lists)
        });
        builder.settled(Place::Line(number), result)
    })?;
    lists.finish(builder, false)
}

/// Returns the payload of a line that a router or a client of RTR shows.
fn shown(line: &str) -> Option<Roa<'_>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (prefix, length, asn) = match words[..] {
        [address, len, "-", most, asn] => (format!("{address}/{len}"), most, asn),
        [range, asn, ..] if asn.starts_with("AS") && is_of_bird(line.split_once(asn)?.1) => {
            let (prefix, most) = range.rsplit_once('-')?;
            (prefix.to_owned(), most, asn)
        }
        _ => return None,
    };
    scan::prefix(prefix.as_bytes(), true).ok()?;
    as_number(asn).ok()?;
    let max_length = Some(length.parse().ok()?);
    Some(Roa { asn: Number::Text(asn.into()), prefix: prefix.into(), max_length, ta: None })
}

/// Returns whether BIRD tells the source of a route so: `[rpki1 2024-01-01] * (100)`.
fn is_of_bird(text: &str) -> bool {
    let mut words = Words::new(text);
    words.all(|word| word == "*" || word == "!" || word.starts_with(['[', '(']))
}

/// Returns whether a line is above or below payloads that are shown.
fn is_heading(line: &str) -> bool {
    #[rustfmt::skip]
    const HEADINGS: [&str; 9] = [
        "RPKI/RTR prefix table", "Prefix Prefix Length Origin-AS", "Prefix Prefix Length ASN",
        "Number of IPv4 Prefixes: NUM", "Number of IPv6 Prefixes: NUM", "BIRD ANY ready.", "Table NAME:",
        "host: ANY port: ANY", "Access restricted",
    ];
    HEADINGS.iter().any(|phrase| Words::new(line).whole(phrase).is_some())
}

fn push(
    place: Place,
    roa: Roa<'_>,
    options: &ReadOptions,
    builder: &mut Builder,
    lists: &mut Lists,
) -> Result<(), Trouble> {
    let prefix = scan::prefix(roa.prefix.as_bytes(), options.mask_host_bits)?;
    let (len, bits) = match prefix {
        IpPrefix::V4(prefix) => (prefix.len(), 32),
        IpPrefix::V6(prefix) => (prefix.len(), 128),
    };
    let asn = match &roa.asn {
        Number::Number(number) => *number,
        Number::Text(text) => as_number(text)?,
    };
    let max_length = roa.max_length.unwrap_or(len);
    if !(len..=bits).contains(&max_length) {
        let what = format!("the maximal length {max_length} of {prefix} is not from {len} to {bits}");
        return Err(what.into());
    }
    if let Some(payloads) = &mut builder.payloads {
        payloads.push(prefix, Payload { asn, max_length });
        let bytes = payloads.bytes();
        return Ok(builder.beside(place, bytes)?);
    }
    // As `object` writes it, for hundreds of thousands.
    let mut value = format!("{{\"asn\":{asn},\"max_length\":{max_length}");
    if let Some(ta) = roa.ta {
        value += ",\"ta\":";
        value += &quoted(&ta);
    }
    value.push('}');
    lists.push(place, prefix, &value);
    Ok(builder.beside(place, lists.bytes())?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn what_routers_show_and_slurm_asserts_are_payloads() {
        let expected = [
            r#"192.0.2.0/24 [{"asn":64500,"max_length":24}]"#,
            r#"2001:db8::/32 [{"asn":64501,"max_length":48}]"#,
        ];
        let frr = "RPKI/RTR prefix table\nPrefix                                   Prefix Length  Origin-AS\n\
            192.0.2.0                                   24 -  24        64500\n\
            2001:db8::                                  32 -  48        64501\nNumber of IPv4 Prefixes: 1\n";
        let bird = "BIRD 2.0.12 ready.\nTable roa:\n192.0.2.0/24-24 AS64500  [rpki1 2024-01-01] * (100)\n\
            2001:db8::/32-48 AS64501  [rpki1 2024-01-01] * (100)\n";
        for text in [frr, bird] {
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(
                (loaded.format, routes(&loaded)),
                (Format::Vrps, expected.map(str::to_owned).to_vec())
            );
            let odd = parse(format!("{text}odd\n").as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(odd.report.notes[0].what, "line that is no payload");
        }
        let slurm =
            br#"{"slurmVersion":1,"validationOutputFilters":{"prefixFilters":[{"asn":1}],"bgpsecFilters":[]},
            "locallyAddedAssertions":{"prefixAssertions":[{"asn":64500,"prefix":"192.0.2.0/24","comment":"x"},
            {"asn":64501,"prefix":"2001:db8::/32","maxPrefixLength":48}],"bgpsecAssertions":[]}}"#;
        let loaded = parse(slurm, &ReadOptions::default()).unwrap();
        assert_eq!(
            (loaded.format, routes(&loaded)),
            (Format::VrpsJson, expected.map(str::to_owned).to_vec())
        );
        assert_eq!(loaded.report.notes[0].what, "filter of SLURM, which takes payloads away");
    }

    #[test]
    fn all_payloads_of_a_prefix() {
        let csv = "ASN,IP Prefix,Max Length,Trust Anchor\nAS64500,192.0.2.0/24,26,apnic\nAS0,192.0.2.0/24,24,ripe\nAS7,2001:db8::/32,48,x\n";
        let json = r#"{"metadata":{},"roas":[{"asn":"AS64500","prefix":"192.0.2.0/24","maxLength":26,"ta":"apnic"},
            {"asn":0,"prefix":"192.0.2.0/24","maxLength":24,"ta":"ripe"},{"asn":7,"prefix":"2001:db8::/32","maxLength":48,"ta":"x"}]}"#;
        for (text, format) in [(csv, Format::Vrps), (json, Format::VrpsJson)] {
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(loaded.format, format);
            assert_eq!(
                routes(&loaded),
                [
                    r#"192.0.2.0/24 [{"asn":64500,"max_length":26,"ta":"apnic"},{"asn":0,"max_length":24,"ta":"ripe"}]"#,
                    r#"2001:db8::/32 [{"asn":7,"max_length":48,"ta":"x"}]"#,
                ]
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |row: &str| testing::error(Format::Vrps, &format!("ASN,IP Prefix,Max Length\n{row}\n"));
        assert_eq!(error("ASx,192.0.2.0/24,24"), "memory, line 2: \"ASx\" is no AS number");
        let length = "memory, line 2: the maximal length 20 of 192.0.2.0/24 is not from 24 to 32";
        assert_eq!(error("AS1,192.0.2.0/24,20"), length);
        assert_eq!(error("AS1"), "memory, line 2: 1 columns, expected an AS and a prefix");
        let json = testing::error(Format::VrpsJson, r#"{"roas":[{"asn":1,"prefix":"192.0.2.1/24"}]}"#);
        assert_eq!(json, "memory, row 1: 192.0.2.1/24 has bits set after its length (host bits)");
    }
}
