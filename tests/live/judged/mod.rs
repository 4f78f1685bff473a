//! The judge, live: for each program the findings are written down before it runs, and compared exactly.

mod ambient;
mod case;
mod gcc;
mod names;
mod native;
mod neighbours;
mod node;
mod perl;
mod python;
mod recipe;
mod shell;
