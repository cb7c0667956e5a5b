//! The suite that fibula's own engines pass, stamped on an engine from outside.

fibula_suite::suite!(fibula_own_engine::for_each_engine, fibula_own_engine::ENGINES);
