//! Geofeeds (RFC 8805): `prefix,country,region,city,postal code`, of which the last may be missing.

use super::ReadOptions;
use super::builder::Builder;
use super::columns::{self, Chosen, Net, fields};
use super::layouts::{Layout, Lines, Looks, Reader};
use crate::{Damage, scan};

pub(super) const LAYOUT: Layout =
    Layout { looks: Looks::Line(is_line), reader: Reader::Lines(read), writer: None, endings: &[] };

/// The fields after the prefix (section 2.1.1).
const NAMES: [&str; 4] = ["country", "region", "city", "postal_code"];

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let chosen = || Chosen { is_ragged: true, ..Chosen::of(b',', Net::Prefix(0), &NAMES) };
    columns::read(blocks, options, builder, |_| Ok((chosen(), true)))
}

fn is_line(line: &[u8]) -> bool {
    let Ok(fields) = fields(line, b',') else { return false };
    let [prefix, country, ..] = &fields[..] else { return false };
    let code = country.trim_ascii();
    let is_code = code.is_empty() || code.len() == 2 && code.iter().all(u8::is_ascii_alphabetic);
    // A comma may end the line.
    let most = 1 + NAMES.len() + usize::from(fields.last().is_some_and(|last| last.trim_ascii().is_empty()));
    fields.len() <= most && is_code && scan::prefix(prefix.trim_ascii(), true).is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn fields_may_be_missing() {
        let text =
            b"# feed\n192.0.2.0/24,BE,BE-VAN,Antwerp,\n2001:db8::/32,BE,BE-VOV,Ghent,9000\n198.51.100.7,NL\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Geofeed);
        assert_eq!(
            routes(&loaded),
            [
                r#"192.0.2.0/24 {"country":"BE","region":"BE-VAN","city":"Antwerp","postal_code":null}"#,
                r#"198.51.100.7/32 {"country":"NL","region":null,"city":null,"postal_code":null}"#,
                r#"2001:db8::/32 {"country":"BE","region":"BE-VOV","city":"Ghent","postal_code":"9000"}"#,
            ]
        );
        // White space around a comma, and one comma more.
        let text = b"192.0.2.0/24 , US , US-CA , San Jose ,\n198.51.100.0/24, NL, , Amsterdam,,\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Geofeed);
        assert_eq!(
            routes(&loaded),
            [
                r#"192.0.2.0/24 {"country":"US","region":"US-CA","city":"San Jose","postal_code":null}"#,
                r#"198.51.100.0/24 {"country":"NL","region":null,"city":"Amsterdam","postal_code":null}"#,
            ]
        );
        assert!(parse(b"192.0.2.0/24,BE,a,b,c,d\n", &ReadOptions::default()).is_err());
    }
}
