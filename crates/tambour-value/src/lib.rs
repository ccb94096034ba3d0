//! Values as text: the one place where texts become values and values texts, for files, queries and keys alike.
//!
//! There is a parser per kind of value ([`number`], [`time`], [`address`]); none allocates or knows a column. [`print`](mod@print) writes
//! values as ClickHouse writes them, [`readable`](mod@readable) with words for people. Local times become instants, and instants local times, in [`Zone`] alone;
//! [`civil`] is the calendar.
#![forbid(unsafe_code)]
#![expect(clippy::cast_possible_truncation, reason = "parts of dates and times are small")]

pub mod address;
pub mod civil;
pub mod delta;
mod error;
pub mod json;
pub mod number;
pub mod parse;
pub mod print;
pub mod readable;
pub mod time;
pub mod url;
pub mod zone;

pub use error::ValueError;
pub use zone::Zone;

/// Why a text was refused; the caller knows where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The reason, as the end of a message.
    pub reason: &'static str,
    /// True if the text itself is malformed; false if it is a sound value of another type.
    pub syntax: bool,
}

impl Reject {
    /// A sound value that does not fit the type.
    pub const fn new(reason: &'static str) -> Self {
        Self { reason, syntax: false }
    }
    /// A malformed text.
    pub const fn syntax(reason: &'static str) -> Self {
        Self { reason, syntax: true }
    }
}
