//! [`check_levels`]: every walk down a trie that came from outside ends.
//!
//! The bytes of a [snapshot](crate::snapshot) may be forged. A walk that follows a cycle of nodes
//! would never end, and a bound in the walk itself would cost every lookup. So the trie is checked
//! once, when it is opened: a trie whose every node is on one level has no cycle.

use crate::Error;
use crate::sections::unsound;

/// Checks that every walk from the `roots` through the children that `below` gives ends after at
/// most `most` nodes, and that all nodes are among the `nodes` first numbers. O(nodes and their
/// children). `name` is the section of the nodes.
///
/// ```
/// use fibula::parts::blocks::levels::check_levels;
/// let children: [&[usize]; 4] = [&[1, 2], &[3], &[3], &[]];
/// let check = |most, children: [&[usize]; 4]| {
///     check_levels("nodes", 4, [0], most, |node, down| {
///         children[node].iter().try_for_each(|&at| down(at))
///     })
/// };
/// assert!(check(3, children).is_ok());
/// assert!(check(2, children).is_err());
/// assert!(check(3, [&[1], &[2], &[0], &[]]).is_err()); // a cycle
/// ```
///
/// # Errors
/// If a node is past the end, on two levels, or too deep; and those of `below`.
pub fn check_levels(
    name: &str,
    nodes: usize,
    roots: impl IntoIterator<Item = usize>,
    most: u8,
    mut below: impl FnMut(usize, &mut dyn FnMut(usize) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<(), Error> {
    // The level of each node, from 1; 0 while it was not reached.
    let mut levels = vec![0_u8; nodes];
    let (mut here, mut next) = (Vec::new(), Vec::new());
    let mut reach = |node: usize, level: u8, found: &mut Vec<usize>| {
        let before = levels.get_mut(node).ok_or_else(|| unsound(name, format!("has no node {node}")))?;
        match *before {
            0 => {
                *before = level;
                found.push(node);
                Ok(())
            }
            same if same == level => Ok(()),
            _ => Err(unsound(name, format!("has node {node} on two levels"))),
        }
    };
    roots.into_iter().try_for_each(|root| reach(root, 1, &mut here))?;
    let mut level = 1;
    while !here.is_empty() {
        if level > most {
            return Err(unsound(name, format!("is deeper than {most} nodes")));
        }
        level += 1;
        for node in here.drain(..) {
            below(node, &mut |child| reach(child, level, &mut next))?;
        }
        std::mem::swap(&mut here, &mut next);
    }
    Ok(())
}
