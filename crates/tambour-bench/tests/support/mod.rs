//! Rows of files, as the advisor takes them in.

use std::path::Path;
use tambour_files::{FileError, Input, ReadOptions};
use tambour_table::advise::{Intake, Sample};

/// Reads a file to its end.
pub(crate) fn read(path: &Path) -> Result<Sample, Box<dyn std::error::Error>> {
    let options = ReadOptions { batch_rows: 16_384, threads: 2, ..ReadOptions::default() };
    let mut input = Input::open(&[path.to_path_buf()], options)?;
    loop {
        let mut intake = Intake::new(input.columns().to_vec());
        let end = loop {
            match input.next_batch() {
                None => break Ok(()),
                Some(Ok(batch)) => intake.push(&batch)?,
                Some(Err(error)) => break Err(error),
            }
        };
        match end {
            Ok(()) => return Ok(intake.finish(None)?),
            Err(FileError::Widen { .. }) => input.restart()?,
            Err(error) => return Err(error.into()),
        }
    }
}
