//! The suite, stamped on every engine of this crate.

fibula_suite::suite!(fibula_engines::for_each_engine, fibula_engines::ENGINES);
