//! Live tests: real containers, real kernel.
