//! `tambour compress`: a file or a stream into blocks, LZ4 frames or zstd frames.

use super::stream::{Input, Job, Output, ending};
use super::{dictionary, threads};
use crate::cli::CompressArguments;
use crate::exit::Failure;
use crate::output::Console;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tambour::codec::frame::{self, CompressOptions, Dictionary, Format};

/// Compresses and tells what came of it.
pub(crate) fn run(arguments: &CompressArguments, console: Console) -> anyhow::Result<()> {
    let mut options = options(arguments)?;
    if let Some(path) = &arguments.dictionary {
        options.dictionary = Some(Dictionary { id: None, bytes: dictionary::read(path)? });
    }
    let mut input = Input::open(arguments.file.as_deref())?;
    // Files that the system makes up as they are read claim to be empty.
    options.content_size = input.length().filter(|length| *length > 0);
    let named = |path: &Path| Ok(longer(path, options.format));
    let output = Output::choose(&arguments.place, &input, named)?;
    output.refuse_terminal(arguments.place.force)?;
    let job = Job { title: "compress", place: &arguments.place, input, output };
    job.run(console, |source, target| frame::compress(source, target, &options))
}

/// The flags as options; a flag that the format does not have is a mistake.
fn options(arguments: &CompressArguments) -> Result<CompressOptions, Failure> {
    let format = arguments.format.into();
    let mut options = CompressOptions::new(format);
    let only = |given: bool, flag: &str, formats: &str| {
        if given {
            let reason = format!("{flag} is for --format {formats}, not for {}", format.name());
            return Err(Failure::Usage(reason));
        }
        Ok(())
    };
    only(arguments.codec.is_some() && format != Format::Block, "--codec", "block")?;
    only(arguments.level.is_some() && format == Format::Block, "--level", "lz4 or zstd")?;
    only(arguments.linked && format != Format::Lz4, "--linked", "lz4")?;
    only(arguments.block_checksums && format != Format::Lz4, "--block-checksums", "lz4")?;
    only(arguments.dictionary.is_some() && format == Format::Block, "--dictionary", "lz4 or zstd")?;
    if let Some(codec) = &arguments.codec {
        options.codec = codec.clone();
    }
    options.level = arguments.level;
    options.block_bytes =
        arguments.block_size.map(|size| usize::try_from(size.0).unwrap_or(usize::MAX));
    options.lz4.linked = arguments.linked;
    options.lz4.block_checksums = arguments.block_checksums;
    options.threads = threads(arguments.threads);
    options.memory_bytes_max = arguments.memory.0;
    Ok(options)
}

/// The name of the output: that of the input, and the ending of the format.
fn longer(path: &Path, format: Format) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".");
    name.push(ending(format));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::{Format, longer};
    use std::path::Path;

    #[test]
    fn names_grow() {
        assert_eq!(longer(Path::new("a/hits.tsv"), Format::Lz4), Path::new("a/hits.tsv.lz4"));
        assert_eq!(longer(Path::new("hits"), Format::Zstd), Path::new("hits.zst"));
        assert_eq!(longer(Path::new("hits"), Format::Block), Path::new("hits.bin"));
    }
}
