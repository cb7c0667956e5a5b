//! [`Rule`]: how a claim is tested.
//!
//! ```text
//! EXHIBIT: SERIES @ POSITION [UNIT] TEST [QUANTIFIER] [by far] [quietly] [where CONDITION, ...]
//! ```
//! `*` in a name stands for any text, and `A|B` for one of two names. Tests are:
//!
//! - `>= 3`, `<= 3`, `> 3`, `< 3`; `in 3..4`; `= 3 +- 10 %`; `= paper +- 10 %`, the row's own value
//!   of the paper;
//! - the same with `3 * {SERIES @ POSITION}` for a number: a multiple of other rows of the exhibit,
//!   of the same table, and of the same position if none is given. `{EXHIBIT: ...}` is of another
//!   exhibit, and `=` is the row's own series;
//! - `rises`, `falls`, `flat 5 %`: all rows of a series, in their order;
//! - `told`: the value is told and decides nothing.
//!
//! Every row decides by itself, and all must hold. Other quantifiers are `for most`, more rows than
//! not; `for some`, one row; and `on average`, the mean of the rows, or of their ratios to what
//! they are compared with. A rule `by far` holds by more than three times, so that it tells little;
//! a test makes every other one fail by rows that are up to three times off. What several threads
//! do, or what was not measured in turns, is judged only `quietly`: where the machine's load was at
//! most its cores. Conditions compare `routes` and `next_hops` of the row's table, and `traffic`,
//! the addresses of real traffic behind it; `any` is none.

/// A pattern for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    /// Reads a pattern: any text is one.
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Tests a name.
    pub(super) fn fits(&self, name: &str) -> bool {
        self.0.split('|').any(|pattern| glob(pattern, name))
    }
}

/// Tests a name against a pattern in which `*` stands for any text.
fn glob(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && glob(after, &rest[at..]))
        }),
    }
}

/// Which rows.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    pub(super) exhibit: Pattern,
    pub(super) series: Pattern,
    pub(super) at: Pattern,
    pub(super) unit: Pattern,
}

/// Other rows than those of the claim: parts that are not given are those of the row.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) exhibit: Option<Pattern>,
    pub(super) series: Option<Pattern>,
    pub(super) at: Option<Pattern>,
}

/// What a value is compared with.
#[derive(Clone, Debug)]
pub(super) enum Scale {
    One,
    Paper,
    Rows(Other),
}

/// What must be true of rows.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// The value is between these multiples of the scale; the ends are inside, or not.
    Within {
        least: f64,
        most: f64,
        open: bool,
        scale: Scale,
    },
    Rises,
    Falls,
    /// The greatest is at most this share above the least.
    Flat(f64),
    Told,
}

/// Of how many rows it must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    All,
    Most,
    Some,
    OnAverage,
}

impl Quantifier {
    /// Splits a rule's text from its quantifier.
    fn split(text: &str) -> (&str, Self) {
        let all = [(" for most", Self::Most), (" for some", Self::Some), (" on average", Self::OnAverage)];
        let found = all.into_iter().find_map(|(word, one)| Some((text.strip_suffix(word)?, one)));
        found.unwrap_or((text, Self::All))
    }
}

/// What must be true of a row's table.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) key: String,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) written: String,
}

impl Condition {
    /// Reads conditions with commas between them.
    pub(super) fn list(text: &str) -> Result<Vec<Self>, String> {
        let condition = |text: &str| {
            let (key, bound) = text.trim().split_once(' ').unwrap_or((text, ""));
            match within(bound)? {
                Some(Test::Within { least, most, scale: Scale::One, .. }) if !bound.is_empty() => {
                    Ok(Self { key: key.into(), least, most, written: text.trim().into() })
                }
                _ => Err(format!("expected a condition and not {text:?}")),
            }
        };
        text.split(',').filter(|text| text.trim() != "any").map(condition).collect()
    }
}

/// How a claim is tested.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) rows: Selector,
    pub(super) test: Test,
    pub(super) quantifier: Quantifier,
    pub(super) by_far: bool,
    pub(super) quietly: bool,
    pub(super) conditions: Vec<Condition>,
}

impl Rule {
    /// Reads a rule; `defaults` are the conditions of one that has none.
    pub(super) fn parse(text: &str, defaults: &[Condition]) -> Result<Self, String> {
        let (text, conditions) = match text.split_once(" where ") {
            Some((text, conditions)) => (text, Condition::list(conditions)?),
            None => (text, defaults.to_vec()),
        };
        let (text, quietly) = text.strip_suffix(" quietly").map_or((text, false), |text| (text, true));
        let (text, by_far) = text.strip_suffix(" by far").map_or((text, false), |text| (text, true));
        let (text, quantifier) = Quantifier::split(text);
        let parts = || {
            let (exhibit, rest) = text.split_once(": ")?;
            let (series, rest) = rest.split_once(" @ ")?;
            let (at, rest) = rest.split_once(" [")?;
            let (unit, test) = rest.split_once("] ")?;
            let [exhibit, series, at, unit] = [exhibit, series, at, unit].map(Pattern::new);
            Some((Selector { exhibit, series, at, unit }, test))
        };
        let (rows, test) = parts().ok_or("expected EXHIBIT: SERIES @ POSITION [UNIT] TEST")?;
        let word = test.split_once(' ').map_or((test, ""), |(word, rest)| (word, rest));
        let test = match word {
            ("rises", "") => Test::Rises,
            ("falls", "") => Test::Falls,
            ("told", "") => Test::Told,
            ("flat", share) => Test::Flat(percent(share)?),
            _ => within(test)?.ok_or_else(|| format!("unknown test {test:?}"))?,
        };
        let of_series = matches!(test, Test::Rises | Test::Falls | Test::Flat(_));
        if of_series && quantifier == Quantifier::OnAverage {
            return Err("a series has no average".into());
        }
        Ok(Self { rows, test, quantifier, by_far, quietly, conditions })
    }
}

/// Reads a comparison. `None` if it is none.
fn within(text: &str) -> Result<Option<Test>, String> {
    let (text, scale) = match text.split_once(" * {") {
        None => (text, Scale::One),
        Some((text, other)) => (text, Scale::Rows(other_rows(other.strip_suffix('}').ok_or("expected }")?))),
    };
    let Some((op, bound)) = text.split_once(' ') else { return Ok(None) };
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    let test = |least, most, open| Ok(Some(Test::Within { least, most, open, scale: scale.clone() }));
    match op {
        ">=" => test(number(bound)?, most, false),
        ">" => test(number(bound)?, most, true),
        "<=" => test(least, number(bound)?, false),
        "<" => test(least, number(bound)?, true),
        "in" => {
            let (least, most) = bound.split_once("..").ok_or("expected A..B")?;
            test(number(least)?, number(most)?, false)
        }
        "=" => {
            let (value, share) = bound.split_once(" +- ").ok_or("expected = VALUE +- SHARE %")?;
            let share = percent(share)?;
            if value == "paper" {
                let (least, most) = (1.0 - share, 1.0 + share);
                return Ok(Some(Test::Within { least, most, open: false, scale: Scale::Paper }));
            }
            let value = number(value)?;
            test(value * (1.0 - share), value * (1.0 + share), false)
        }
        _ => Ok(None),
    }
}

fn other_rows(text: &str) -> Other {
    let (exhibit, rest) = text.split_once(": ").map_or((None, text), |(exhibit, rest)| (Some(exhibit), rest));
    let (series, at) = rest.split_once(" @ ").map_or((rest, None), |(series, at)| (series, Some(at)));
    Other {
        exhibit: exhibit.map(Pattern::new),
        series: (series != "=").then(|| Pattern::new(series)),
        at: at.map(Pattern::new),
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("expected a number and not {text:?}"))
}

fn percent(text: &str) -> Result<f64, String> {
    number(text.strip_suffix('%').ok_or("expected %")?).map(|percent| percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        let fits = |pattern: &str, name| Pattern::new(pattern).fits(name);
        assert!(fits("SAIL_L / *", "SAIL_L / Lulea") && fits("*", "") && fits("a|b", "b"));
        assert!(fits("D1*R, * @", "D18R, random @") && !fits("D1*R", "D18R, random"));
        assert!(!fits("SAIL_L", "SAIL_L / Lulea") && !fits("a*c", "acd"));
    }

    #[test]
    fn a_malformed_rule_says_what_is_wrong() {
        let wrong = |text| Rule::parse(text, &[]).unwrap_err();
        assert!(wrong("Figure 1 is nice").contains("EXHIBIT: SERIES"));
        assert!(wrong("Figure 1: a @ b [c] >= x").contains("expected a number"));
        assert!(wrong("Figure 1: a @ b [c] shines").contains("unknown test"));
        assert!(wrong("Figure 1: a @ b [c] = 3").contains("+-"));
        assert!(wrong("Figure 1: a @ b [c] >= 3 where routes").contains("expected a condition"));
    }
}
