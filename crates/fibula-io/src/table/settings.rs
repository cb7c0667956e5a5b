//! [`Setting`]: which options of reading have an effect in which format. Readers, commands and
//! docs/tables.md ask this list.

use super::builder::Builder;
use super::{AddPath, Columns, Format, ReadOptions, Value, json_of};
use crate::names::named;
use fibula::NextHopInfo;

named! {
    /// An option of [`ReadOptions`] that has an effect in some formats alone, by its name on the
    /// command line. Where no table that is read with it heeds it, it is an error.
    pub enum Setting, "option" {
        /// [`ReadOptions::value`], another than the next hop.
        Value = "value",
        /// [`ReadOptions::peer`].
        Peer = "peer",
        /// [`ReadOptions::add_path`].
        AddPath = "add-path",
        /// [`ReadOptions::vrf`].
        Vrf = "vrf",
        /// [`ReadOptions::table`].
        Table = "routing-table",
        /// [`ReadOptions::encoding`].
        Encoding = "encoding",
        /// [`Columns::prefix`].
        PrefixColumn = "prefix-column",
        /// [`Columns::start`].
        StartColumn = "start-column",
        /// [`Columns::end`].
        EndColumn = "end-column",
        /// [`Columns::values`].
        ValueColumn = "value-column",
        /// [`Columns::delimiter`].
        Delimiter = "delimiter",
        /// [`Columns::has_no_header`].
        NoHeader = "no-header",
        /// [`ReadOptions::locations`].
        Locations = "locations",
    }
}

/// Returns the options that have an effect in a format, and the values that it tells.
fn of(format: Format) -> (&'static [Setting], &'static [Value]) {
    use Format as F;
    use Setting as S;
    // A value that stands alone may be that of an origin.
    const ALONE: &[Value] = &[Value::NextHop, Value::OriginAs];
    const ORIGINS: &[Value] = &[Value::NextHop, Value::OriginAs, Value::Origins];
    const HOPS: &[Value] = &[Value::NextHop, Value::NextHops];
    const PROTOCOLS: &[Value] =
        &[Value::NextHop, Value::NextHops, Value::OriginAs, Value::Origins, Value::Peer];
    const NONE: &[Value] = &[Value::NextHop];
    let text: &[S] = &[S::Encoding];
    match format {
        F::Mrt => (&[S::Peer, S::AddPath], &Value::ALL),
        F::Bmp => (&[S::Peer, S::Vrf, S::Table], &Value::ALL),
        // Its lines say themselves whether they have path identifiers, as some records of MRT do.
        F::Bgpdump => (&[S::Peer, S::AddPath, S::Encoding], &Value::ALL),
        F::FrrBgp | F::EosBgp | F::ShowBgp => (&[S::Vrf, S::Encoding], &Value::ALL),
        F::Gobgp | F::Openbgpd => (text, &Value::ALL),
        F::Bird => (&[S::Table, S::Encoding], PROTOCOLS),
        F::Junos | F::JunosJson => (&[S::Vrf, S::Table, S::Encoding], PROTOCOLS),
        F::Frr => (&[S::Vrf, S::Table, S::Encoding], HOPS),
        F::IpRoute | F::IpJson | F::Routeros => (&[S::Table, S::Encoding], HOPS),
        F::ShowRoute | F::RouteColumns | F::EosJson => (&[S::Vrf, S::Encoding], HOPS),
        F::Netstat | F::SrosJson => (text, HOPS),
        F::Pfx2as | F::Irr => (text, ORIGINS),
        F::Text | F::Updates => (text, ALONE),
        F::Csv | F::Tsv => (
            &[
                S::Encoding,
                S::PrefixColumn,
                S::StartColumn,
                S::EndColumn,
                S::ValueColumn,
                S::Delimiter,
                S::NoHeader,
                S::Locations,
            ],
            ALONE,
        ),
        F::Ndjson | F::JsonRows => {
            (&[S::Encoding, S::PrefixColumn, S::StartColumn, S::EndColumn, S::ValueColumn], ALONE)
        }
        F::Parquet => (&[S::PrefixColumn, S::StartColumn, S::EndColumn, S::ValueColumn], ALONE),
        F::Ranges => (&[S::Encoding, S::Delimiter], ALONE),
        F::List | F::Nftables | F::Geofeed | F::Delegated | F::Vrps | F::VrpsJson | F::Published => {
            (text, NONE)
        }
        F::Mmdb | F::Snapshot => (&[], NONE),
        F::IpsetRestore | F::Iptables | F::PrefixList | F::JunosPrefixList | F::BirdSet | F::P4 => (&[], &[]),
    }
}

impl Setting {
    /// Returns whether it has an effect in a format; [`Setting::Value`] with a value.
    fn is_of(self, format: Format, value: Value) -> bool {
        let (settings, values) = of(format);
        if self == Self::Value { values.contains(&value) } else { settings.contains(&self) }
    }

    /// Returns whether it is asked for.
    fn is_asked(self, options: &ReadOptions) -> bool {
        let Columns { prefix, start, end, values, delimiter, has_no_header } = &options.columns;
        match self {
            Self::Value => options.value != Value::NextHop,
            Self::Peer => options.peer.is_some(),
            Self::AddPath => options.add_path != AddPath::Guess,
            Self::Vrf => options.vrf.is_some(),
            Self::Table => options.table.is_some(),
            Self::Encoding => options.encoding.is_some(),
            Self::PrefixColumn => prefix.is_some(),
            Self::StartColumn => start.is_some(),
            Self::EndColumn => end.is_some(),
            Self::ValueColumn => !values.is_empty(),
            Self::Delimiter => delimiter.is_some(),
            Self::NoHeader => *has_no_header,
            Self::Locations => options.locations.is_some(),
        }
    }
}

impl ReadOptions {
    /// Returns why they are refused for a command that reads tables of these formats: the first
    /// option that has no effect in any of them, and is none of [`Self::may_be_idle`].
    ///
    /// ```
    /// use fibula_io::table::{Format, ReadOptions};
    /// let options = ReadOptions { peer: Some("192.0.2.1".into()), ..Default::default() };
    /// assert_eq!(options.refusal(&[Format::Text, Format::Mrt]), None);
    /// assert_eq!(
    ///     options.refusal(&[Format::Snapshot]).unwrap(),
    ///     "--peer has no effect on snapshot, which has --value next-hop; it is an option of mrt, \
    ///      bmp, bgpdump"
    /// );
    /// ```
    #[must_use]
    pub fn refusal(&self, formats: &[Format]) -> Option<String> {
        let is_heeded = |setting: Setting| formats.iter().any(|&format| setting.is_of(format, self.value));
        let may_be = |setting: Setting| self.may_be_idle.contains(&setting) || is_heeded(setting);
        let idle = Setting::ALL.into_iter().find(|&one| one.is_asked(self) && !may_be(one))?;
        let name = match idle {
            Setting::Value => format!("--value {}", self.value),
            other => format!("--{other}"),
        };
        let with = Format::ALL.into_iter().filter(|&format| idle.is_of(format, self.value));
        let with = with.map(Format::name).collect::<Vec<_>>().join(", ");
        let on = match formats {
            [] => "without a table".to_owned(),
            [format] => {
                let options: Vec<String> =
                    options_of(*format).iter().map(|name| format!("--{name}")).collect();
                format!("on {format}, which has {}", options.join(", "))
            }
            several => {
                let several: Vec<&str> = several.iter().map(|format| format.name()).collect();
                format!("on any of {}", several.join(", "))
            }
        };
        Some(format!("{name} has no effect {on}; it is an option of {with}"))
    }

    /// Returns whether an origin is asked for and no value can be one, since each has several
    /// fields.
    pub(super) fn lacks_origin(&self, builder: &Builder) -> bool {
        let is_object = |info: &NextHopInfo| json_of(info).is_some_and(|json| json.starts_with('{'));
        self.value == Value::OriginAs
            && !self.may_be_idle.contains(&Setting::Value)
            && !builder.next_hops.is_empty()
            && (!builder.columns.is_empty() || builder.next_hops.iter().all(|(_, info)| is_object(info)))
    }
}

/// Returns the options that have an effect in a format, `--value` with each of its values.
fn options_of(format: Format) -> Vec<String> {
    let (settings, values) = of(format);
    let values = values.iter().map(|value| format!("{} {value}", Setting::Value));
    values.chain(settings.iter().map(|setting| setting.name().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use std::fmt::Write;

    #[test]
    fn the_page_lists_the_options_of_each_format() {
        let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for format in Format::ALL.into_iter().filter(|format| format.is_read()) {
            let (options, name) = (options_of(format), format!("`{format}`"));
            match rows.iter_mut().find(|(known, _)| *known == options) {
                Some((_, formats)) => formats.push(name),
                None => rows.push((options, vec![name])),
            }
        }
        let mut made = String::from("\n| formats | options |\n| --- | --- |\n");
        for (options, formats) in rows {
            let options: Vec<String> = options.iter().map(|option| format!("`--{option}`")).collect();
            let _ = writeln!(made, "| {} | {} |", formats.join(", "), options.join(", "));
        }
        testing::part_of_page("settings", &(made + "\n"));
    }

    #[test]
    fn an_option_that_a_table_does_not_heed_is_refused() {
        let heeds = |text: &str, options: &ReadOptions| super::super::parse(text.as_bytes(), options).is_ok();
        let (text, csv) = ("10.0.0.0/8 AS1\n", "prefix,a,b\n10.0.0.0/8,1,2\n");
        let value = |value| ReadOptions { value, ..Default::default() };
        assert!(heeds(text, &value(Value::OriginAs)) && !heeds(text, &value(Value::Peer)));
        assert!(!heeds(csv, &value(Value::OriginAs)), "several fields are no origin");
        let columns = Columns { values: vec!["b".into()], ..Default::default() };
        let columns = ReadOptions { columns, ..Default::default() };
        assert!(heeds(csv, &columns));
        let format = Some(Format::Text);
        let others = vec![Setting::ValueColumn];
        let named = ReadOptions { format, ..columns };
        assert!(!heeds(text, &named) && heeds(text, &ReadOptions { may_be_idle: others, ..named }));
        let lines = "TABLE_DUMP2|1|B|192.0.2.7|1|10.0.0.0/8|1|IGP|192.0.2.7|0|0||NAG||\n";
        let (peer, add_path) = (Some("192.0.2.7".into()), AddPath::No);
        assert!(heeds(lines, &ReadOptions { add_path, peer, ..Default::default() }));
    }
}
