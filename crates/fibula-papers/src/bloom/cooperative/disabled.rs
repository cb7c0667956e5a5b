//! Without the kernels.

use crate::{Error, Finding, Lab};

#[expect(clippy::unnecessary_wraps, reason = "other exhibits can fail")]
pub(crate) fn figure_9(_: &Lab) -> Result<Finding, Error> {
    Ok(Finding::none(
        "its kernels, and their twin on the processor, are in the feature `gpu`, without which this fibula was built",
    ))
}
