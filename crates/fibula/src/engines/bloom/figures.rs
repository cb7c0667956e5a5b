//! The numbers of section 6: prefixes before and after expansion, and the parameters of the
//! filters.

use super::{Group, Groups, LEVELS};
use crate::blocks::filtered::random_keys;
use crate::blocks::probing::Hashing;
use crate::engine::{Figure, Width};

impl<W: Width, H: Hashing> Groups<W, H> {
    pub(super) fn figures_of_section_6(&self) -> Vec<Figure> {
        let after = [1 << LEVELS[0], self.g1.len(), self.g2.len()];
        let groups = ["/0../20", "/21../24", "/25../32"];
        let mut figures = Vec::new();
        for (group, (before, after)) in groups.iter().zip(self.routes.into_iter().zip(after)) {
            figures.push(Figure::count(format!("prefixes {group} before expansion"), before));
            figures.push(Figure::count(format!("prefixes {group} after expansion"), after));
        }
        let pairs: [(&str, &Group<W, H>, u8); 2] = [("G1", &self.g1, LEVELS[1]), ("G2", &self.g2, LEVELS[2])];
        for (name, pair, bits) in pairs {
            figures.extend(pair.figures(name, random_keys(bits).map(|key| key as u32)));
        }
        figures
    }
}
