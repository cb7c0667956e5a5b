//! The figures that papers print of expanded tables and their filters.

use super::{ByLength, Keyed};
use crate::blocks::filtered::random_keys;
use crate::blocks::hashing::Key;
use crate::blocks::probing::Hashing;
use crate::engine::{Figure, Width};

impl<A: Keyed, W: Width, H: Hashing, const SLOTS: usize> ByLength<A, W, H, SLOTS> {
    /// Returns the number of filters with keys, the prefixes before and after expansion, and the
    /// figures of each level with routes.
    #[must_use]
    pub fn figures(&self) -> Vec<Figure> {
        let sum = |count: fn(&super::Level<A, W, H, SLOTS>) -> usize| self.levels.iter().map(count).sum();
        let mut figures = vec![
            Figure::count("filters with keys", self.longest_first().count()),
            Figure::count("prefixes before expansion", sum(|level| level.routes)),
            Figure::new("prefixes after expansion, estimated", self.estimated() as f64),
            Figure::count("prefixes after expansion", sum(|level| level.pair.len())),
        ];
        for level in self.levels.iter().filter(|level| !level.pair.is_empty()) {
            let name = format!("/{}", level.len);
            figures.push(Figure::count(format!("{name}: prefixes before expansion"), level.routes));
            let estimated = format!("{name}: prefixes after expansion, estimated");
            figures.push(Figure::new(estimated, level.estimated as f64));
            figures.extend(level.pair.figures(&name, random_keys(level.len).map(A::Key::of)));
        }
        figures
    }
}
