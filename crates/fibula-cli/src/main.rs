//! The `fibula` command line.

fn main() {}
