//! [`SectionWriter`] and [`Sections`]: arrays by their names, as a [snapshot](crate::snapshot) keeps them.

use crate::memory::{Array, Mapping};
use crate::{Error, ErrorKind};
use std::borrow::Cow;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// An entry of the directory.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Section {
    /// Filled up with zeros.
    pub(crate) name: [u8; 24],
    pub(crate) offset: u64,
    /// Without the zeros that follow.
    pub(crate) bytes: u64,
    /// Of the bytes and the zeros that follow.
    pub(crate) checksum: u64,
    /// The bytes of an element.
    pub(crate) element: u32,
    pub(crate) reserved: u32,
}

impl Section {
    /// Its name.
    pub(crate) fn name(&self) -> &[u8] {
        let end = self.name.iter().position(|&byte| byte == 0);
        &self.name[..end.unwrap_or(self.name.len())]
    }
}

/// Takes the arrays of an engine: borrowed where they lie, written later.
#[derive(Debug, Default)]
pub struct SectionWriter<'s> {
    pub(crate) sections: Vec<(Section, Cow<'s, [u8]>)>,
}

impl<'s> SectionWriter<'s> {
    /// Takes an array under a name of at most 24 bytes, which no other has.
    pub fn array<T: IntoBytes + Immutable>(&mut self, name: &str, elements: &'s [T]) {
        self.take::<T>(name, Cow::Borrowed(elements.as_bytes()));
    }

    /// As [`Self::array`], of elements that stand nowhere else.
    pub fn made<T: IntoBytes + Immutable>(&mut self, name: &str, elements: &[T]) {
        self.take::<T>(name, Cow::Owned(elements.as_bytes().to_vec()));
    }

    /// Takes one number.
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
    pub(crate) fn new(mapping: &'s Mapping, sections: &'s [Section]) -> Self {
        Self { mapping, sections }
    }

    /// The array of a name, read where it lies. O(sections).
    ///
    /// # Errors
    /// If there is none of that name, or its elements are of another size.
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

    /// As [`Self::array`], where lookups rely on its length.
    ///
    /// # Errors
    /// If it has another, too.
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

    /// The number of a name.
    ///
    /// # Errors
    /// If there is none.
    pub fn number(&self, name: &str) -> Result<u64, Error> {
        Ok(self.array_of::<u64>(name, 1)?[0])
    }

    /// Whether there is an array of a name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&'s Section> {
        self.sections.iter().find(|section| section.name() == name.as_bytes())
    }
}

/// The error of a section that is whole and yet not what it should be.
pub(crate) fn unsound(name: &str, what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Snapshot, format!("unsound: section {name:?} {what}"))
}
