//! Snapshots: root, arrays and lines as they are in memory. The routes longer than /48, which are
//! few, are stored as routes.

use super::word::as_array;
use super::{LAST_LEVEL, Mosaic6, Mosaic6View, ROOT_BITS};
use crate::blocks::levels::check_levels;
use crate::blocks::patricia::Patricia;
use crate::engine::{Config, Persist, Width};
use crate::memory::{Shareable, WordsView, flattened};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Error, Prefix, Route};
use std::cell::RefCell;
use std::sync::Arc;

const ARRAYS: &str = "arrays";
const ADDRESSES: &str = "longer routes";

impl<W: Width> Persist<u128> for Mosaic6<W> {
    fn save<'s>(&'s self, sections: &mut SectionWriter<'s>) {
        sections.made("root", &self.root.to_vec());
        sections.made(ARRAYS, &self.blocks.arrays.to_vec());
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
        let view = Mosaic6View {
            root: WordsView::holding(sections.array_of("root", 1 << ROOT_BITS)?),
            arrays: WordsView::holding(sections.array(ARRAYS)?),
            lines: WordsView::holding(sections.array("lines")?),
            longer: Arc::new(Patricia::plant(routes, config.pages)?),
        };
        view.check_levels()?;
        Ok(view)
    }
}

/// The most arrays that an address goes through: each takes at least one of 32 bits.
const ARRAYS_MAX: u8 = 32;

impl<W: Width> Mosaic6View<W> {
    /// Checks that every search ends. O(n).
    fn check_levels(&self) -> Result<(), Error> {
        let words = flattened(&self.arrays);
        // Each array is known by its first word; its stride is that of whoever leads to it.
        let mut strides = vec![0; words.len()];
        let strides = RefCell::new(&mut strides);
        let lead = |word: u32| {
            let (stride, first) = as_array(word)?;
            if let Some(of_first) = strides.borrow_mut().get_mut(first) {
                *of_first = stride.max(*of_first);
            }
            Some(first)
        };
        let roots = self.root.iter().filter_map(|word| lead(u32::load(word)));
        let mut left = words.len();
        check_levels(ARRAYS, words.len(), roots, ARRAYS_MAX, |first, down| {
            let len = 1 << strides.borrow()[first];
            // Arrays share no word. If they did, this would take longer than O(n).
            left = left.checked_sub(len).ok_or_else(|| unsound(ARRAYS, "overlap"))?;
            let array = words.get(first..first + len).ok_or_else(|| unsound(ARRAYS, "end too early"))?;
            array.iter().filter_map(|word| lead(u32::load(word))).try_for_each(&mut *down)
        })
    }
}
