//! `tambour messages`: dictionaries, encoding, decoding.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Compress messages one by one with a shared dictionary
///
/// For very many connections: no state per connection, but for an optional copy of its first message. A dictionary is
/// trained on samples; messages become frames of their length and their compressed bytes, as the library sends them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour messages train calls.jsonl --into calls.dict
  tambour messages encode calls.jsonl calls.tmb --dictionary calls.dict
  tambour messages decode calls.tmb - --dictionary calls.dict")]
pub(crate) struct MessagesArguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: MessagesAction,
}

/// What can be done with messages.
#[derive(Debug, Subcommand)]
pub(crate) enum MessagesAction {
    Train(MessagesTrainArguments),
    /// Turn lines into a stream of encoded messages
    Encode(MessagesCodeArguments),
    /// Turn a stream of encoded messages back into lines
    Decode(MessagesCodeArguments),
}

/// Train a dictionary on sample messages, one per line
#[derive(Args, Debug)]
pub(crate) struct MessagesTrainArguments {
    /// Files of samples, one message per line
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// The dictionary to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) into: PathBuf,
    /// Field of JSON messages that tells connections apart, such as session or params.session: teaches how messages
    /// repeat the pinned first one of their connection
    #[arg(long, value_name = "FIELD")]
    pub(crate) connection: Option<String>,
    /// Bytes of text in the dictionary
    #[arg(long, value_name = "BYTES", default_value_t = 65_535)]
    #[arg(value_parser = clap::value_parser!(u32).range(1024..=65_535))]
    pub(crate) size: u32,
    /// Bytes of check after every message: 0, 2 or 4
    #[arg(long, value_name = "BYTES", default_value_t = 4)]
    pub(crate) check: u8,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

// Where messages come from and go to; the help is that of the variants.
#[derive(Args, Debug)]
pub(crate) struct MessagesCodeArguments {
    /// What to read, - for standard input
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    pub(crate) source: PathBuf,
    /// What to write, - for standard output
    #[arg(value_name = "TARGET", value_hint = ValueHint::FilePath)]
    pub(crate) target: PathBuf,
    /// The dictionary
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: PathBuf,
    /// Generation of the dictionary
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) generation: u8,
    /// The stream is one connection that pins its first message
    #[arg(long)]
    pub(crate) pins: bool,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as one JSON object (on standard error when the data goes to standard output)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
