//! [`Report`]: what a reader left out and what it guessed.

use crate::{Damage, Place};
use std::borrow::Cow;
use std::fmt;

/// What a reader kept, left out and guessed.
///
/// Damage is not part of it: damage is what could not be read, and the report tells of what could.
///
/// ```
/// use fibula_io::table;
/// let text = b"10.0.0.0/8 via 192.0.2.1 dev eth0\n10.0.0.0/8 tos 0x10 via 192.0.2.9 dev eth1\n";
/// let loaded = table::parse(text, &table::ReadOptions::default())?;
/// let told: Vec<String> = loaded.report.notes.iter().map(ToString::to_string).collect();
/// assert_eq!(told, ["left out: conditional route, 1 time, first at line 2"]);
/// let strict = table::ReadOptions { strict: true, ..Default::default() };
/// let error = table::parse(text, &strict).unwrap_err().to_string();
/// assert_eq!(error, "memory, line 2: conditional route, which --strict refuses to leave out");
/// # Ok::<(), fibula_io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The routes in the tables, both families together.
    pub kept: u64,
    /// The routes that a later one with the same prefix replaced.
    pub replaced: u64,
    /// Each reason once, in the order of its first place.
    pub notes: Vec<Note>,
}

/// One reason, and how often it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What happened.
    pub kind: Kind,
    /// What was left out, or the guess.
    pub what: Cow<'static, str>,
    /// How often.
    pub count: u64,
    /// The first place.
    pub first: Place,
}

/// Whether something was left out or guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It is not in the tables.
    LeftOut,
    /// It is in the tables as the reader understood it.
    Guessed,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::LeftOut => "left out",
            Kind::Guessed => "guessed",
        };
        let times = if self.count == 1 { "time" } else { "times" };
        write!(f, "{kind}: {}, {} {times}, first at {}", self.what, self.count, self.first)
    }
}

impl Report {
    /// Returns the notes of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.kind == kind)
    }

    /// Counts something once more.
    pub(crate) fn note(&mut self, kind: Kind, what: impl Into<Cow<'static, str>>, place: Place) {
        self.add(Note { kind, what: what.into(), count: 1, first: place });
    }

    pub(crate) fn add(&mut self, note: Note) {
        match self.notes.iter_mut().find(|known| known.kind == note.kind && known.what == note.what) {
            Some(known) => known.count += note.count,
            None => self.notes.push(note),
        }
    }

    /// Adds what a part counted, and with `strict` refuses it.
    pub(crate) fn merge(
        &mut self,
        notes: impl IntoIterator<Item = Note>,
        strict: bool,
    ) -> Result<(), Damage> {
        for note in notes {
            if strict {
                let refused = match note.kind {
                    Kind::LeftOut => "which --strict refuses to leave out",
                    Kind::Guessed => "a guess, which --strict refuses",
                };
                return Err(Damage { place: note.first, what: format!("{}, {refused}", note.what) });
            }
            self.add(note);
        }
        Ok(())
    }
}
