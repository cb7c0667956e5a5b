//! The ACLs of a plane, and others in their place while packets are forwarded.

use super::Xdp;
use super::generation::OF_LINES;
use crate::Error;
use crate::acl::Acl;

impl Xdp {
    /// Makes the tables of the ACLs, in the place of those that there are.
    pub(super) fn make_filters(&mut self) -> Result<(), Error> {
        for (id, ipv4, ipv6) in self.filters.tables() {
            self.ipv4.set(id, ipv4)?;
            self.ipv6.set(id, ipv6)?;
            if !self.ids.contains(&id) {
                self.ids.push(id);
            }
        }
        Ok(())
    }

    /// Puts ACLs in the place of those of the same names. A new generation has them, so that no
    /// packet meets some lines of the old and some of the new.
    pub(super) fn replace_acls(&mut self, acls: Vec<Acl>) -> Result<(), Error> {
        let new = self.filters.followed_by(acls)?;
        let mut before = std::mem::replace(&mut self.filters, new);
        let replaced = self
            .make_filters()
            .and_then(|()| if self.generation.is_some() { self.replace_generation() } else { Ok(None) });
        match replaced {
            Ok(old) => {
                if let Some(old) = old {
                    before.carry(old.map(OF_LINES));
                }
                self.filters.inherit(&before);
                Ok(())
            }
            Err(error) => {
                // What forwards has these.
                self.filters = before;
                self.make_filters()?;
                Err(error)
            }
        }
    }
}
