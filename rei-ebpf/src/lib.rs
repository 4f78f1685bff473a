//! Empty. It exists so that rei-user can build-depend on this crate and is rebuilt when it changes.
#![no_std]
