//! SQLite databases into stores, and back.

use super::tell;
use crate::output::{Console, quantity};
use clap::{Args, Subcommand, ValueHint};
use serde_json::json;
use std::path::PathBuf;
use tambour_sqlite::{Settings, Transferred};

/// Put SQLite databases into stores, and get them out again
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour pages sqlite import drums.db --into drums.pages
  tambour pages sqlite export drums.pages --to drums.db
  sqlite3 -cmd '.load libtambour_sqlite' 'file:drums.pages?vfs=tambour'")]
pub(crate) struct SqliteArguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: SqliteAction,
}

/// The directions.
#[derive(Debug, Subcommand)]
pub(crate) enum SqliteAction {
    Import(ImportArguments),
    Export(ExportArguments),
}

impl SqliteArguments {
    /// True if the result is wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match &self.action {
            SqliteAction::Import(arguments) => arguments.json,
            SqliteAction::Export(arguments) => arguments.json,
        }
    }
}

/// Put a plain database into a new store
///
/// Copies page by page while others may use the database, with a dictionary for its pages if that makes them smaller. The
/// store appears under its name when it is whole.
#[derive(Args, Debug)]
pub(crate) struct ImportArguments {
    /// The plain database
    #[arg(value_name = "DB", value_hint = ValueHint::FilePath)]
    database: PathBuf,
    /// File of the new store
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    into: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Make a plain database of one in a store
#[derive(Args, Debug)]
pub(crate) struct ExportArguments {
    /// File of the store
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    store: PathBuf,
    /// The new plain database
    #[arg(long, value_name = "DB", value_hint = ValueHint::FilePath)]
    to: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Runs an action.
pub(super) fn run(arguments: &SqliteArguments, console: Console) -> anyhow::Result<()> {
    let (command, copied) = match &arguments.action {
        SqliteAction::Import(it) => {
            ("sqlite import", tambour_sqlite::import(&it.database, &it.into, &Settings::default())?)
        }
        SqliteAction::Export(it) => ("sqlite export", tambour_sqlite::export(&it.store, &it.to)?),
    };
    let Transferred { source_bytes, target_bytes, dictionary_bytes, .. } = copied;
    if arguments.json() {
        let facts = [
            ("source_bytes", json!(source_bytes)),
            ("target_bytes", json!(target_bytes)),
            ("dictionary_bytes", json!(dictionary_bytes.unwrap_or(0))),
        ];
        return tell(true, command, &facts);
    }
    console.note(format!(
        "{} from {}",
        quantity::bytes(target_bytes),
        quantity::bytes(source_bytes)
    ));
    Ok(())
}
