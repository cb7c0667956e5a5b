//! Without the kernels.

use crate::{Error, Finding, Lab};

const REASON: &str = "its kernel, and the kernel's twin on the processor, are in the feature `gpu`, without which this fibula was built";

#[expect(clippy::unnecessary_wraps, reason = "other exhibits can fail")]
pub(crate) fn figure_13(_: &Lab) -> Result<Finding, Error> {
    Ok(Finding::none(REASON))
}

#[expect(clippy::unnecessary_wraps, reason = "other exhibits can fail")]
pub(crate) fn figure_14(_: &Lab) -> Result<Finding, Error> {
    Ok(Finding::none(REASON))
}
