//! `tambour decompress`: blocks, LZ4 frames or zstd frames back into what they hold.

use super::stream::{Input, Job, Output, ending};
use super::{dictionary, threads};
use crate::cli::DecompressArguments;
use crate::exit::Failure;
use crate::output::Console;
use std::path::{Path, PathBuf};
use tambour::codec::frame::{self, DecompressOptions, Dictionary, Format};
use tambour::codec::kernels;

/// The formats whose files have an ending of their own.
const FORMATS: [Format; 3] = [Format::Lz4, Format::Zstd, Format::Block];

/// Decompresses and tells what came of it.
pub(crate) fn run(arguments: &DecompressArguments, console: Console) -> anyhow::Result<()> {
    if arguments.deterministic {
        kernels::be_deterministic();
    }
    let mut input = Input::open(arguments.file.as_deref())?;
    let output = Output::choose(&arguments.place, &input, shorter)?;
    // An ending of `.bin` says little: many files that are not blocks have it.
    let by_name = input.path().and_then(format_of).filter(|format| *format != Format::Block);
    let dictionary = arguments.dictionary.as_deref().map(dictionary::read).transpose()?;
    let options = DecompressOptions {
        format: arguments.format.map(Format::from).or(by_name),
        threads: threads(arguments.threads),
        memory_bytes_max: arguments.memory.0,
        // Which one a frame means is its own matter: there is one only.
        dictionary: dictionary.map(|bytes| Dictionary { id: None, bytes }),
    };
    let twice = arguments.verify_first;
    if twice && !input.is_seekable() {
        let reason = "--verify-first reads the input twice, which a pipe does not allow";
        return Err(Failure::Usage(reason.to_owned()).into());
    }
    let job = Job { title: "decompress", place: &arguments.place, input, output };
    job.run(console, |source, target| {
        if twice {
            frame::decompress_verified(source, target, &options)
        } else {
            frame::decompress(source, target, &options)
        }
    })
}

/// The format that a file's name tells.
fn format_of(path: &Path) -> Option<Format> {
    let extension = path.extension()?;
    FORMATS.into_iter().find(|format| extension == ending(*format))
}

/// The name of the output: that of the input without its ending.
fn shorter(path: &Path) -> Result<PathBuf, Failure> {
    if format_of(path).is_some() {
        return Ok(path.with_extension(""));
    }
    let name = path.display();
    let reason = format!("{name} does not end with .lz4, .zst or .bin: -o names the output");
    Err(Failure::Usage(reason))
}

#[cfg(test)]
mod tests {
    use super::shorter;
    use std::path::Path;

    #[test]
    fn names_shrink() {
        for (long, short) in [("a/hits.tsv.lz4", "a/hits.tsv"), ("h.zst", "h"), ("h.bin", "h")] {
            assert_eq!(shorter(Path::new(long)).unwrap(), Path::new(short));
        }
        for name in ["hits", "hits.tsv", "hits.gz", ".lz4", "lz4"] {
            assert!(shorter(Path::new(name)).is_err(), "{name}");
        }
    }
}
