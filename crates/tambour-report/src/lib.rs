//! Reports: figures, tables and charts on one HTML page, with the machine and the run that they come from.
//!
//! The commands `advise --out`, `records train --report` and `pages space --out` end in such a page, and so does every
//! benchmark. A report is built from values ([`Page`], [`Figure`], [`Table`]); only this crate knows how they look.
//!
//! - [`Page`]: headline figures, charts, tables and the machine, in one file without anything external
//! - [`machine`]: where figures were measured; [`clock`]: the time that they are made of
//! - [`mod@advise`], [`dictionary`], [`space`]: the reports of the three commands
//! - [`quantity`]: numbers as people read and write them
//! - [`random`]: numbers for samples and for the order of contenders, the same everywhere
#![forbid(unsafe_code)]

pub mod advise;
mod axis;
mod bars;
mod canvas;
pub mod clock;
pub mod dictionary;
mod dots;
mod error;
mod heat;
mod lines;
pub mod machine;
mod page;
pub mod quantity;
pub mod random;
mod scatter;
pub mod space;
mod table;
mod tone;
mod treemap;

pub use axis::{Axis, Scale};
pub use bars::{Bar, Bars};
pub use dots::{Dots, Row};
pub use error::ReportError;
pub use heat::{Cell, Heat};
pub use lines::{Line, Lines};
pub use machine::Machine;
pub use page::{Chart, Fact, Figure, Page, Panel, Section, write};
pub use scatter::{Mark, Scatter};
pub use table::{Column, Table, TableOf};
pub use tone::Tone;
pub use treemap::{Tile, Treemap};

#[cfg(test)]
mod tests;
