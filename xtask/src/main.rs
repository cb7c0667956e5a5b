//! The project's own chores: one door for people and CI.

fn main() {}
