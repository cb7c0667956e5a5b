//! The library's chains of errors as one line, with the kernel's answer at hand.

use crate::Error;
use std::error::Error as Chain;
use std::io;

impl Error {
    /// Makes one error of a chain. The answer is the system's, if one of the chain has it; else the
    /// first lines of all.
    pub(crate) fn of_chain(what: impl Into<String>, chain: &(dyn Chain + 'static)) -> Self {
        let mut texts: Vec<String> = Vec::new();
        let mut next: Option<&(dyn Chain + 'static)> = Some(chain);
        while let Some(error) = next {
            let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
            if let Some(code) = code {
                return Self::System { what: what.into(), error: io::Error::from_raw_os_error(code) };
            }
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            if texts.last().is_none_or(|last| !last.contains(line)) {
                texts.push(line.to_owned());
            }
            next = error.source();
        }
        Self::System { what: what.into(), error: io::Error::other(texts.join(": ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_one_line_or_the_systems_answer() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer\nand more")]
        struct Outer(#[source] io::Error);
        let error = Error::of_chain("attach", &Outer(io::Error::other("inner")));
        assert_eq!(error.to_string(), "attach: outer: inner");
        let Error::System { error, .. } =
            Error::of_chain("attach", &Outer(io::Error::from_raw_os_error(libc::ENOLINK)))
        else {
            unreachable!("a system error is made");
        };
        assert_eq!(error.raw_os_error(), Some(libc::ENOLINK));
    }
}
