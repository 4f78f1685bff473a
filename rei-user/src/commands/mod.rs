//! One file per subcommand: wires rooms, prints.
