//! rei's kernel side: eBPF programs that report what the processes of watched cgroups do.
//!
//! `scope` answers whose act it is, the hook families read the kernel's own objects, `emit` is the only writer.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

mod calls;
mod connect;
mod emit;
mod exec;
mod file;
mod kernel;
mod maps;
mod open;
mod path;
mod process;
mod scope;
mod table;
mod task;

#[panic_handler]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // The verifier refuses a program that can get here, which is what we want to hear.
    loop {}
}

#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
