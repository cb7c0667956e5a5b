//! What measures and judges lookup engines.
