//! The clauses of CREATE TABLE.

use super::expression::Expression;
use super::token::{Cursor, Kind};
use super::{ColumnDefinition, ColumnKind, Creation, Like, TableDefinition};
use crate::TableError;
use tambour_part::types::{DataType, nested_elements};

/// What is done with ORDER BY, PRIMARY KEY and PARTITION BY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// They are read.
    Read,
    /// They are passed over, whatever they say: there are no keys.
    PassOver,
}

/// Parses a statement without a query; whether it makes sense is checked elsewhere.
pub(super) fn parse(sql: &str, keys: Keys) -> Result<TableDefinition, TableError> {
    let creation = parse_creation(sql, keys)?;
    match creation.query {
        None if creation.like.is_some() => {
            Err(refused("CREATE TABLE ... AS another table", "write the columns out"))
        }
        None => Ok(creation.definition),
        Some(_) => {
            Err(refused("CREATE TABLE ... AS SELECT", "create the table, then import the rows"))
        }
    }
}

/// The same with a query, whose rows fill the table and whose columns are the table's if none are written.
pub(super) fn parse_creation(sql: &str, keys: Keys) -> Result<Creation<'_>, TableError> {
    let mut cursor = Cursor::new(sql)?;
    let replaces = takes_create(&mut cursor)?;
    cursor.expect_words(&["TABLE"])?;
    let is_optional = cursor.take_words(&["IF"]);
    if is_optional {
        cursor.expect_words(&["NOT", "EXISTS"])?;
    }
    if is_optional && replaces {
        return Err(refused("CREATE OR REPLACE TABLE IF NOT EXISTS", "it is one or the other"));
    }
    let (database, name) = table_name(&mut cursor)?;
    let mut definition = TableDefinition { database, ..TableDefinition::new(name, Vec::new()) };
    if cursor.at_word("CLONE") {
        return Err(refused("CREATE TABLE ... CLONE AS", "the columns must be written out"));
    }
    let inline_key = if cursor.at_symbol("(") {
        column_list(&mut cursor, &mut definition)?
    } else if cursor.at_any_word(TABLE_CLAUSES) {
        Vec::new()
    } else {
        return Err(cursor.expected("`(` or AS"));
    };
    table_clauses(&mut cursor, &mut definition, inline_key, keys)?;
    let mut query = None;
    let mut like = None;
    let is_empty = cursor.take_words(&["EMPTY"]);
    if cursor.take_words(&["AS"]) {
        if cursor.at_any_word(&["SELECT", "WITH"]) || cursor.at_symbol("(") {
            query = sql.get(cursor.peek().start..);
        } else {
            if !definition.columns.is_empty() {
                return Err(refused(
                    "CREATE TABLE with columns AS another table",
                    "it takes the columns of that table, or its own",
                ));
            }
            let (database, name) = table_name(&mut cursor)?;
            let own = definition.clone();
            table_clauses(&mut cursor, &mut definition, Vec::new(), keys)?;
            if definition.order_by.is_empty() {
                (definition.order_by, definition.primary_key) = (own.order_by, own.primary_key);
            }
            cursor.expect_end()?;
            let mut words = Cursor::new(sql)?;
            words.skip_until(|it| it.at_word("ENGINE"))?;
            like = Some(Like { database, name, has_engine: words.at_word("ENGINE") });
        }
    } else {
        if definition.columns.is_empty() {
            return Err(cursor.expected("the columns in parentheses, or AS and a query"));
        }
        cursor.expect_end()?;
    }
    if is_empty && query.is_none() {
        return Err(cursor.expected("AS and a query"));
    }
    Ok(Creation { definition, is_optional, replaces, like, is_empty, query })
}

/// Takes CREATE, or what may stand for it; true if a table that is there is replaced.
fn takes_create(cursor: &mut Cursor) -> Result<bool, TableError> {
    // REPLACE is CREATE OR REPLACE of a table that must be there, which is for the caller to see.
    let is_short = cursor.take_words(&["REPLACE"]);
    let mut replaces = is_short;
    if cursor.take_words(&["CREATE"]) {
        if cursor.take_words(&["OR"]) {
            cursor.expect_words(&["REPLACE"])?;
            replaces = true;
        }
        for word in ["TEMPORARY", "VIEW", "MATERIALIZED", "DICTIONARY", "DATABASE"] {
            if cursor.at_word(word) {
                return Err(refused(
                    &format!("CREATE {word}"),
                    "only CREATE TABLE makes a table of parts",
                ));
            }
        }
    } else if !is_short && !cursor.take_words(&["ATTACH"]) {
        return Err(cursor.expected("CREATE TABLE"));
    }
    Ok(replaces)
}

/// `name`, `db.name`, and what may stand after it. A table that is being attached may be called `_`.
fn table_name(cursor: &mut Cursor) -> Result<(Option<String>, String), TableError> {
    let mut database = None;
    let mut name = cursor.expect_name("the table's name")?;
    if cursor.take_symbol(".") {
        database = Some(name);
        name = cursor.expect_name("the table's name")?;
    }
    loop {
        if cursor.take_words(&["UUID"]) {
            cursor.expect_text("a UUID in quotes")?;
        } else if cursor.take_words(&["ON", "CLUSTER"]) {
            if cursor.peek().kind == Kind::Text {
                cursor.advance();
            } else {
                cursor.expect_name("the cluster's name")?;
            }
        } else if cursor.take_words(&["FROM"]) {
            cursor.expect_text("a path in quotes")?;
        } else {
            return Ok((database, name));
        }
    }
}

/// `( column, …, INDEX …, PRIMARY KEY … )`: the primary key if it is in there.
fn column_list(
    cursor: &mut Cursor,
    definition: &mut TableDefinition,
) -> Result<Vec<Expression>, TableError> {
    let mut primary_key = Vec::new();
    cursor.expect_symbol("(")?;
    loop {
        let starts_element =
            ["INDEX", "CONSTRAINT", "PROJECTION"].iter().any(|word| cursor.at_word(word))
                && matches!(cursor.peek_ahead(1).kind, Kind::Word | Kind::Quoted)
                && is_element(cursor);
        if starts_element {
            let text =
                cursor.skip_until(|cursor| cursor.at_symbol(",") || cursor.at_symbol(")"))?;
            definition.clauses.elements.push(text.to_owned());
        } else if cursor.at_words(&["PRIMARY", "KEY"]) {
            cursor.expect_words(&["PRIMARY", "KEY"])?;
            primary_key = Expression::read_key(cursor)?;
        } else {
            let is_key = column(cursor, definition)?;
            if let (true, Some(last)) = (is_key, definition.columns.last()) {
                primary_key.push(Expression::Column(last.column.name.clone()));
            }
        }
        if !cursor.take_symbol(",") {
            break;
        }
        if cursor.at_symbol(")") {
            break;
        }
    }
    cursor.expect_symbol(")")?;
    Ok(primary_key)
}

/// Tells `INDEX i x TYPE minmax` from a column that is called `index`.
fn is_element(cursor: &Cursor) -> bool {
    let third = cursor.peek_ahead(2);
    let text = cursor.text(third);
    let is_open = third.kind == Kind::Symbol && text == "(";
    match cursor.text(cursor.peek()).to_ascii_uppercase().as_str() {
        "INDEX" => !matches!(third.kind, Kind::Symbol | Kind::End) || is_open,
        "CONSTRAINT" => ["CHECK", "ASSUME"].iter().any(|word| text.eq_ignore_ascii_case(word)),
        _ => is_open || text.eq_ignore_ascii_case("INDEX"),
    }
}

/// One column with its clauses; true if `PRIMARY KEY` stands after it.
fn column(cursor: &mut Cursor, definition: &mut TableDefinition) -> Result<bool, TableError> {
    let name = column_name(cursor)?;
    let text = data_type_text(cursor, &name)?;
    let (columns, is_key) = column_of(cursor, &name, text, |_| false)?;
    if !cursor.at_symbol(",") && !cursor.at_symbol(")") {
        return Err(cursor.expected("`,` or `)`"));
    }
    let (stored, unstored): (Vec<_>, Vec<_>) =
        columns.into_iter().partition(|column| column.clauses.kind.is_stored());
    definition.columns.extend(stored);
    definition.unstored.extend(unstored);
    Ok(is_key)
}

/// The name of a column; that of a Nested's has a dot.
pub(super) fn column_name(cursor: &mut Cursor) -> Result<String, TableError> {
    let mut name = cursor.expect_name("a column")?;
    while cursor.take_symbol(".") {
        name = format!("{name}.{}", cursor.expect_name("a column")?);
    }
    Ok(name)
}

/// What stands after a column's name and type, up to where `is_end` says; several columns of a Nested. True if `PRIMARY KEY` is
/// among the clauses.
pub(super) fn column_of(
    cursor: &mut Cursor,
    name: &str,
    type_text: &str,
    is_end: fn(&Cursor) -> bool,
) -> Result<(Vec<ColumnDefinition>, bool), TableError> {
    let mut clauses = ColumnDefinition::new(name, DataType::String);
    let mut nullable = None;
    let mut is_key = false;
    while let Some(word) = clause_word(cursor) {
        let place = (name, word);
        column_clause(cursor, place, &mut clauses, &mut nullable, &mut is_key, is_end)?;
    }
    if nullable == Some(false) && clauses.clauses.default.as_ref().is_some_and(|it| is_null(it)) {
        return Err(TableError::Definition {
            clause: format!("column `{name}`"),
            problem: "its DEFAULT is NULL, and it is NOT NULL".to_owned(),
        });
    }
    clauses.clauses.aggregate = aggregate_of(type_text);
    let mut columns = Vec::new();
    // What a server has taken apart, it keeps as several columns.
    let expanded = if cursor.is_kept() {
        vec![(String::new(), type_text.to_owned())]
    } else {
        expand(name, type_text)?
    };
    for (suffix, text) in expanded {
        let cause = |cause| TableError::Type { column: format!("{name}{suffix}"), cause };
        let parsed: Result<DataType, _> = text.parse();
        let mut data_type =
            parsed.or_else(|error| DataType::foreign(&text).ok_or(error)).map_err(cause)?;
        if nullable == Some(true) {
            data_type = make_nullable(name, data_type)?;
        }
        let mut column = clauses.clone();
        column.column.name = format!("{name}{suffix}");
        column.column.data_type = data_type;
        columns.push(column);
    }
    Ok((columns, is_key))
}

/// The function of `SimpleAggregateFunction(f, T)`, with its parameters.
fn aggregate_of(type_text: &str) -> Option<String> {
    let rest = type_text.trim().strip_prefix("SimpleAggregateFunction")?;
    let rest = rest.trim_start().strip_prefix('(')?;
    let mut depth = 0_usize;
    let end = rest.find(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })?;
    rest.get(..end).map(|function| function.trim().to_owned())
}

/// Words that may follow the first of a type.
const TYPE_WORDS: &[&str] =
    &["PRECISION", "VARYING", "LARGE", "OBJECT", "UNSIGNED", "SIGNED", "CHARACTER"];

/// The text of a type: a word or several (`DOUBLE PRECISION`), and what stands in parentheses.
pub(super) fn data_type_text<'a>(
    cursor: &mut Cursor<'a>,
    column: &str,
) -> Result<&'a str, TableError> {
    let start = cursor.peek();
    if start.kind != Kind::Word || clause_word(cursor).is_some() {
        return Err(cursor.expected(&format!("the type of column `{column}`")));
    }
    cursor.advance();
    while cursor.at_any_word(TYPE_WORDS) {
        cursor.advance();
    }
    if cursor.at_symbol("(") {
        cursor.balanced()?;
    }
    while cursor.at_any_word(TYPE_WORDS) {
        cursor.advance();
    }
    Ok(cursor.since(start.start))
}

/// `Nested(a T, b U)` as suffixes with array types; any other type as it is.
fn expand(column: &str, text: &str) -> Result<Vec<(String, String)>, TableError> {
    let cause = |cause| TableError::Type { column: column.to_owned(), cause };
    Ok(match nested_elements(text).map_err(cause)? {
        Some(elements) => elements
            .into_iter()
            .map(|(name, data_type)| (format!(".{name}"), format!("Array({data_type})")))
            .collect(),
        None => vec![(String::new(), text.to_owned())],
    })
}

/// True for `NULL` and `(NULL)`.
fn is_null(expression: &str) -> bool {
    let is_around = |it: char| it.is_whitespace() || matches!(it, '(' | ')');
    expression.trim_matches(is_around).eq_ignore_ascii_case("null")
}

/// Makes columns Nullable whose DEFAULT is NULL.
pub(super) fn allow_nulls(definition: &mut TableDefinition) -> Result<(), TableError> {
    for column in &mut definition.columns {
        let is_default = column.clauses.kind == ColumnKind::Given;
        let data_type = &column.column.data_type;
        if !is_default
            || !column.clauses.default.as_ref().is_some_and(|it| is_null(it))
            || data_type.is_nullable()
        {
            continue;
        }
        if matches!(data_type, DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) {
            return Err(TableError::Definition {
                clause: format!("column `{}`", column.column.name),
                problem: format!("its DEFAULT is NULL, which {data_type} does not have"),
            });
        }
        column.column.data_type = make_nullable(&column.column.name, data_type.clone())?;
    }
    Ok(())
}

fn make_nullable(column: &str, data_type: DataType) -> Result<DataType, TableError> {
    match data_type {
        DataType::Nullable(_) => Err(TableError::Definition {
            clause: format!("column `{column}`"),
            problem: "NULL beside a Nullable type".to_owned(),
        }),
        DataType::LowCardinality(inner) => {
            Ok(DataType::LowCardinality(Box::new(make_nullable(column, *inner)?)))
        }
        plain => Ok(DataType::Nullable(Box::new(plain))),
    }
}

/// Words that begin a clause of a column.
const COLUMN_CLAUSES: &[&str] = &[
    "NULL",
    "NOT",
    "DEFAULT",
    "MATERIALIZED",
    "ALIAS",
    "EPHEMERAL",
    "AUTO_INCREMENT",
    "COMMENT",
    "CODEC",
    "TTL",
    "STATISTICS",
    "SETTINGS",
    "PRIMARY",
    "COLLATE",
];

pub(super) fn clause_word(cursor: &Cursor) -> Option<&'static str> {
    COLUMN_CLAUSES.iter().find(|word| cursor.at_word(word)).copied()
}

fn column_clause(
    cursor: &mut Cursor,
    (name, word): (&str, &'static str),
    column: &mut ColumnDefinition,
    nullable: &mut Option<bool>,
    is_key: &mut bool,
    is_end: fn(&Cursor) -> bool,
) -> Result<(), TableError> {
    cursor.advance();
    match word {
        "NULL" => *nullable = Some(true),
        "NOT" => {
            cursor.expect_words(&["NULL"])?;
            *nullable = Some(false);
        }
        "DEFAULT" | "MATERIALIZED" | "ALIAS" | "EPHEMERAL"
            if column.clauses.default.is_some() || column.clauses.kind != ColumnKind::Given =>
        {
            return Err(TableError::Definition {
                clause: format!("column `{name}`"),
                problem: format!("{word} beside {}", column.clauses.kind.word()),
            });
        }
        "DEFAULT" => column.clauses.default = Some(clause_text(cursor, "an expression", is_end)?),
        "MATERIALIZED" | "ALIAS" => {
            let is_alias = word == "ALIAS";
            column.clauses.kind =
                if is_alias { ColumnKind::Alias } else { ColumnKind::Materialized };
            column.clauses.default = Some(clause_text(cursor, "an expression", is_end)?);
        }
        "EPHEMERAL" => {
            column.clauses.kind = ColumnKind::Ephemeral;
            let is_bare = is_end(cursor) || cursor.at_symbol(",") || cursor.at_symbol(")");
            if !is_bare && clause_word(cursor).is_none() {
                column.clauses.default = Some(clause_text(cursor, "an expression", is_end)?);
            }
        }
        "COMMENT" => column.comment = Some(cursor.expect_text("a comment in quotes")?),
        "CODEC" => {
            let cause = |cause| TableError::Codec { column: name.to_owned(), cause };
            let text = cursor.balanced()?;
            // `Default` stands for the server's choice, as if nothing were written.
            let is_default = text.eq_ignore_ascii_case("default");
            column.codec = if is_default { None } else { Some(text.parse().map_err(cause)?) };
        }
        "TTL" => column.clauses.ttl = Some(clause_text(cursor, "an expression", is_end)?),
        "STATISTICS" => column.clauses.statistics = Some(cursor.balanced()?.to_owned()),
        "SETTINGS" => column.clauses.settings = Some(cursor.balanced()?.to_owned()),
        "PRIMARY" => {
            cursor.expect_words(&["KEY"])?;
            *is_key = true;
        }
        "COLLATE" => {
            return Err(refused(
                &format!("COLLATE of column `{name}`"),
                "texts are sorted by their bytes",
            ));
        }
        "AUTO_INCREMENT" => {
            return Err(refused(
                &format!("AUTO_INCREMENT of column `{name}`"),
                "every value must be given",
            ));
        }
        _ => {
            let reason = "parts hold every column as it is; name a type and give the values";
            return Err(refused(&format!("{word} of column `{name}`"), reason));
        }
    }
    Ok(())
}

/// An expression that is kept as text: up to the next clause or the end of the column.
fn clause_text(
    cursor: &mut Cursor,
    what: &str,
    is_last: fn(&Cursor) -> bool,
) -> Result<String, TableError> {
    let is_end = |cursor: &Cursor| {
        is_last(cursor)
            || cursor.at_symbol(",")
            || cursor.at_symbol(")")
            // `DEFAULT NULL` and `DEFAULT x IS NOT NULL` are expressions.
            || clause_word(cursor).is_some_and(|word| !matches!(word, "NULL" | "NOT"))
    };
    let text = cursor.skip_until(is_end)?;
    if text.is_empty() { Err(cursor.expected(what)) } else { Ok(text.to_owned()) }
}

/// `ENGINE = …` and all that follows the list of columns, in any order.
fn table_clauses(
    cursor: &mut Cursor,
    definition: &mut TableDefinition,
    inline_key: Vec<Expression>,
    keys: Keys,
) -> Result<(), TableError> {
    let mut order_by = None;
    let mut primary_key = (!inline_key.is_empty()).then_some(inline_key);
    loop {
        if cursor.take_words(&["ENGINE"]) {
            cursor.take_symbol("=");
            let (name, old) = engine(cursor)?;
            definition.clauses.engine = name;
            if let Some(old) = old {
                order_by = Some(old.key);
                definition.partition_by = vec![old.month];
                definition.clauses.sample_by = old.sample;
                definition.settings.push(("index_granularity".to_owned(), old.granularity));
            }
        } else if keys == Keys::PassOver && takes_key(cursor) {
            table_clause_text(cursor)?;
        } else if cursor.take_words(&["PARTITION", "BY"]) {
            let key = Expression::read_key(cursor)?;
            definition.partition_by = key.into_iter().map(Expression::for_partition).collect();
        } else if cursor.take_words(&["ORDER", "BY"]) {
            order_by = Some(sorting_key(cursor)?);
        } else if cursor.take_words(&["PRIMARY", "KEY"]) {
            primary_key = Some(sorting_key(cursor)?);
        } else if cursor.take_words(&["SAMPLE", "BY"]) {
            definition.clauses.sample_by = Some(table_clause_text(cursor)?);
        } else if cursor.take_words(&["TTL"]) {
            definition.clauses.ttl = Some(table_clause_text(cursor)?);
        } else if cursor.take_words(&["SETTINGS"]) {
            settings(cursor, definition)?;
        } else if cursor.take_words(&["COMMENT"]) {
            definition.clauses.comment = Some(cursor.expect_text("a comment in quotes")?);
        } else {
            break;
        }
    }
    definition.order_by = order_by.or_else(|| primary_key.clone()).unwrap_or_default();
    definition.primary_key = primary_key.unwrap_or_else(|| definition.order_by.clone());
    Ok(())
}

fn takes_key(cursor: &mut Cursor) -> bool {
    let clauses: [&[&str]; 3] = [&["PARTITION", "BY"], &["ORDER", "BY"], &["PRIMARY", "KEY"]];
    clauses.into_iter().any(|words| cursor.take_words(words))
}

/// A sorting key, with commas outside of parentheses too.
fn sorting_key(cursor: &mut Cursor) -> Result<Vec<Expression>, TableError> {
    let mut key = Expression::read_key(cursor)?;
    while cursor.take_symbol(",") {
        key.extend(Expression::read_key(cursor)?);
    }
    Ok(key)
}

/// The engine, `None` for plain `MergeTree`, and the keys that it has in the syntax before 2018.
fn engine(cursor: &mut Cursor) -> Result<(Option<String>, Option<OldSyntax>), TableError> {
    let start = cursor.peek();
    let name = cursor.expect_name("an engine")?;
    if !name.ends_with("MergeTree") {
        return Err(refused(
            &format!("ENGINE = {name}"),
            "only the engines of the MergeTree family have parts",
        ));
    }
    let mark = cursor.mark();
    if let Some(old) = OldSyntax::read(cursor) {
        let engine = match (name.as_str(), old.rest.as_str()) {
            ("MergeTree", _) => None,
            (_, rest) => Some(format!("{name}({rest})")),
        };
        return Ok((engine, Some(old)));
    }
    cursor.reset(mark);
    let arguments = if cursor.at_symbol("(") { cursor.balanced()? } else { "" };
    if name != "MergeTree" {
        return Ok((Some(cursor.since(start.start).to_owned()), None));
    }
    match arguments {
        "" => Ok((None, None)),
        _ => Err(refused(
            &format!("MergeTree({arguments})"),
            "what may stand here is a date, a key and the rows of a granule, as before 2018",
        )),
    }
}

/// `(date, [sample,] key, granularity, …)`: what the engine's parentheses said before there were clauses.
struct OldSyntax {
    /// `toYYYYMM(date)`, by which such tables are always partitioned.
    month: Expression,
    sample: Option<String>,
    key: Vec<Expression>,
    granularity: String,
    /// What the engine itself takes, such as columns to sum.
    rest: String,
}

impl OldSyntax {
    /// `None` for anything else; the cursor is then anywhere.
    fn read(cursor: &mut Cursor) -> Option<Self> {
        cursor.expect_symbol("(").ok()?;
        let date = cursor.expect_name("a column").ok()?;
        cursor.expect_symbol(",").ok()?;
        let start = cursor.peek().start;
        let mut key = Expression::read_key(cursor).ok()?;
        let mut sample = None;
        let first = cursor.since(start).to_owned();
        cursor.expect_symbol(",").ok()?;
        if cursor.peek().kind != Kind::Number {
            sample = Some(first);
            key = Expression::read_key(cursor).ok()?;
            cursor.expect_symbol(",").ok()?;
        }
        let number = cursor.advance();
        let granularity = cursor.text(number).to_owned();
        let is_count = number.kind == Kind::Number && granularity.parse::<u64>().is_ok();
        let rest = if cursor.take_symbol(",") {
            cursor.skip_until(|cursor| cursor.at_symbol(")")).ok()?.to_owned()
        } else {
            String::new()
        };
        cursor.expect_symbol(")").ok()?;
        let (function, arguments) = ("toYYYYMM".to_owned(), vec![Expression::Column(date)]);
        let month = Expression::Call { function, arguments };
        is_count.then_some(Self { month, sample, key, granularity, rest })
    }
}

/// Words that begin a clause of a table.
const TABLE_CLAUSES: &[&str] = &[
    "ENGINE",
    "PARTITION",
    "ORDER",
    "PRIMARY",
    "SAMPLE",
    "TTL",
    "SETTINGS",
    "COMMENT",
    "AS",
    "EMPTY",
];

/// An expression that is kept as text: up to the next clause.
fn table_clause_text(cursor: &mut Cursor) -> Result<String, TableError> {
    let text =
        cursor.skip_until(|cursor| cursor.at_any_word(TABLE_CLAUSES) || cursor.at_symbol(";"))?;
    if text.is_empty() { Err(cursor.expected("an expression")) } else { Ok(text.to_owned()) }
}

/// `name = value, …`
fn settings(cursor: &mut Cursor, definition: &mut TableDefinition) -> Result<(), TableError> {
    loop {
        definition.settings.push(setting(cursor)?);
        if !cursor.take_symbol(",") {
            return Ok(());
        }
    }
}

/// `name = value`
pub(super) fn setting(cursor: &mut Cursor) -> Result<(String, String), TableError> {
    let name = cursor.expect_name("a setting")?;
    cursor.expect_symbol("=")?;
    let token = cursor.peek();
    let value = match token.kind {
        Kind::Text => cursor.expect_text("a value")?,
        Kind::Number | Kind::Word => {
            cursor.advance();
            let value = cursor.text(token).to_owned();
            // `disk = disk(type = s3, …)` says where a server keeps the parts.
            if cursor.at_symbol("(") {
                cursor.balanced()?;
                cursor.since(token.start).to_owned()
            } else {
                value
            }
        }
        Kind::Symbol if cursor.at_symbol("-") => {
            cursor.advance();
            cursor.advance();
            cursor.since(token.start).to_owned()
        }
        _ => return Err(cursor.expected("a value")),
    };
    Ok((name, value))
}

fn refused(clause: &str, reason: &str) -> TableError {
    TableError::Refused { clause: clause.to_owned(), reason: reason.to_owned() }
}
