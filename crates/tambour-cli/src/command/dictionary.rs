//! Dictionaries of frames, as files.

use anyhow::Context;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use tambour::Kind;
use tambour::codec::frame::FrameError;

/// Largest dictionary that is read; libzstd's windows end there, too.
const BYTES_MAX: u64 = 128 << 20;

/// The bytes of a dictionary.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let place = || path.display().to_string();
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(place)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).with_context(place)?;
    let refused = |reason: &str, kind| {
        let error = FrameError::Options { reason: reason.to_owned(), kind };
        Err(anyhow::Error::new(error).context(place()))
    };
    match bytes.len() as u64 {
        0 => refused("an empty file is not a dictionary", Kind::Argument),
        length if length > BYTES_MAX => refused("a dictionary has at most 128 MiB", Kind::Limit),
        _ => Ok(bytes),
    }
}
