//! `SETTINGS …`: two switch to ClickHouse's way where ours is another ([`Switches`]). Others that change a result are refused
//! unless they ask for what is done anyway; so are those that nobody here has looked at. The rest is for servers.

use super::refused;
use crate::DialectError;

/// Settings that change results, with the value that is ours; `None`: no value is.
const RESULTS: &[(&str, Option<&str>)] = &[
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
    ("do_not_merge_across_partitions_select_final", Some("0")),
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
    ("apply_deleted_mask", Some("1")),
    ("asterisk_include_alias_columns", Some("0")),
    ("asterisk_include_materialized_columns", Some("0")),
    ("cast_string_to_date_time_mode", Some("basic")),
    ("data_type_default_nullable", Some("0")),
    ("enable_extended_results_for_datetime_functions", Some("0")),
    ("enable_named_columns_in_function_tuple", Some("0")),
    ("enable_time_time64_type", Some("0")),
    ("force_grouping_standard_compatibility", Some("1")),
    ("formatdatetime_e_with_space_padding", Some("0")),
    ("formatdatetime_f_prints_scale_number_of_digits", Some("0")),
    ("formatdatetime_format_without_leading_zeros", Some("0")),
    ("function_date_trunc_return_type_behavior", Some("0")),
    ("function_locate_has_mysql_compatible_argument_order", Some("1")),
    ("function_visible_width_behavior", Some("1")),
    ("geo_distance_returns_float64_on_float64_arguments", Some("1")),
    ("join_any_take_last_row", Some("0")),
    ("optimize_trivial_approximate_count_query", Some("0")),
    ("output_format_decimal_trailing_zeros", Some("0")),
    ("output_format_json_named_tuples_as_objects", Some("1")),
    ("output_format_json_quote_64bit_integers", Some("0")),
    ("output_format_json_quote_denormals", Some("0")),
    ("output_format_pretty_row_numbers", Some("1")),
    ("output_format_write_statistics", Some("1")),
    ("parsedatetime_e_requires_space_padding", Some("0")),
    ("parsedatetime_parse_without_leading_zeros", Some("0")),
    ("use_legacy_to_time", Some("1")),
    ("use_variant_as_common_type", Some("0")),
    ("use_with_fill_by_sorting_prefix", Some("1")),
];

/// How the names begin of settings that are about how a query is run, what a server may do, and files that are read; longer
/// names of [`RESULTS`] come first.
const HARMLESS: &[&str] = &[
    "adaptive_",
    "aggregation_",
    "allow_",
    "alter_",
    "analyze_index_",
    "analyzer_inline_views",
    "async_",
    "azure_",
    "background_",
    "backup_",
    "calculate_text_stack_trace",
    "collect_hash_table_",
    "compatibility",
    "compile_",
    "connect",
    "convert_query_to_cnf",
    "count_distinct_optimization",
    "cross_",
    "database_",
    "ddl_",
    "deduplicate_",
    "default_",
    "describe_",
    "distributed_",
    "enable_",
    "exact_rows_before_limit",
    "explain_",
    "external_",
    "fallback_",
    "filesystem_",
    "flatten_nested",
    "force_aggregate_",
    "force_aggregation_",
    "force_distinct_",
    "force_optimize_",
    "force_window_",
    "format_regexp_escaping",
    "format_schema",
    "fsync_",
    "function_range_max_",
    "grace_hash_",
    "group_by_two_level_",
    "hdfs_",
    "hedged_",
    "http_",
    "ignore_",
    "input_format_",
    "insert_",
    "joined_",
    "join_algorithm",
    "join_on_disk_",
    "join_output_",
    "join_runtime_",
    "join_to_sort_",
    "lightweight_",
    "load_",
    "local_",
    "log_",
    "low_",
    "make_distributed_plan",
    "materialize_",
    "materialized_",
    "max_",
    "memory_",
    "merge_tree_",
    "metrics_",
    "min_",
    "mutations_",
    "network_",
    "opentelemetry_",
    "optimize_",
    "output_format_parallel_formatting",
    "output_format_pretty_color",
    "page_cache_",
    "parallel_",
    "parallelize_",
    "partial_merge_",
    "poll_",
    "precise_float_parsing",
    "prefer_",
    "preferred_",
    "prefetch_",
    "priority",
    "push_external_",
    "query_cache_",
    "query_plan_",
    "query_profiler_",
    "queue_",
    "read_backoff_",
    "read_from_",
    "read_in_order_",
    "read_priority",
    "readonly",
    "receive_",
    "remerge_",
    "remote_",
    "replication_",
    "rewrite_",
    "rows_before_aggregation",
    "s3_",
    "schema_inference_",
    "select_sequential_consistency",
    "send_",
    "short_circuit_",
    "single_join_",
    "skip_",
    "split_",
    "storage_",
    "stream_",
    "system_",
    "table_function_",
    "tcp_",
    "temporary_",
    "text_index_",
    "throw_",
    "timeout_",
    "totals_auto_threshold",
    "trace_",
    "use_",
    "validate_",
    "vector_search_",
    "wait_",
    "workload",
    "zstd_",
];

/// Where ClickHouse's way is another than ours; `None`: not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// NULL in rows of an outer join without a partner, or the default of the type.
    pub join_use_nulls: Option<bool>,
    /// NULL for an aggregate of no rows, or what ClickHouse gives: 0, nan, an empty text.
    pub aggregate_functions_null_for_empty: Option<bool>,
    /// Every table of an engine that merges rows is read as if FINAL stood after it.
    pub merged: Option<bool>,
}

impl Switches {
    /// The switch of a name.
    fn named(&mut self, name: &str) -> Option<&mut Option<bool>> {
        match name {
            "join_use_nulls" => Some(&mut self.join_use_nulls),
            "aggregate_functions_null_for_empty" => {
                Some(&mut self.aggregate_functions_null_for_empty)
            }
            "final" => Some(&mut self.merged),
            _ => None,
        }
    }
    /// These, and those of others where these say nothing.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            join_use_nulls: self.join_use_nulls.or(others.join_use_nulls),
            aggregate_functions_null_for_empty: self
                .aggregate_functions_null_for_empty
                .or(others.aggregate_functions_null_for_empty),
            merged: self.merged.or(others.merged),
        }
    }
    /// True if something is said.
    pub fn is_some(self) -> bool {
        self != Self::default()
    }
}

/// The names of the settings that are looked at here, with what is done; for `system.settings`.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    let switches =
        [("join_use_nulls", "1"), ("aggregate_functions_null_for_empty", "1"), ("final", "0")];
    switches.into_iter().chain(RESULTS.iter().map(|(name, ours)| (*name, ours.unwrap_or_default())))
}

/// True for the name of a switch.
pub fn is_switch(name: &str) -> bool {
    Switches::default().named(name).is_some()
}

/// Sets a switch, or notes a setting that has no effect; or tells why it cannot be.
pub(super) fn apply(
    name: &str,
    value: &str,
    switches: &mut Switches,
) -> Result<Option<String>, DialectError> {
    let Some(switch) = switches.named(name) else { return note(name, value).map(Some) };
    *switch = Some(match value.trim_matches('\'').to_ascii_lowercase().as_str() {
        "0" | "false" => false,
        "1" | "true" => true,
        _ => return Err(refused(format!("the setting {name} = {value}"), "it is 0 or 1")),
    });
    Ok(None)
}

/// An error if a setting cannot stand in a statement that changes a table.
pub fn check(name: &str, value: &str) -> Result<(), DialectError> {
    note(name, value).map(drop)
}

/// A note about a setting that has no effect, or why it cannot be.
fn note(name: &str, value: &str) -> Result<String, DialectError> {
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
        None if HARMLESS.iter().any(|begin| name.starts_with(begin)) => {}
        None => {
            return Err(refused(
                format!("the setting {name}"),
                "it is not known here, and might change the result; leave it out",
            ));
        }
    }
    Ok(format!("SETTINGS {name} = {value} has no effect here"))
}

#[cfg(test)]
mod tests {
    use super::{Switches, apply, note};

    #[test]
    fn what_changes_results_is_refused() {
        assert!(note("max_threads", "1").is_ok());
        assert!(note("extremes", "0").is_ok());
        let error = note("extremes", "1").unwrap_err().to_string();
        assert!(error.contains("it would change the result"), "{error}");
        assert!(note("limit", "5").is_err());
        assert!(note("transform_null_in", "true").is_err());
        assert!(note("transform_null_in", "false").is_ok());
        let error = note("join_use_null", "1").unwrap_err().to_string();
        assert!(error.contains("join_use_null"), "{error}");
    }

    #[test]
    fn switches_are_set_and_not_noted() {
        let mut switches = Switches::default();
        assert_eq!(apply("join_use_nulls", "0", &mut switches).unwrap(), None);
        assert_eq!(switches.join_use_nulls, Some(false));
        assert!(apply("join_use_nulls", "2", &mut switches).is_err());
        assert!(apply("max_threads", "2", &mut switches).unwrap().is_some());
        let session = Switches { join_use_nulls: Some(true), ..Switches::default() };
        assert_eq!(switches.or(session).join_use_nulls, Some(false));
        assert_eq!(Switches::default().or(session).join_use_nulls, Some(true));
    }
}
