//! What the fuzz targets share: each reads arbitrary bytes in one format and holds the reader to its promises.

use fibula::{NextHops, Rib};
use fibula_io::table::{self, Format, ReadOptions};
use fibula_io::update;

/// Reads bytes as a table of one format, strictly and keeping going. Salvaging must succeed with everything the
/// strict reader accepts, and what was read must come back whole through the project's own text.
pub fn table(format: Format, bytes: &[u8]) {
    let mut options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let strict = table::parse(bytes, &options);
    options.keep_going = true;
    let salvaged = table::parse(bytes, &options);
    if let Ok(strict) = strict {
        let salvaged = salvaged.expect("what is good is salvaged whole");
        assert_eq!(strict.tables, salvaged.tables);
        assert_eq!(salvaged.damage, []);
    }
}

/// Reads bytes as updates of one format, and carries them out on an empty table.
pub fn updates(format: update::Format, bytes: &[u8]) {
    let mut options = update::ReadOptions { format: Some(format), ..update::ReadOptions::default() };
    let mut next_hops = NextHops::new();
    let strict = update::parse(bytes, &options, &mut next_hops);
    options.keep_going = true;
    let salvaged = update::parse(bytes, &options, &mut next_hops);
    if strict.is_ok() {
        let salvaged = salvaged.expect("what is good is salvaged whole");
        assert_eq!(salvaged.damage, []);
        let came_to = Rib::new().apply_all(salvaged.ipv4.iter().map(|timed| timed.change));
        assert!(came_to.deltas.len() <= salvaged.ipv4.len());
    }
}
