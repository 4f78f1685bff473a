//! Black-box tests of the command line.
