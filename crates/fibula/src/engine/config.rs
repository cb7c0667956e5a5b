//! [`Config`]: how to build an engine.

use super::{About, WidthBits};
use crate::arch::Level;
use crate::memory::Pages;
use crate::{Error, ErrorKind};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// How to build an engine. The default lets the framework choose.
///
/// ```
/// use fibula::engine::{Config, WidthBits};
/// let mut config = Config::default().with("k", "20");
/// config.width = Some(WidthBits::U16);
/// assert_eq!(config.parameter("k", 16..=24, 18).unwrap(), 20);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The width of the answers, or `None` for the narrowest that holds the table's next hops. An
    /// engine whose layout has only one takes that.
    pub width: Option<WidthBits>,
    /// The instruction set of the lookups; by default the processor's best.
    pub isa: Level,
    /// The pages that large arrays ask for.
    pub pages: Pages,
    parameters: Vec<(String, String)>,
}

impl Config {
    /// Sets an engine's parameter. The last setting of a name wins.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Returns the engine's name in a specification, such as `dxr/k=20`, and this configuration
    /// with the parameters it sets.
    ///
    /// # Errors
    /// If a part is not `parameter=value`.
    pub(crate) fn with_all_of(mut self, specification: &str) -> Result<(&str, Self), Error> {
        let mut parts = specification.split('/');
        let name = parts.next().unwrap_or_default();
        for part in parts {
            let Some((name, value)) = part.split_once('=') else {
                return Err(Error::new(
                    ErrorKind::Parameter,
                    format!("{specification:?}: expected parameter=value, found {part:?}"),
                ));
            };
            self = self.with(name, value);
        }
        Ok((name, self))
    }

    /// Returns the specification of an engine with these parameters.
    pub(crate) fn specification(&self, name: &str) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| format!("/{name}={value}"));
        std::iter::once(name.to_owned()).chain(parameters).collect()
    }

    /// Returns the value of a parameter, or `default` if it is not set.
    ///
    /// # Errors
    /// If the value cannot be parsed or is outside `range`.
    pub fn parameter<T>(&self, name: &str, range: RangeInclusive<T>, default: T) -> Result<T, Error>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.text(name) else { return Ok(default) };
        match text.parse() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(Error::new(
                ErrorKind::Parameter,
                format!("parameter {name}={text}: expected {} to {}", range.start(), range.end()),
            )),
        }
    }

    /// Returns the value of a parameter that names one of several choices; the first is the
    /// default.
    ///
    /// # Errors
    /// If it names none of the choices.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, Error> {
        let text = self.text(name).unwrap_or(choices[0].0);
        choices.iter().find(|(choice, _)| *choice == text).map(|&(_, value)| value).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|&(name, _)| name).collect();
            Error::new(
                ErrorKind::Parameter,
                format!("parameter {name}={text}: expected one of {}", names.join(", ")),
            )
        })
    }

    /// Returns this configuration with an engine's preset added. Presets win.
    ///
    /// # Errors
    /// If a parameter is set that the engine does not have, or that its name fixes.
    pub(crate) fn resolved(&self, about: &About) -> Result<Self, Error> {
        for (name, value) in &self.parameters {
            if about.preset.iter().any(|(fixed, _)| fixed == name) {
                return Err(Error::new(
                    ErrorKind::Parameter,
                    format!("{} fixes {name}; {value} cannot be set", about.name),
                ));
            }
        }
        let known: Vec<&str> = about.parameters.iter().map(|known| known.name).collect();
        self.check_names(about.name, &known)?;
        Ok(about.preset.iter().fold(self.clone(), |config, &(name, value)| config.with(name, value)))
    }

    /// Checks that only parameters with these names are set.
    ///
    /// # Errors
    /// Names the first that `engine` does not have, and those that it has.
    pub(super) fn check_names(&self, engine: &str, known: &[&str]) -> Result<(), Error> {
        let Some((name, _)) = self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let known = if known.is_empty() { "none".into() } else { known.join(", ") };
        let text = format!("{engine} has no parameter {name} (it has: {known})");
        Err(Error::new(ErrorKind::Parameter, text))
    }

    /// Returns this configuration without parameters.
    pub(crate) fn without_parameters(self) -> Self {
        Self { parameters: Vec::new(), ..self }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rev().find(|(set, _)| set == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named() {
        let config = Config::default().with("k", "25");
        assert_eq!(
            config.parameter("k", 16..=24, 18).unwrap_err().to_string(),
            "parameter k=25: expected 16 to 24"
        );
        let config = Config::default().with("hash", "md5");
        let error = config.choice("hash", &[("murmur", 0), ("knuth", 1)]).unwrap_err().to_string();
        assert_eq!(error, "parameter hash=md5: expected one of murmur, knuth");
    }
}
