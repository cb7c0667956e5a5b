//! The address lists that clouds publish as JSON: AWS, Google, Azure, Oracle, GitHub, Fastly,
//! Cloudflare, Microsoft 365 and Atlassian.
//!
//! Each prefix has the fields of the objects around it, but for those of the document itself:
//! `{"region":"af-south-1","service":"AMAZON","network_border_group":"af-south-1"}`. In a document
//! of lists without such fields, as GitHub's, the value is the name of the list, and of all lists
//! where a prefix is in several.

use super::ReadOptions;
use super::builder::{Builder, Lists, Trouble};
use super::fields::{list, object, quoted};
use super::json;
use super::layouts::{Layout, Looks, Reader};
use crate::{Damage, Place, scan};
use serde_json::Value;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Json(looks),
    reader: Reader::Held(|bytes, options, builder| read(&bytes, options, builder)),
    writer: None,
    endings: &[],
};

/// The keys under which the publishers have prefixes.
const KEYS: [&str; 12] = [
    "ip_prefix",
    "ipv6_prefix",
    "ipv4Prefix",
    "ipv6Prefix",
    "addressPrefixes",
    "cidr",
    "addresses",
    "ipv6_addresses",
    "ipv4_cidrs",
    "ipv6_cidrs",
    "prefix",
    "network",
];

fn looks(value: &Value) -> bool {
    let first = |key: &str| value.get(key).map(json::first);
    let has = |element: Option<&Value>, keys: &[&str]| {
        element.is_some_and(|element| keys.iter().any(|key| element.get(key).is_some()))
    };
    has(first("prefixes"), &["ip_prefix", "ipv4Prefix", "ipv6Prefix"])
        || has(first("ipv6_prefixes"), &["ipv6_prefix"])
        || has(first("regions"), &["cidrs"])
        || first("values").is_some_and(|element| has(element.get("properties"), &["addressPrefixes"]))
        || value.get("result").is_some_and(|result| result.get("ipv4_cidrs").is_some())
        || first("addresses").is_some_and(|element| element.as_str().is_some_and(is_prefix))
        || value.get("verifiable_password_authentication").is_some() // GitHub
        || has(first("items"), &["cidr"]) // Atlassian
        || has(Some(json::first(value)), &["serviceArea"]) // Microsoft 365
        || json::first(value).as_str().is_some_and(is_prefix)
}

fn is_prefix(text: &str) -> bool {
    text.contains(['.', ':']) && scan::prefix(text.as_bytes(), true).is_ok()
}

fn read(text: &[u8], options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    json::document(text, "a published list", builder, |document: Value, builder| {
        let mut reading = Reading { options, lists: Lists::default(), number: 0 };
        reading.walk(&document, &[], None, 0, builder)?;
        reading.lists.finish(builder, true)
    })
}

struct Reading<'o> {
    options: &'o ReadOptions,
    lists: Lists,
    /// The prefixes so far.
    number: u64,
}

/// A field of an object around a prefix.
type Field<'v> = (&'v str, &'v Value);

impl Reading<'_> {
    /// Reads the prefixes in a value, which has these fields around it, under this key.
    fn walk<'v>(
        &mut self,
        value: &'v Value,
        around: &[Field<'v>],
        key: Option<&'v str>,
        depth: usize,
        builder: &mut Builder,
    ) -> Result<(), Damage> {
        match value {
            Value::Object(fields) => {
                let is_plain = |value: &Value| match value {
                    Value::Array(values) => values
                        .iter()
                        .all(|value| !value.is_object() && !value.as_str().is_some_and(is_prefix)),
                    Value::Object(_) => false,
                    _ => true,
                };
                let is_about = |key: &str| !KEYS.contains(&key) && key != "etag";
                let own = fields.iter().filter(|(key, value)| depth > 0 && is_plain(value) && is_about(key));
                let around: Vec<Field<'_>> =
                    around.iter().copied().chain(own.map(|(key, value)| (key.as_str(), value))).collect();
                // Atlassian has the address alone as well.
                let is_again = |key: &str| key == "network" && fields.contains_key("cidr");
                for (key, value) in fields {
                    if !value.is_string() || KEYS.contains(&key.as_str()) && !is_again(key) {
                        self.walk(value, &around, Some(key), depth + 1, builder)?;
                    }
                }
                Ok(())
            }
            Value::Array(values) => {
                values.iter().try_for_each(|value| self.walk(value, around, key, depth + 1, builder))
            }
            Value::String(text) if key.is_some_and(|key| KEYS.contains(&key)) || is_prefix(text) => {
                self.number += 1;
                let place = Place::Row(self.number);
                let result = self.push(place, text, around, key);
                builder.settled(place, result)
            }
            _ => Ok(()),
        }
    }

    fn push(
        &mut self,
        place: Place,
        text: &str,
        around: &[Field<'_>],
        key: Option<&str>,
    ) -> Result<(), Trouble> {
        let prefix = scan::prefix(text.as_bytes(), self.options.mask_host_bits)?;
        let json = |value: &Value| match value {
            Value::String(text) if text.is_empty() => "null".to_owned(),
            Value::String(text) => quoted(text),
            Value::Array(values) => {
                list(&values.iter().map(Value::to_string).collect::<Vec<_>>()).replace('#', "\\u0023")
            }
            other => other.to_string(),
        };
        let value = match key {
            Some(key) if around.is_empty() && !KEYS.contains(&key) => quoted(key),
            _ => object(around.iter().map(|&(name, value)| (name, json(value)))),
        };
        self.lists.push(place, prefix, &value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    fn read(text: &str) -> Vec<String> {
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Published);
        routes(&loaded)
    }

    #[test]
    fn the_lists_of_every_publisher() {
        let aws = r#"{"syncToken":"1","prefixes":[{"ip_prefix":"192.0.2.0/26","region":"r1","service":"AMAZON"},
            {"ip_prefix":"192.0.2.0/26","region":"r1","service":"EC2"}],
            "ipv6_prefixes":[{"ipv6_prefix":"2001:db8::/40","region":"r2","service":"S3"}]}"#;
        let two = r#"192.0.2.0/26 [{"region":"r1","service":"AMAZON"},{"region":"r1","service":"EC2"}]"#;
        assert_eq!(read(aws), [two, r#"2001:db8::/40 {"region":"r2","service":"S3"}"#]);
        let google =
            r#"{"syncToken":"1","prefixes":[{"ipv4Prefix":"192.0.2.0/24","service":"G","scope":"a"}]}"#;
        assert_eq!(read(google), [r#"192.0.2.0/24 {"service":"G","scope":"a"}"#]);
        let azure = r#"{"changeNumber":1,"values":[{"name":"A","id":"A","properties":{"region":"","platform":"P","addressPrefixes":["192.0.2.0/24","2001:db8::/32"]}}]}"#;
        let value = r#"{"name":"A","id":"A","region":null,"platform":"P"}"#;
        assert_eq!(read(azure), [format!("192.0.2.0/24 {value}"), format!("2001:db8::/32 {value}")]);
        let oracle = r#"{"regions":[{"region":"r","cidrs":[{"cidr":"192.0.2.0/24","tags":["OCI","x"]}]}]}"#;
        assert_eq!(read(oracle), [r#"192.0.2.0/24 {"region":"r","tags":["OCI","x"]}"#]);
        let github = r#"{"verifiable_password_authentication":false,"hooks":["192.0.2.0/24"],"web":["192.0.2.0/24","198.51.100.0/24"],"domains":{"x":["a.example"]}}"#;
        assert_eq!(read(github), [r#"192.0.2.0/24 ["hooks","web"]"#, "198.51.100.0/24 web"]);
        let plain = r#"["192.0.2.0/24","198.51.100.7"]"#;
        assert_eq!(read(plain), ["192.0.2.0/24 listed", "198.51.100.7/32 listed"]);
        let cloudflare = r#"{"result":{"ipv4_cidrs":["192.0.2.0/24"],"etag":"x"},"success":true}"#;
        assert_eq!(read(cloudflare), ["192.0.2.0/24 listed"]);
        let fastly = r#"{"addresses":["192.0.2.0/24"],"ipv6_addresses":["2001:db8::/32"]}"#;
        assert_eq!(read(fastly), ["192.0.2.0/24 listed", "2001:db8::/32 listed"]);
        let atlassian =
            r#"{"items":[{"network":"192.0.2.0","mask_len":24,"cidr":"192.0.2.0/24","product":["jira"]}]}"#;
        assert_eq!(read(atlassian), [r#"192.0.2.0/24 {"mask_len":24,"product":["jira"]}"#]);
        let microsoft = r#"[{"id":1,"serviceArea":"Exchange","urls":["a.example"],"ips":["192.0.2.0/24"]},{"id":2,"serviceArea":"Exchange"}]"#;
        let value = r#"{"id":1,"serviceArea":"Exchange","urls":["a.example"]}"#;
        assert_eq!(read(microsoft), [format!("192.0.2.0/24 {value}")]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error =
            testing::error(Format::Published, r#"{"prefixes":[{"ip_prefix":"192.0.2.0/33","region":"r"}]}"#);
        assert_eq!(error, "memory, row 1: prefix length 33 is past the 32 bits of the family");
    }
}
