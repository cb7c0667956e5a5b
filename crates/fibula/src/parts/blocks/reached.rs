//! Marks of the elements that are pointed to, for the checks of structures that keep runs of
//! elements.

/// The elements of an array that something points to, marked run by run, each at most once.
///
/// ```
/// use fibula::parts::blocks::reached::Reached;
/// let mut nodes = Reached::new("nodes", 6);
/// nodes.mark((0, 2)).unwrap();
/// nodes.mark((3, 3)).unwrap();
/// assert_eq!(nodes.mark((5, 1)).unwrap_err(), "two pointers to one of nodes 5+1");
/// nodes.check(1).unwrap(); // one is free
/// assert_eq!(nodes.check(0).unwrap_err(), "nodes: 5 reached and 0 free of 6");
/// ```
#[derive(Clone, Debug)]
pub struct Reached {
    what: &'static str,
    marks: Vec<bool>,
    count: usize,
}

impl Reached {
    /// Creates the marks of `len` elements, none set; `what` names the elements in errors.
    #[must_use]
    pub fn new(what: &'static str, len: usize) -> Self {
        Self { what, marks: vec![false; len], count: 0 }
    }

    /// Marks a run, given by its start and length, as pointed to.
    ///
    /// # Errors
    /// If the run is past the end, or one of its elements is marked already.
    pub fn mark(&mut self, (start, len): (usize, usize)) -> Result<(), String> {
        let what = self.what;
        let run = self.marks.get_mut(start..).and_then(|rest| rest.get_mut(..len));
        for mark in run.ok_or_else(|| format!("{what} {start}+{len} are past the end"))? {
            if std::mem::replace(mark, true) {
                return Err(format!("two pointers to one of {what} {start}+{len}"));
            }
        }
        self.count += len;
        Ok(())
    }

    /// Checks that every element is either pointed to or one of the `free` free elements.
    ///
    /// # Errors
    /// If their sum is not the number of elements.
    pub fn check(&self, free: usize) -> Result<(), String> {
        if self.count + free == self.marks.len() {
            return Ok(());
        }
        Err(format!("{}: {} reached and {free} free of {}", self.what, self.count, self.marks.len()))
    }
}
