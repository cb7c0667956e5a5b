//! [`Expression`]: what `fibula table select` asks of each route.
//!
//! ```text
//! any        = all { "or" all }
//! all        = one { "and" one }
//! one        = "not" one | "(" any ")" | field operator value
//! operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "has"
//! ```

use anyhow::{Context, bail, ensure};
use fibula::{Family, IpPrefix, NextHopInfo, NextHops};
use fibula_io::mrt::as_number;
use fibula_io::table::json_of;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::str::FromStr;

/// The deepest nesting of parentheses and `not`.
const DEPTH_MAX: usize = 100;

/// A condition on a route.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Any(Vec<Expression>),
    All(Vec<Expression>),
    Not(Box<Expression>),
    /// `prefix in PREFIX`.
    Within(IpPrefix),
    /// `field has value`.
    Has(Field, String),
    /// `prefix operator PREFIX`: which orders of the two are meant.
    ComparePrefix(&'static [Ordering], IpPrefix),
    /// As that, of another field and a value.
    Compare(Field, &'static [Ordering], String),
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Prefix,
    Length,
    Family,
    Value,
    Named(String),
}

/// Returns the values of a table by next-hop index: JSON where they have fields, else text.
pub(super) fn values(next_hops: &NextHops) -> Vec<Value> {
    let value = |info: &NextHopInfo| {
        let structured = json_of(info).and_then(|json| serde_json::from_str(json).ok());
        structured.unwrap_or_else(|| Value::String(info.to_string()))
    };
    std::iter::once(Value::Null).chain(next_hops.iter().map(|(_, info)| value(info))).collect()
}

impl Expression {
    /// Checks that each name is one of the values of a table, that of [`values`]. A table without
    /// routes has no names, and any is taken.
    pub(super) fn check(&self, values: &[Value]) -> anyhow::Result<()> {
        match self {
            Self::Any(all) | Self::All(all) => all.iter().try_for_each(|one| one.check(values)),
            Self::Not(one) => one.check(values),
            Self::Has(Field::Named(name), _) | Self::Compare(Field::Named(name), ..) => {
                let is_known = values.len() < 2 || values.iter().any(|value| part(value, name).is_some());
                ensure!(is_known, unknown(name, values));
                Ok(())
            }
            Self::Within(_) | Self::ComparePrefix(..) | Self::Has(..) | Self::Compare(..) => Ok(()),
        }
    }

    /// Returns whether it holds for a route. What a value does not have is equal to nothing, and
    /// neither less nor greater.
    pub(super) fn holds(&self, prefix: IpPrefix, value: &Value) -> bool {
        match self {
            Self::Any(all) => all.iter().any(|one| one.holds(prefix, value)),
            Self::All(all) => all.iter().all(|one| one.holds(prefix, value)),
            Self::Not(one) => !one.holds(prefix, value),
            Self::Within(around) => around.covers(prefix),
            Self::Has(field, wanted) => match &field.of(prefix, value) {
                Value::Array(list) => has(list, wanted),
                Value::Null => false,
                other => text(other).contains(wanted.as_str()),
            },
            Self::ComparePrefix(orders, wanted) => orders.contains(&prefix.cmp(wanted)),
            Self::Compare(field, orders, wanted) => match field.of(prefix, value) {
                Value::Null => !orders.contains(&Ordering::Equal) && orders.len() == 2,
                found => orders.contains(&compared(&text(&found), wanted)),
            },
        }
    }
}

/// Returns the part of a value with a name: a field, or one within objects and lists,
/// `country.iso_code` or `subdivisions.0.iso_code`. A field whose own name has a point is found
/// first.
fn part<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let of = |value: &'v Value, name: &str| match value {
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    };
    of(value, name).or_else(|| {
        let mut points = name.match_indices('.');
        points.find_map(|(at, _)| part(of(value, &name[..at])?, &name[at + 1..]))
    })
}

/// Says that no value has a name, and which names there are as far as the name is one.
fn unknown(name: &str, values: &[Value]) -> String {
    let outer = name.match_indices('.').map(|(at, _)| &name[..at]);
    let outer = outer.rev().find(|outer| values.iter().any(|value| part(value, outer).is_some()));
    let mut names: Vec<String> = Vec::new();
    if outer.is_none() {
        names.extend(["prefix", "length", "family", "value"].map(str::to_owned));
    }
    let mut known: HashSet<&str> = HashSet::new();
    let mut has_list = false;
    for value in values {
        match outer.map_or(Some(value), |outer| part(value, outer)) {
            Some(Value::Object(fields)) => {
                let new = fields.keys().filter(|field| known.insert(field));
                names
                    .extend(new.map(|field| outer.map_or(field.clone(), |outer| format!("{outer}.{field}"))));
            }
            Some(Value::Array(_)) => has_list = true,
            _ => {}
        }
    }
    let list = outer.unwrap_or("value");
    let list = has_list.then(|| format!("; {list} is a list: `{list} has ELEMENT`, `{list}.0`"));
    let names = names.join(", ");
    let expected = if names.is_empty() { names } else { format!(", expected one of {names}") };
    format!("no route has {name:?}{expected}{}", list.unwrap_or_default())
}

/// Returns whether a list has an element, or a list within it has.
fn has(list: &[Value], wanted: &str) -> bool {
    list.iter().any(|element| match element {
        Value::Array(within) => has(within, wanted),
        element => compared(&text(element), wanted) == Ordering::Equal,
    })
}

/// Compares integers and other numbers as such, with or without `AS`, and all else as text.
fn compared(found: &str, wanted: &str) -> Ordering {
    let integer = |text: &str| {
        let of_as = || text.starts_with("AS").then(|| as_number(text).ok()).flatten();
        text.parse::<i128>().ok().or_else(|| of_as().map(i128::from))
    };
    let number = |text: &str| integer(text).map(|it| it as f64).or_else(|| text.parse::<f64>().ok());
    match (integer(found).zip(integer(wanted)), number(found).zip(number(wanted))) {
        (Some((found, wanted)), _) => found.cmp(&wanted),
        (None, Some((found, wanted))) => found.total_cmp(&wanted),
        (None, None) => found.cmp(wanted),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Field {
    fn named(name: &str) -> Self {
        match name {
            "prefix" => Self::Prefix,
            "length" => Self::Length,
            "family" => Self::Family,
            "value" => Self::Value,
            name => Self::Named(name.to_owned()),
        }
    }

    fn of(&self, prefix: IpPrefix, value: &Value) -> Value {
        match self {
            Self::Prefix => prefix.to_string().into(),
            Self::Length => prefix.len().into(),
            Self::Family => (if prefix.family() == Family::Ipv4 { 4 } else { 6 }).into(),
            Self::Value => value.clone(),
            Self::Named(name) => part(value, name).cloned().unwrap_or_default(),
        }
    }
}

impl FromStr for Expression {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut words = Words { all: words(text)?, at: 0, depth: 0 };
        let expression = words.any()?;
        match words.all.get(words.at) {
            None => Ok(expression),
            Some(word) => bail!("expected and, or, or the end, found {:?}", word.text),
        }
    }
}

/// A word or a sign of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    is_quoted: bool,
}

fn words(text: &str) -> anyhow::Result<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (end, skip, is_quoted) = match first {
            '(' | ')' | '=' => (1, 0, false),
            '<' | '>' | '!' => (if rest[1..].starts_with('=') { 2 } else { 1 }, 0, false),
            '"' | '\'' => {
                let end = rest[1..].find(first).with_context(|| format!("the text {rest} has no end"))?;
                (end + 1, 1, true)
            }
            _ => {
                let ends = |c: char| {
                    c.is_whitespace() || matches!(c, '(' | ')' | '=' | '<' | '>' | '!' | '"' | '\'')
                };
                (rest.find(ends).unwrap_or(rest.len()), 0, false)
            }
        };
        words.push(Word { text: rest[skip..end].to_owned(), is_quoted });
        rest = rest[end + skip..].trim_start();
    }
    Ok(words)
}

/// The words of an expression, and how far they were read.
struct Words {
    all: Vec<Word>,
    at: usize,
    depth: usize,
}

impl Words {
    /// Passes a word if it is the next.
    fn passes(&mut self, text: &str) -> bool {
        let is_next = self.all.get(self.at).is_some_and(|word| !word.is_quoted && word.text == text);
        self.at += usize::from(is_next);
        is_next
    }

    fn next(&mut self, expected: &str) -> anyhow::Result<Word> {
        let word = self.all.get(self.at).cloned();
        self.at += 1;
        word.with_context(|| format!("expected {expected} at the end of the expression"))
    }

    fn any(&mut self) -> anyhow::Result<Expression> {
        let mut all = vec![self.all()?];
        while self.passes("or") {
            all.push(self.all()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::Any(all) })
    }

    fn all(&mut self) -> anyhow::Result<Expression> {
        let mut all = vec![self.one()?];
        while self.passes("and") {
            all.push(self.one()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::All(all) })
    }

    fn one(&mut self) -> anyhow::Result<Expression> {
        self.depth += 1;
        ensure!(self.depth <= DEPTH_MAX, "more than {DEPTH_MAX} parentheses and nots within each other");
        let one = if self.passes("not") {
            Expression::Not(Box::new(self.one()?))
        } else if self.passes("(") {
            let within = self.any()?;
            ensure!(self.passes(")"), "a parenthesis is not closed");
            within
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(one)
    }

    fn comparison(&mut self) -> anyhow::Result<Expression> {
        use Ordering::{Equal, Greater, Less};
        let name = self.next("a field")?;
        let is_name = name.text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        ensure!(is_name && !name.text.is_empty(), "expected a field, found {:?}", name.text);
        let field = Field::named(&name.text);
        let operator = self.next("an operator")?;
        let orders: &'static [Ordering] = match operator.text.as_str() {
            "=" => &[Equal],
            "!=" => &[Less, Greater],
            "<" => &[Less],
            "<=" => &[Less, Equal],
            ">" => &[Greater],
            ">=" => &[Greater, Equal],
            "has" => return Ok(Expression::Has(field, self.next("a value")?.text)),
            "in" => {
                ensure!(field == Field::Prefix, "{} in: expected prefix in", name.text);
                return Ok(Expression::Within(self.next("a prefix")?.text.parse()?));
            }
            other => bail!("expected =, !=, <, <=, >, >=, in or has after {}, found {other:?}", name.text),
        };
        if field == Field::Prefix {
            return Ok(Expression::ComparePrefix(orders, self.next("a prefix")?.text.parse()?));
        }
        Ok(Expression::Compare(field, orders, self.next("a value")?.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(expression: &str, prefix: &str, value: &str) -> bool {
        let mut next_hops = NextHops::new();
        next_hops.intern(NextHopInfo::parse(value)).unwrap();
        expression.parse::<Expression>().unwrap().holds(prefix.parse().unwrap(), &values(&next_hops)[1])
    }

    #[test]
    fn what_holds_for_a_route() {
        let route = r#"{"origin_as":64500,"as_path":[64501,64500],"next_hop":"192.0.2.1","med":null}"#;
        for expression in [
            "length = 16",
            "length >= 16 and length<17",
            "prefix in 10.0.0.0/8",
            "not prefix in 10.1.2.0/24",
            "family=4",
            "origin_as = AS64500",
            "origin_as > 9",
            "as_path has 64501 and (length > 16 or not origin_as != 64500)",
            "next_hop = '192.0.2.1'",
            "next_hop has 192.0.2",
            "med != 5 and not med = 5 and not med < 5",
            "prefix = 10.1.0.0/16",
        ] {
            assert!(holds(expression, "10.1.0.0/16", route), "{expression}");
            assert!(!holds(&format!("not ({expression})"), "10.1.0.0/16", route), "{expression}");
        }
        for (wanted, value) in [("64500", "AS64500"), ("AS64500", "64500")] {
            assert!(holds(&format!("value = {wanted}"), "2001:db8::/32", value));
        }
        assert!(holds("value = \"two words\" and family = 6", "2001:db8::/32", "two words"));
        assert!(!holds("as_path has 6450", "10.0.0.0/8", route));
    }

    #[test]
    fn prefixes_and_as_numbers_are_no_texts() {
        for expression in ["prefix = 2001:DB8::/32", "prefix = 2001:0db8::/32", "prefix > 200.0.0.0/8"] {
            assert!(holds(expression, "2001:db8::/32", "x"), "{expression}");
        }
        assert!(holds("prefix < 10.0.0.0/8", "9.0.0.0/8", "x"));
        assert!(!holds("prefix < 9.0.0.0/8", "10.0.0.0/8", "x"));
        assert!(holds("prefix > 10.0.0.0/8 and prefix != 10.0.0.0/8", "10.0.0.0/9", "x"));
        let route = r#"{"as_path":[64501,[64700,64701]],"med":9007199254740993}"#;
        for number in ["64501", "AS64501", "AS0.64501", "64700", "AS64701"] {
            assert!(holds(&format!("as_path has {number}"), "10.0.0.0/8", route), "{number}");
        }
        assert!(!holds("as_path has 700", "10.0.0.0/8", route));
        assert!(holds("med > 9007199254740992", "10.0.0.0/8", route));
        assert_eq!(
            "prefix = x".parse::<Expression>().unwrap_err().to_string(),
            "\"x\" is not a prefix (expected address/length)"
        );
    }

    #[test]
    fn names_are_those_of_the_values() {
        let checked = |expression: &str, all: &[&str]| {
            let mut next_hops = NextHops::new();
            for value in all {
                next_hops.intern(NextHopInfo::parse(value)).unwrap();
            }
            let expression = expression.parse::<Expression>().unwrap();
            expression.check(&values(&next_hops)).map_err(|error| error.to_string())
        };
        let place =
            r#"{"country":{"iso_code":"BE","names":{"en":"Belgium"}},"subdivisions":[{"iso_code":"VLG"}]}"#;
        let places = [place, r#"{"a.b":null}"#];
        for known in ["country.iso_code = x", "a.b = 1", "subdivisions.0.iso_code = VLG", "length > 1"] {
            assert_eq!(checked(known, &places), Ok(()), "{known}");
        }
        assert!(holds("country.iso_code = BE and subdivisions.0.iso_code != BE", "10.0.0.0/8", place));
        assert!(holds("country.names.en has Bel", "10.0.0.0/8", place));
        for (unknown, what) in [
            (
                "not lenght > 24",
                "\"lenght\", expected one of prefix, length, family, value, country, subdivisions, a.b",
            ),
            (
                "length > 4 or country.iso = BE",
                "\"country.iso\", expected one of country.iso_code, country.names",
            ),
            (
                "subdivisions.iso_code = VLG",
                "\"subdivisions.iso_code\"; subdivisions is a list: `subdivisions has ELEMENT`, `subdivisions.0`",
            ),
            ("country.iso_code.x has 1", "\"country.iso_code.x\""),
        ] {
            assert_eq!(checked(unknown, &places), Err(format!("no route has {what}")), "{unknown}");
        }
        let what = "no route has \"origin_as\", expected one of prefix, length, family, value";
        let list = "; value is a list: `value has ELEMENT`, `value.0`";
        assert_eq!(checked("origin_as = 64500", &["[64500,64501]"]), Err(format!("{what}{list}")));
        assert_eq!(checked("origin_as = 64500", &["AS64500"]), Err(what.to_owned()));
        assert_eq!(checked("origin_as = 64500", &[]), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| text.parse::<Expression>().unwrap_err().to_string();
        assert_eq!(error(""), "expected a field at the end of the expression");
        assert_eq!(error("length"), "expected an operator at the end of the expression");
        assert_eq!(error("length ="), "expected a value at the end of the expression");
        assert_eq!(error("length ~ 5"), "expected =, !=, <, <=, >, >=, in or has after length, found \"~\"");
        assert_eq!(error("length = 5 6"), "expected and, or, or the end, found \"6\"");
        assert_eq!(error("(length = 5"), "a parenthesis is not closed");
        assert_eq!(error("value = 'x"), "the text 'x has no end");
        assert_eq!(error("value in 10.0.0.0/8"), "value in: expected prefix in");
        assert_eq!(error("prefix in 10.0.0.1/8"), "10.0.0.1/8 has bits set after its length (host bits)");
        assert!(error(&"(".repeat(1000)).starts_with("more than 100 parentheses"));
        assert!(error(&"not ".repeat(1000)).starts_with("more than 100 parentheses"));
    }
}
