//! The grammar that statements are parsed with: the parser library's ClickHouse, with what it lacks.

use super::{postfix, scalar, show};
use datafusion::sql::sqlparser::ast::{Expr, Statement};
use datafusion::sql::sqlparser::dialect::{ClickHouseDialect, Dialect};
use datafusion::sql::sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use std::any::TypeId;

/// ClickHouse with `FILTER (WHERE …)` after aggregates, and without names of results that begin a clause.
#[derive(Debug)]
pub(super) struct Grammar;

const BASE: ClickHouseDialect = ClickHouseDialect {};

/// Says yes to what the library's ClickHouse says yes to: it has no way to inherit.
macro_rules! also {
    ($($feature:ident),+ $(,)?) => {
        $(fn $feature(&self) -> bool {
            BASE.$feature()
        })+
    };
}

impl Dialect for Grammar {
    fn dialect(&self) -> TypeId {
        BASE.dialect()
    }

    fn is_identifier_start(&self, character: char) -> bool {
        BASE.is_identifier_start(character)
    }

    fn is_identifier_part(&self, character: char) -> bool {
        BASE.is_identifier_part(character)
    }

    also!(
        supports_string_literal_backslash_escape,
        supports_select_wildcard_except,
        describe_requires_table_keyword,
        require_interval_qualifier,
        supports_limit_comma,
        supports_insert_table_function,
        supports_insert_format,
        supports_numeric_literal_underscores,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_dictionary_syntax,
        supports_lambda_functions,
        supports_from_first_select,
        supports_order_by_all,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_nested_comments,
        supports_optimize_table,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_select_wildcard_replace,
        supports_comma_separated_trim,
    );

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        postfix::precedence(parser).map(Ok)
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        postfix::literal_before_cast(parser).map(Ok).or_else(|| postfix::tuple(parser))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        expr: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        postfix::parse(parser, expr)
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        scalar::parse(parser).or_else(|| show::parse(parser)).or_else(|| show::exists(parser))
    }

    /// Without AS, `SELECT 1 FORMAT TSV` is a clause and no name.
    fn is_column_alias(&self, keyword: &Keyword, _: &mut Parser<'_>) -> bool {
        !RESERVED_FOR_COLUMN_ALIAS.contains(keyword)
            && !matches!(keyword, Keyword::FORMAT | Keyword::SETTINGS | Keyword::PREWHERE)
    }
}
