//! `tambour attach-script`: the commands that attach a table's parts to ClickHouse.

use crate::cli::AttachScriptArguments;
use crate::exit::Failure;
use crate::output::{quantity, stdout};
use std::io::Write as _;
use tambour::part::name::days_of_old_name;
use tambour::table::store::{is_on_disk, is_url};
use tambour::{AttachOptions, Table};

/// Prints the script.
pub(crate) fn run(arguments: &AttachScriptArguments) -> anyhow::Result<()> {
    if is_url(&arguments.table) || is_on_disk(&arguments.table) {
        let what = "the script copies parts from a local directory: copy the table to one first";
        return Err(Failure::Unsupported(what.to_owned()).into());
    }
    let table = Table::open(&arguments.table)?;
    let mut options = AttachOptions::default();
    options.database.clone_from(&arguments.database);
    options.name.clone_from(&arguments.name);
    options.data.clone_from(&arguments.data);
    options.hosts.clone_from(&arguments.hosts);
    (options.sql, options.from) = (arguments.sql, arguments.from);
    let bytes = table.parts().iter().map(|part| part.bytes_on_disk()).sum();
    options.comment = Some(format!(
        "{}, {}, {}",
        quantity::counted(table.rows(), "row", "rows"),
        quantity::counted(table.parts().len() as u64, "part", "parts"),
        quantity::bytes(bytes),
    ));
    let outdated = table.snapshot();
    let mut outdated = outdated.parts().iter().filter(|part| part.has_outdated_keys());
    if let Some(part) = outdated.next() {
        return Err(Failure::Conflict(format!(
            "part {:?} has its keys in the types from before the table was widened, which ClickHouse would misread: \
             `tambour optimize {}` rewrites it",
            part.name(),
            arguments.table.display()
        ))
        .into());
    }
    if table.parts().iter().any(|part| days_of_old_name(part.name()).is_some()) {
        return Err(Failure::Unsupported(format!(
            "{}: its parts are in the syntax before 2018, and attach only to a table in that syntax",
            arguments.table.display()
        ))
        .into());
    }
    if let Some(place) = table.own_codec()? {
        return Err(Failure::Unsupported(format!(
            "{place} is Tambour's own, and ClickHouse does not read it: \
             `tambour recompress {} --codec auto` writes the blocks anew",
            arguments.table.display()
        ))
        .into());
    }
    let Some(script) = table.attach_script(&options) else {
        return Err(Failure::NotFound(format!(
            "{}: no CREATE TABLE statement is known (there is no tambour.json)",
            arguments.table.display()
        ))
        .into());
    };
    let mut target = stdout::data();
    target.write_all(script.as_bytes())?;
    target.flush()?;
    Ok(())
}
