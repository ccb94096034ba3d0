//! `SETTINGS mutations_sync = 2` at the end of a statement that changes a table.

use crate::SqlError;
use tambour_dialect as dialect;
use tambour_table::schema::alter;

/// Statements whose settings are about how they are carried out, by their first words.
const WORDS: [&str; 7] = ["ALTER", "DELETE", "UPDATE", "OPTIMIZE", "TRUNCATE", "DROP", "RENAME"];

/// A statement with blanks in the place of its settings, if it has some. An error if they might change what it does.
pub(crate) fn without_settings(text: &str) -> Result<Option<String>, SqlError> {
    let Some((start, settings)) = alter::settings(text, &WORDS) else { return Ok(None) };
    for (name, value) in settings {
        dialect::check_setting(&name, &value)?;
    }
    Ok(text.get(..start).map(str::to_owned))
}
