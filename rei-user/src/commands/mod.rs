//! One file per subcommand: wires rooms, prints.

pub mod doctor;
