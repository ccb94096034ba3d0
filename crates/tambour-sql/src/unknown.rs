//! Names that are not there: DataFusion tells of them in texts alone, in its own spelling.

use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::error::DataFusionError;

/// Names that are offered in the place of an unknown one.
const SIMILAR_MAX: usize = 3;

fn root_text(error: &DataFusionError) -> Option<&str> {
    match error.find_root() {
        DataFusionError::Plan(text) => Some(text),
        _ => None,
    }
}

/// The table that an error misses, with catalog and schema.
pub(crate) fn table(error: &DataFusionError) -> Option<&str> {
    root_text(error)?.strip_prefix("table '")?.strip_suffix("' not found")
}

/// The function that an error misses, as the statement spells it: the planner has it in lower case.
pub(crate) fn function(error: &DataFusionError, statement: &str) -> Option<String> {
    let (name, _) = root_text(error)?.strip_prefix("Invalid function '")?.split_once('\'')?;
    let at = statement.to_ascii_lowercase().find(&name.to_ascii_lowercase());
    let written = at.and_then(|at| statement.get(at..at + name.len()));
    Some(written.unwrap_or(name).to_owned())
}

/// The known names nearest to one, the nearest first.
pub(crate) fn similar(name: &str, known: Vec<String>) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let mut near: Vec<(usize, String)> = known
        .into_iter()
        .map(|other| (levenshtein(&name, &other.to_ascii_lowercase()), other))
        .filter(|(distance, _)| *distance <= 1 + name.len() / 3)
        .collect();
    near.sort_unstable();
    near.into_iter().take(SIMILAR_MAX).map(|(_, other)| other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_of_the_statement_counts() {
        let text = "Invalid function 'formatdatetime'.\nDid you mean 'toDateTime'?";
        let error = DataFusionError::Plan(text.to_owned());
        let name = function(&error, "SELECT formatDateTime(t, '%Y')");
        assert_eq!(name.as_deref(), Some("formatDateTime"));
        assert_eq!(table(&error), None);
        let error = DataFusionError::Plan("table 'a.b.c' not found".to_owned());
        assert_eq!(table(&error), Some("a.b.c"));
        assert_eq!(function(&error, ""), None);
    }

    #[test]
    fn similar_names_are_near() {
        let known = ["toDate", "toDateTime", "uniq", "toDate32"].map(str::to_owned).to_vec();
        assert_eq!(similar("todaet", known.clone()), ["toDate", "toDate32"]);
        assert_eq!(similar("somethingElse", known), Vec::<String>::new());
    }
}
