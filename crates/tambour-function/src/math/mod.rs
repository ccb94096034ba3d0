//! Functions of numbers.

pub(super) mod bit;
pub(super) mod bit_text;
pub(super) mod float;
pub(super) mod integer;
pub(super) mod middle;
pub(super) mod normal;
pub(super) mod round;
mod tuple;
pub(super) mod vector;
