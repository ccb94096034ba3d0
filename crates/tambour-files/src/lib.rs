//! Interchange files ⇄ rows: CSV, TSV, JSON lines, Parquet and Arrow IPC, read with schema inference and written.
//!
//! This layer knows columns and types (`tambour-part`) and nothing of tables.
//!
//! ```no_run
//! use tambour_files::{FileError, Input, ReadOptions};
//!
//! # fn main() -> Result<(), FileError> {
//! let mut input = Input::open(&["birdstrikes.csv".into()], ReadOptions::default())?;
//! while let Some(batch) = input.next_batch() {
//!     match batch {
//!         Ok(batch) => println!("{} rows of {} columns", batch.num_rows(), input.columns().len()),
//!         // A later row contradicts the types of the first ones: with all rows known, again from the start.
//!         Err(FileError::Widen { .. }) => input.restart()?,
//!         Err(error) => return Err(error),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The way of the data: [`format`](Format) says what a file is; text goes from its source (decompressed) through records
//! and blocks into builders of typed arrays, columnar files go through their own readers and are fitted to the table's
//! types; threads of the pipeline convert side by side and keep the order. On the way back `output` writes rows, and
//! [`write_text`] single values, as ClickHouse prints them.
//!
//! Invariants: no input panics; no size field of a file decides over memory before it is checked; an error names the file
//! and the row, column or offset; a value is converted exactly or refused.
#![forbid(unsafe_code)]

mod build;
mod columnar;
mod compression;
mod error;
mod format;
mod handed;
mod infer;
mod input;
mod literal;
mod options;
mod output;
mod pipeline;
mod source;
mod text;

pub use error::{FileError, Spot};
pub use format::Format;
pub use handed::{Handed, Survey, check_zones};
pub use infer::unify::{absent, unify};
pub use input::{Input, Sighting};
pub use options::{BATCH_ROWS, COLUMNS_MAX, RECORD_BYTES_MAX, ReadOptions, SAMPLE_BYTES, Types};
pub use output::{
    Effort, Output, ResultFormat, ResultOutput, Style, Text, output, output_with, write_text,
};
pub use source::text_reader;
