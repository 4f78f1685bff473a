//! Set-up, demo, tests and benchmarks of rei.

fn main() {}
