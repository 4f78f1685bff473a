//! `rei`: parse, run, exit code.

fn main() {}
