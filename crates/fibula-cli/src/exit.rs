//! The end of a run: the status, and the one line on standard error that says why.

use crate::registry;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// The result of a command beyond its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is well: status 0.
    Good,
    /// The answer is bad (a mismatch, a failed bar, skipped damage): status 1.
    Bad,
}

impl Verdict {
    /// [`Verdict::Good`] if the condition holds.
    pub(crate) fn good_if(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

/// Prints one line on standard error. If it cannot be written, the run goes on.
pub(crate) fn tell(line: impl Display) {
    let _ = writeln!(io::stderr(), "fibula: {line}");
}

/// Returns the status of a finished command. A closed pipe (`| head`) is no error.
pub(crate) fn code(result: anyhow::Result<Verdict>) -> ExitCode {
    match result {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::from(1),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Errors of files name them. A bare system error is of standard output, which has no
            // name.
            let bare = error.downcast_ref::<io::Error>().is_some_and(|error| error.raw_os_error().is_some());
            let place = if bare { "standard output: " } else { "" };
            let message = format!("{error:#}");
            match registry::lacking(&message) {
                Some(feature) => {
                    let name = message.split('"').nth(1).unwrap_or_default();
                    tell(format_args!(
                        "no engine {name:?}: this fibula was built without the feature `{feature}`"
                    ));
                }
                None => tell(one_line(&format!("{place}{message}"))),
            }
            ExitCode::from(2)
        }
    }
}

/// Prints what clap found: help and versions as they are, wrong usage as one line and status 2.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A closed pipe needs no help.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let message = message.trim_start_matches("error: ").replace("\n\n  tip:", "; tip:");
    tell(one_line(&message));
    ExitCode::from(2)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == ErrorKind::BrokenPipe)
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
