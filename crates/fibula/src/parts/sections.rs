//! [`SectionWriter`] and [`Sections`]: arrays by name, as stored in a [snapshot](crate::snapshot).

use crate::memory::{Array, Mapping};
use crate::{Error, ErrorKind};
use std::borrow::Cow;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An entry of the directory.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(any(test, feature = "snapshot"), derive(FromBytes, IntoBytes, Immutable, zerocopy::KnownLayout))]
#[repr(C)]
pub(crate) struct Section {
    /// Padded with zeros.
    pub(crate) name: [u8; 24],
    pub(crate) offset: u64,
    /// Without the padding.
    pub(crate) bytes: u64,
    /// Of the bytes and the padding.
    pub(crate) checksum: u64,
    /// The bytes of an element.
    pub(crate) element: u32,
    pub(crate) reserved: u32,
}

impl Section {
    /// Returns the name without padding.
    pub(crate) fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0);
        &self.name[..end.unwrap_or(self.name.len())]
    }
}

/// The arrays of an engine: borrowed in place, written later.
#[derive(Debug, Default)]
pub struct SectionWriter<'s> {
    pub(crate) sections: Vec<(Section, Cow<'s, [u8]>)>,
}

impl<'s> SectionWriter<'s> {
    /// Adds an array under a unique name of at most 24 bytes.
    pub fn array<T: IntoBytes + Immutable>(&mut self, name: &str, elements: &'s [T]) {
        self.take::<T>(name, Cow::Borrowed(elements.as_bytes()));
    }

    /// As [`Self::array`], for elements that are not stored anywhere else.
    pub fn made<T: IntoBytes + Immutable>(&mut self, name: &str, elements: &[T]) {
        self.take::<T>(name, Cow::Owned(elements.as_bytes().to_vec()));
    }

    /// Adds one number.
    pub fn number(&mut self, name: &str, number: u64) {
        self.made(name, &[number]);
    }

    fn take<T>(&mut self, name: &str, bytes: Cow<'s, [u8]>) {
        let mut section = Section {
            name: [0; 24],
            offset: 0,
            bytes: bytes.len() as u64,
            checksum: 0,
            element: size_of::<T>() as u32,
            reserved: 0,
        };
        section.name[..name.len()].copy_from_slice(name.as_bytes());
        debug_assert!(self.sections.iter().all(|(other, _)| other.name != section.name), "{name} twice");
        self.sections.push((section, bytes));
    }
}

/// The arrays of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'s> {
    mapping: &'s Mapping,
    sections: &'s [Section],
}

impl<'s> Sections<'s> {
    #[cfg(any(test, feature = "snapshot"))]
    pub(crate) fn new(mapping: &'s Mapping, sections: &'s [Section]) -> Self {
        Self { mapping, sections }
    }

    /// Returns the array of a name, read in place. O(sections).
    ///
    /// # Errors
    /// If there is none of that name, or its elements have another size.
    pub fn array<T: Copy + FromBytes + Immutable>(&self, name: &str) -> Result<Array<T>, Error> {
        let section = self.find(name).ok_or_else(|| unsound(name, "is missing"))?;
        if section.element as usize != size_of::<T>() {
            let (had, expected) = (section.element, size_of::<T>());
            return Err(unsound(name, format!("has elements of {had} bytes, expected {expected}")));
        }
        let start = section.offset as usize;
        let array = Array::mapped(self.mapping, start..start + section.bytes as usize);
        array.ok_or_else(|| unsound(name, "is not an array"))
    }

    /// As [`Self::array`], where lookups rely on the length.
    ///
    /// # Errors
    /// Also if it has another length.
    pub fn array_of<T: Copy + FromBytes + Immutable>(
        &self,
        name: &str,
        len: usize,
    ) -> Result<Array<T>, Error> {
        let array = self.array(name)?;
        if array.len() == len {
            return Ok(array);
        }
        Err(unsound(name, format!("has {} elements, expected {len}", array.len())))
    }

    /// Returns the number of a name.
    ///
    /// # Errors
    /// If there is none.
    pub fn number(&self, name: &str) -> Result<u64, Error> {
        Ok(self.array_of::<u64>(name, 1)?[0])
    }

    /// Returns whether there is an array of a name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&'s Section> {
        self.sections.iter().find(|section| section.name() == name.as_bytes())
    }
}

/// Returns the error for a section that is intact but not what it should be.
pub fn unsound(name: &str, what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Snapshot, format!("unsound: section {name:?} {what}"))
}
