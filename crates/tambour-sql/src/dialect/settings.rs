//! `SETTINGS …`: what changes a result is refused unless it asks for what is done anyway; the rest is for servers.

use super::refused;
use crate::SqlError;

/// Settings that change results, with the value that is ours; `None`: no value is.
const RESULTS: &[(&str, Option<&str>)] = &[
    ("join_use_nulls", Some("1")),
    ("aggregate_functions_null_for_empty", Some("1")),
    ("group_by_use_nulls", Some("0")),
    ("transform_null_in", Some("0")),
    ("join_default_strictness", Some("all")),
    ("any_join_distinct_right_table_keys", Some("0")),
    ("union_default_mode", None),
    ("except_default_mode", None),
    ("intersect_default_mode", None),
    ("limit", None),
    ("offset", None),
    ("extremes", Some("0")),
    ("prefer_column_name_to_alias", Some("0")),
    ("enable_positional_arguments", Some("1")),
    ("cast_keep_nullable", Some("0")),
    ("cast_ipv4_ipv6_default_on_conversion_error", Some("0")),
    ("decimal_check_overflow", Some("1")),
    ("date_time_overflow_behavior", None),
    ("session_timezone", Some("utc")),
    ("use_client_time_zone", Some("0")),
    ("final", Some("0")),
    ("additional_table_filters", None),
    ("additional_result_filter", None),
    ("read_overflow_mode", Some("throw")),
    ("group_by_overflow_mode", Some("throw")),
    ("result_overflow_mode", Some("throw")),
    ("totals_mode", None),
    ("enable_unaligned_array_join", Some("0")),
    ("enable_scalar_subquery_optimization", Some("1")),
    ("force_index_by_date", Some("0")),
    ("force_primary_key", Some("0")),
    ("count_distinct_implementation", None),
    ("formatdatetime_parsedatetime_m_is_month_name", Some("1")),
    ("formatdatetime_f_prints_single_zero", Some("0")),
    ("splitby_max_substrings_includes_remaining_string", Some("0")),
    ("function_json_value_return_type_allow_nullable", Some("0")),
    ("function_json_value_return_type_allow_complex", Some("0")),
    ("least_greatest_legacy_null_behavior", None),
    ("empty_result_for_aggregation_by_empty_set", Some("0")),
    ("empty_result_for_aggregation_by_constant_keys_on_empty_set", Some("1")),
    ("first_day_of_week", None),
];

/// A note about a setting that has no effect, or why it cannot be.
pub(super) fn note(name: &str, value: &str) -> Result<String, SqlError> {
    let bare = value.trim_matches('\'').to_ascii_lowercase();
    let bare = match bare.as_str() {
        "true" => "1",
        "false" => "0",
        other => other,
    };
    let known = RESULTS.iter().find(|(known, _)| *known == name);
    match known {
        Some((_, Some(ours))) if *ours == bare => {}
        Some((_, Some(ours))) => {
            return Err(refused(
                format!("the setting {name} = {value}"),
                format!("it would change the result, which is that of {name} = {ours} here"),
            ));
        }
        Some((_, None)) => {
            return Err(refused(
                format!("the setting {name}"),
                "it would change the result; leave it out and write the query for it",
            ));
        }
        None => {}
    }
    Ok(format!("SETTINGS {name} = {value} has no effect here"))
}

#[cfg(test)]
mod tests {
    use super::note;

    #[test]
    fn what_changes_results_is_refused() {
        assert!(note("max_threads", "1").is_ok());
        assert!(note("join_use_nulls", "1").is_ok());
        let error = note("join_use_nulls", "0").unwrap_err().to_string();
        assert!(error.contains("it would change the result"), "{error}");
        assert!(note("limit", "5").is_err());
        assert!(note("transform_null_in", "true").is_err());
        assert!(note("transform_null_in", "false").is_ok());
    }
}
