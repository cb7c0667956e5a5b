//! Numbers as pages print them.

/// Writes a number: whole from 100 on, else with three significant digits, at most two behind the
/// point.
///
/// ```
/// use fibula_kit::short;
/// let numbers = [0.0, 3.0, 0.0012, 0.5, 12.34, 1234.5];
/// assert_eq!(numbers.map(short), ["0", "3", "1.2e-3", "0.50", "12.3", "1234"]);
/// ```
#[must_use]
pub fn short(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 || size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.01 {
        format!("{value:.2}")
    } else {
        format!("{value:.1e}")
    }
}
