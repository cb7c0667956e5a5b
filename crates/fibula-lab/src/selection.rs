//! [`select`]: which engines a list names.

use crate::Error;
use fibula::Address;
use fibula::engine::{BEST, Entry, find};

/// How the names of engines begin that run only where they are asked for: other people's, and the
/// twins of kernels, which are made for cards.
const ASKED_FOR: [&str; 2] = ["peer:", "gpu-"];

/// Returns the specifications of a list like `all`, `best` or `dxr18,sail-l,dxr/k=20` that do a
/// family, each once, in order. Engines of the list that do only the other family are left out.
///
/// # Errors
/// If a name is not in `engines`, or the list is empty.
///
/// ```
/// use fibula::engine::ENGINES;
/// let selected = fibula_lab::select::<u32>(ENGINES, "oracle,best,oracle").unwrap();
/// assert_eq!(selected, ["oracle", "best"]);
/// assert!(fibula_lab::select::<u32>(ENGINES, "no-such-engine").is_err());
/// ```
pub fn select<A: Address>(engines: &'static [Entry], list: &str) -> Result<Vec<String>, Error> {
    let mut selected: Vec<String> = Vec::new();
    let mut add = |specification: &str| {
        if !selected.iter().any(|known| known == specification) {
            selected.push(specification.into());
        }
    };
    let specifications = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut any = false;
    for specification in specifications {
        any = true;
        match specification.split('/').next().unwrap_or_default() {
            "all" => {
                let asked_for =
                    |entry: &&Entry| ASKED_FOR.iter().any(|begin| entry.about.name.starts_with(begin));
                let own = engines.iter().filter(|entry| !asked_for(entry));
                own.filter(|entry| entry.does(A::FAMILY)).for_each(|entry| add(entry.about.name));
            }
            BEST => add(specification),
            name => {
                if find(engines, name)?.does(A::FAMILY) {
                    add(specification);
                }
            }
        }
    }
    if any { Ok(selected) } else { Err(Error::usage("no engine is named")) }
}
