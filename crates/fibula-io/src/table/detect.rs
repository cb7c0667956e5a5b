//! Recognises a format by its first bytes.

use super::{Format, bird, csv, ip_route, parquet, pfx2as, text};
use crate::mrt;
use crate::scan::{lines, quoted};

/// The number of lines that are looked at: the first lines of a table may be headings.
const LINES: usize = 20;

/// Returns the format of some content, or what was expected.
pub(super) fn format(bytes: &[u8]) -> Result<Format, String> {
    if mrt::looks_like(bytes) {
        return Ok(Format::Mrt);
    }
    if bytes.starts_with(&fibula::snapshot::MAGIC) {
        return Ok(Format::Snapshot);
    }
    if bytes.starts_with(parquet::MAGIC) {
        return Ok(Format::Parquet);
    }
    let head = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if head.trim_ascii_start().starts_with(b"{") {
        return Ok(Format::Frr);
    }
    let mut first = None;
    for (_, line) in lines(&head[..head.len().min(64 << 10)]).take(LINES) {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        first.get_or_insert(line);
        let found = String::from_utf8_lossy(line);
        if csv::is_header(line) {
            return Ok(Format::Csv);
        }
        if bird::is_line(&found) {
            return Ok(Format::Bird);
        }
        if ip_route::is_line(&found) {
            return Ok(Format::IpRoute);
        }
        if matches!(pfx2as::row(line, true), Ok(Some(_))) {
            return Ok(Format::Pfx2as);
        }
        if matches!(text::row(line, true), Ok(Some(_))) {
            return Ok(Format::Text);
        }
    }
    match first {
        // A table without routes is a table.
        None => Ok(Format::Text),
        Some(line) => {
            let found = quoted(String::from_utf8_lossy(line).trim());
            let names = Format::ALL.map(Format::name).join(", ");
            Err(format!("the format is not recognised from {found}, expected one of {names}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_format_is_told_apart() {
        let of = |text: &str| format(text.as_bytes()).unwrap();
        assert_eq!(of("# x\n10.0.0.0/8\t192.0.2.1\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 192.0.2.1 dev eth0\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 dev eth0\n"), Format::Text);
        assert_eq!(of("not a route\n10.0.0.0/8 1\n"), Format::Text);
        assert_eq!(of(""), Format::Text);
        assert_eq!(of("10.0.0.0\t8\t1_2\n"), Format::Pfx2as);
        assert_eq!(of("Prefix,ASN\n10.0.0.0/8,1\n"), Format::Csv);
        assert_eq!(of("default via 192.0.2.1 dev eth0\n"), Format::IpRoute);
        assert_eq!(of("10.0.0.0/8 dev eth0 scope link\n"), Format::IpRoute);
        assert_eq!(of("unreachable 10.0.0.0/8\n"), Format::IpRoute);
        assert_eq!(of("\u{FEFF}  {\"10.0.0.0/8\":[]}"), Format::Frr);
        assert_eq!(of("BIRD 2.0.7 ready.\nTable master4:\n"), Format::Bird);
        assert_eq!(of("10.0.0.0/8  blackhole [static1 2024-01-01] * (200)\n"), Format::Bird);
        assert_eq!(of("PAR1\u{15}\0"), Format::Parquet);
        assert_eq!(of("\0\0\0\u{1}\0\u{10}\0\u{1}\0\0\0\0"), Format::Mrt);
    }

    #[test]
    fn what_is_not_recognised_is_shown() {
        let error = format(b"hello world\n").unwrap_err();
        assert!(
            error
                .starts_with("the format is not recognised from \"hello world\", expected one of text, mrt,")
        );
    }
}
