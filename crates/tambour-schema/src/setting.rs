//! The names of the settings that tables have in ClickHouse: `settings.txt` is `system.merge_tree_settings` of version 26.9.

const KNOWN: &str = include_str!("settings.txt");

/// True for a setting of tables.
pub fn is_setting(name: &str) -> bool {
    KNOWN.lines().any(|known| known == name)
}

/// The setting of tables that a name differs from by a few letters; nothing if it is one, or is like none: CREATE TABLE takes the
/// settings of queries, too.
pub fn similar_setting(name: &str) -> Option<&'static str> {
    if is_setting(name) {
        return None;
    }
    KNOWN.lines().find(|known| differs_little(known.as_bytes(), name.as_bytes()))
}

/// True if at most three letters were left out, added or changed in one place.
fn differs_little(known: &[u8], name: &[u8]) -> bool {
    const LETTERS: usize = 3;
    let front = known.iter().zip(name).take_while(|(a, b)| a == b).count();
    let (known, name) = (&known[front..], &name[front..]);
    let back = known.iter().rev().zip(name.iter().rev()).take_while(|(a, b)| a == b).count();
    known.len() - back <= LETTERS && name.len() - back <= LETTERS
}

#[cfg(test)]
mod tests {
    use super::{is_setting, similar_setting};

    #[test]
    fn slips_are_told_from_other_names() {
        assert!(is_setting("index_granularity"));
        for slip in
            ["index_granularty", "index_granuarlity", "index_granularityy", "ndex_granularity"]
        {
            assert_eq!(similar_setting(slip), Some("index_granularity"), "{slip}");
        }
        for other in [
            "index_granularity",
            "max_threads",
            "nonsense",
            "allow_suspicious_low_cardinality_types",
        ] {
            assert_eq!(similar_setting(other), None, "{other}");
        }
    }
}
