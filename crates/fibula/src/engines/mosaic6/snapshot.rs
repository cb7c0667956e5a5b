//! Snapshots: root, arrays and lines as they are in memory. The routes longer than /48, which are
//! few, are stored as routes.

use super::{LAST_LEVEL, Mosaic6, Mosaic6View, ROOT_BITS};
use crate::blocks::patricia::Patricia;
use crate::engine::{Config, Persist, Width};
use crate::memory::WordsView;
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Error, Prefix, Route};
use std::sync::Arc;

const ADDRESSES: &str = "longer routes";

impl<W: Width> Persist<u128> for Mosaic6<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made("root", &self.root.to_vec());
        sections.made("arrays", &self.blocks.arrays.to_vec());
        sections.made("lines", &self.blocks.lines.to_vec());
        let (prefixes, next_hops): (Vec<Prefix<u128>>, Vec<W>) =
            self.view.longer.routes().into_iter().unzip();
        let parts = prefixes.iter().map(|prefix| (prefix.first(), prefix.len()));
        let (addresses, lengths): (Vec<u128>, Vec<u8>) = parts.unzip();
        sections.made(ADDRESSES, &addresses);
        sections.made("longer routes' lengths", &lengths);
        sections.made("longer routes' answers", &next_hops);
    }

    fn open(sections: &Sections<'_>, config: &Config) -> Result<Mosaic6View<W>, Error> {
        let addresses = sections.array::<u128>(ADDRESSES)?;
        let lengths = sections.array_of::<u8>("longer routes' lengths", addresses.len())?;
        let next_hops = sections.array_of::<W>("longer routes' answers", addresses.len())?;
        let mut routes = Vec::with_capacity(addresses.len());
        for ((&address, &length), next_hop) in addresses.iter().zip(lengths.iter()).zip(next_hops.iter()) {
            let prefix = Prefix::new(address, length).map_err(|error| unsound(ADDRESSES, error))?;
            routes.push(Route { prefix, next_hop: next_hop.widen() });
        }
        let in_order = routes.is_sorted_by(|one, next| one.prefix < next.prefix);
        if !in_order
            || routes.iter().any(|route| route.prefix.len() <= LAST_LEVEL || !route.next_hop.is_some())
        {
            return Err(unsound(ADDRESSES, "are not longer routes in order"));
        }
        Ok(Mosaic6View {
            root: WordsView::holding(sections.array_of("root", 1 << ROOT_BITS)?),
            arrays: WordsView::holding(sections.array("arrays")?),
            lines: WordsView::holding(sections.array("lines")?),
            longer: Arc::new(Patricia::plant(routes, config.pages)?),
        })
    }
}
