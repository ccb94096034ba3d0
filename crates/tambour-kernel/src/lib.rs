//! Loops over buffers: bytes in, bytes out.
//!
//! A *kernel* is a pure function from slices to slices. It never allocates, does no I/O, reads no clock and keeps no
//! global state but the [`mod@level`] in use; all of that belongs to the caller. Exceptions are the [`map`] of a file and, with feature `arrow`,
//! `text`, which makes Arrow's texts ([`tambour-codec`](https://docs.rs/tambour-codec) is the next layer). In exchange it is the only crate of the workspace in which `unsafe` is allowed, and every use is an argument.
#![expect(
    unsafe_code,
    reason = "kernels use vector loads and stores; each block states why it is sound"
)]
#![expect(
    clippy::inline_always,
    reason = "steps of a loop must land in the function that enables the instruction set"
)]

pub mod column;
mod copy;
pub mod hash;
pub mod integer;
mod isa;
pub mod level;
pub mod lz4;
pub mod map;
mod prefetch;
#[cfg(feature = "arrow")]
pub mod text;
pub mod variant;

pub use prefetch::prefetch;
