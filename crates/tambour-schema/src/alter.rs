//! The statement ALTER TABLE: parsing only. `tambour_table::alter` carries out what concerns columns.

pub use super::elements::{ElementAction, ElementKind};
pub use super::parts::{PartsAction, Selection};
pub use super::rows::RowsAction;

use super::create::{clause_word, column_name, column_of, data_type_text};
use super::expression::Expression;
use super::token::{Cursor, Kind};
use super::{ColumnDefinition, TableDefinition, elements, parts, rows};
use crate::TableError;
use tambour_part::types::DataType;

/// A statement `ALTER TABLE t …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alteration {
    /// The database, if the statement names one.
    pub database: Option<String>,
    /// The table.
    pub table: String,
    /// What happens, in this order.
    pub commands: Vec<Alter>,
    /// The commands as they were written.
    pub text: String,
    /// Where they begin in the statement.
    pub start: usize,
}

/// One command of ALTER TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alter {
    /// `IF EXISTS` of the column, or `IF NOT EXISTS` of one that is added.
    pub is_optional: bool,
    /// What it does.
    pub action: Action,
}

/// What a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `ADD COLUMN`: one column, or the several ones of a Nested.
    Add(Vec<ColumnDefinition>, Option<Spot>),
    /// `DROP COLUMN`.
    Drop(String),
    /// `CLEAR COLUMN`: every row has the default again, or those of a partition have.
    Clear(String, Option<Selection>),
    /// `RENAME COLUMN a TO b`.
    Rename(String, String),
    /// `MODIFY COLUMN`: what it names takes the place of what there was.
    Modify(Box<Modification>),
    /// `MODIFY COLUMN c REMOVE …`.
    Remove(String, Property),
    /// `MODIFY COMMENT`: of the table.
    TableComment(String),
    /// `MODIFY TTL` and, without any, `REMOVE TTL`: of the table.
    Ttl(Option<String>),
    /// `MODIFY ORDER BY`.
    OrderBy(Vec<Expression>),
    /// Constraints, skip indexes, projections and settings.
    Element(ElementAction),
    /// Parts as a whole.
    Parts(PartsAction),
    /// Rows of parts.
    Rows(RowsAction),
}

/// What `MODIFY COLUMN` and `COMMENT COLUMN` say of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modification {
    /// The new type, if there is one.
    pub data_type: Option<DataType>,
    /// The name, and the clauses that are given; its type counts for nothing.
    pub column: ColumnDefinition,
    /// Where it goes.
    pub spot: Option<Spot>,
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    /// `FIRST`.
    First,
    /// `AFTER` another one.
    After(String),
}

/// A clause of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// `DEFAULT …`.
    Default,
    /// `MATERIALIZED …`.
    Materialized,
    /// `COMMENT …`.
    Comment,
    /// `CODEC(…)`.
    Codec,
    /// `TTL …`.
    Ttl,
    /// `SETTINGS (…)`.
    Settings,
}

impl Alteration {
    /// Parses a statement; `None` if it is another one.
    ///
    /// ```
    /// use tambour_schema::alter::Alteration;
    /// let statement = Alteration::parse("ALTER TABLE hits ADD COLUMN size UInt32 DEFAULT 1 AFTER page")?;
    /// assert_eq!(statement.map(|it| it.commands.len()), Some(1));
    /// # Ok::<(), tambour_schema::TableError>(())
    /// ```
    pub fn parse(sql: &str) -> Result<Option<Self>, TableError> {
        let mut cursor = Cursor::new(sql)?;
        if !cursor.take_words(&["ALTER", "TABLE"]) {
            return Ok(None);
        }
        let mut database = None;
        let mut table = cursor.expect_name("the table's name")?;
        if cursor.take_symbol(".") {
            database = Some(table);
            table = cursor.expect_name("the table's name")?;
        }
        if cursor.at_words(&["ON", "CLUSTER"]) {
            return Err(refused(
                "ALTER TABLE ... ON CLUSTER",
                "the table is in a directory: leave it out",
            ));
        }
        let start = cursor.peek().start;
        let mut commands = Vec::new();
        loop {
            commands.push(command(&mut cursor)?);
            if !cursor.take_symbol(",") {
                break;
            }
        }
        let text = cursor.since(start).to_owned();
        cursor.expect_end()?;
        Ok(Some(Self { database, table, commands, text, start }))
    }
}

/// `SETTINGS name = value, …` at the end of a statement that begins with one of these words: where it begins, names and values.
pub fn settings(sql: &str, words: &[&str]) -> Option<(usize, Vec<(String, String)>)> {
    let start = sql.trim_start();
    let begins =
        |word: &&str| start.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
    let is_comment = ["--", "/*"].iter().any(|comment| start.starts_with(comment));
    if !is_comment && !words.iter().any(begins) {
        return None;
    }
    let mut cursor = Cursor::new(sql).ok()?;
    if !cursor.at_any_word(words) {
        return None;
    }
    loop {
        let is_list = |cursor: &Cursor| {
            let (name, sign) = (cursor.peek_ahead(1), cursor.peek_ahead(2));
            cursor.at_word("SETTINGS") && name.kind == Kind::Word && cursor.text(sign) == "="
        };
        cursor.skip_until(is_list).ok()?;
        let start = cursor.peek().start;
        if !cursor.take_words(&["SETTINGS"]) {
            return None;
        }
        let mut settings = Vec::new();
        loop {
            let name = cursor.expect_name("a setting").ok()?;
            cursor.expect_symbol("=").ok()?;
            let value = cursor.advance();
            settings.push((name, cursor.text(value).to_owned()));
            if !cursor.take_symbol(",") {
                break;
            }
        }
        if cursor.expect_end().is_ok() {
            return Some((start, settings));
        }
    }
}

fn command(cursor: &mut Cursor) -> Result<Alter, TableError> {
    if cursor.take_symbol("(") {
        let command = command(cursor)?;
        cursor.expect_symbol(")")?;
        return Ok(command);
    }
    if cursor.take_words(&["ADD", "COLUMN"]) {
        let is_optional = optional(cursor, &["NOT", "EXISTS"])?;
        let name = column_name(cursor)?;
        let text = data_type_text(cursor, &name)?;
        let (columns, is_key) = column_of(cursor, &name, text, at_spot)?;
        if is_key {
            return Err(refused(
                "PRIMARY KEY of a column that is added",
                "parts are sorted already",
            ));
        }
        let spot = spot(cursor)?;
        return Ok(Alter { is_optional, action: Action::Add(columns, spot) });
    }
    if let Some(action) = of_table(cursor)? {
        return Ok(Alter { is_optional: false, action });
    }
    if let Some((action, is_optional)) = elements::command(cursor)? {
        return Ok(Alter { is_optional, action: Action::Element(action) });
    }
    if let Some(action) = parts::command(cursor)? {
        return Ok(Alter { is_optional: false, action: Action::Parts(action) });
    }
    if let Some(action) = rows::command(cursor)? {
        return Ok(Alter { is_optional: false, action: Action::Rows(action) });
    }
    let verbs = ["DROP", "CLEAR", "RENAME", "MODIFY", "ALTER", "COMMENT"];
    let verb = verbs.into_iter().find(|verb| cursor.at_words(&[verb, "COLUMN"]));
    let Some(verb) = verb else { return Err(unknown(cursor)) };
    cursor.expect_words(&[verb, "COLUMN"])?;
    let is_optional = optional(cursor, &["EXISTS"])?;
    let name = column_name(cursor)?;
    let action = match verb {
        "DROP" | "CLEAR" => {
            if verb == "DROP" {
                Action::Drop(name)
            } else {
                let is_of_some = cursor.take_words(&["IN"]);
                let some = is_of_some.then(|| parts::selection(cursor)).transpose()?;
                Action::Clear(name, some)
            }
        }
        "RENAME" => {
            cursor.expect_words(&["TO"])?;
            Action::Rename(name, column_name(cursor)?)
        }
        "COMMENT" => {
            let mut column = ColumnDefinition::new(name, DataType::String);
            column.comment = Some(cursor.expect_text("a comment in quotes")?);
            Action::Modify(Box::new(Modification { data_type: None, column, spot: None }))
        }
        _ => modify(cursor, name)?,
    };
    Ok(Alter { is_optional, action })
}

/// The error of words that begin no command.
fn unknown(cursor: &mut Cursor) -> TableError {
    if cursor.peek().kind != Kind::Word {
        return cursor.expected("a command");
    }
    let start = cursor.peek().start;
    cursor.advance();
    if cursor.peek().kind == Kind::Word {
        cursor.advance();
    }
    refused(
        &format!("ALTER TABLE ... {}", cursor.since(start)),
        "it takes ADD, DROP, CLEAR, RENAME, MODIFY and COMMENT COLUMN, ADD and DROP CONSTRAINT, INDEX and PROJECTION, \
         MODIFY and RESET SETTING, MODIFY COMMENT, TTL and ORDER BY, REMOVE TTL, DROP, DETACH and ATTACH PART and PARTITION, REPLACE and MOVE PARTITION, DELETE and UPDATE, MATERIALIZE COLUMN and TTL, APPLY DELETED MASK",
    )
}

/// A command about the table's own clauses.
fn of_table(cursor: &mut Cursor) -> Result<Option<Action>, TableError> {
    if cursor.take_words(&["MODIFY", "COMMENT"]) {
        return cursor.expect_text("a comment in quotes").map(Action::TableComment).map(Some);
    }
    if cursor.take_words(&["REMOVE", "TTL"]) {
        return Ok(Some(Action::Ttl(None)));
    }
    if cursor.take_words(&["MODIFY", "ORDER", "BY"]) {
        return Expression::read_key(cursor).map(Action::OrderBy).map(Some);
    }
    if !cursor.take_words(&["MODIFY", "TTL"]) {
        return Ok(None);
    }
    // It may have commas; what begins another command ends it.
    let verbs = [
        "ADD",
        "DROP",
        "CLEAR",
        "RENAME",
        "MODIFY",
        "COMMENT",
        "REMOVE",
        "UPDATE",
        "MATERIALIZE",
        "APPLY",
    ];
    let is_verb = |text: &str| verbs.iter().any(|verb| verb.eq_ignore_ascii_case(text));
    let text = cursor.skip_until(|cursor| {
        let next = cursor.peek_ahead(1);
        let is_command = next.kind == Kind::Word && is_verb(cursor.text(next));
        cursor.at_symbol(";") || cursor.at_symbol(",") && is_command
    })?;
    if text.is_empty() {
        return Err(cursor.expected("an expression"));
    }
    Ok(Some(Action::Ttl(Some(text.to_owned()))))
}

/// What stands after `MODIFY COLUMN name`.
fn modify(cursor: &mut Cursor, name: String) -> Result<Action, TableError> {
    if cursor.take_words(&["REMOVE"]) {
        let properties = [
            ("DEFAULT", Property::Default),
            ("MATERIALIZED", Property::Materialized),
            ("COMMENT", Property::Comment),
            ("CODEC", Property::Codec),
            ("TTL", Property::Ttl),
            ("SETTINGS", Property::Settings),
        ];
        let found = properties.into_iter().find(|(word, _)| cursor.take_words(&[word]));
        let Some((_, property)) = found else {
            return Err(cursor.expected("DEFAULT, MATERIALIZED, COMMENT, CODEC, TTL or SETTINGS"));
        };
        return Ok(Action::Remove(name, property));
    }
    let is_typed = cursor.take_words(&["TYPE"])
        || !(clause_word(cursor).is_some_and(|word| word != "NULL" && word != "NOT")
            || at_spot(cursor));
    let text = if is_typed { data_type_text(cursor, &name)? } else { "String" };
    let (columns, _) = column_of(cursor, &name, text, at_spot)?;
    let spot = spot(cursor)?;
    let Ok([column]) = <[ColumnDefinition; 1]>::try_from(columns) else {
        return Err(refused("MODIFY COLUMN to a Nested", "name its columns one by one"));
    };
    let data_type = is_typed.then(|| column.column.data_type.clone());
    Ok(Action::Modify(Box::new(Modification { data_type, column, spot })))
}

/// `IF EXISTS` or `IF NOT EXISTS`.
pub(super) fn optional(cursor: &mut Cursor, words: &[&str]) -> Result<bool, TableError> {
    // `if` is a name, too.
    if !(cursor.at_word("IF") && words.iter().any(|word| cursor.at_words(&["IF", word]))) {
        return Ok(false);
    }
    cursor.expect_words(&["IF"])?;
    cursor.expect_words(words)?;
    Ok(true)
}

/// True at `FIRST` and `AFTER name`, where these end a command.
pub(super) fn at_spot(cursor: &Cursor) -> bool {
    let ends = |ahead: usize| {
        let token = cursor.peek_ahead(ahead);
        token.kind == Kind::End || matches!(cursor.text(token), "," | ";" | ")")
    };
    let is_named = || matches!(cursor.peek_ahead(1).kind, Kind::Word | Kind::Quoted);
    cursor.at_word("FIRST") && ends(1) || cursor.at_word("AFTER") && is_named()
}

pub(super) fn spot(cursor: &mut Cursor) -> Result<Option<Spot>, TableError> {
    if cursor.take_words(&["FIRST"]) {
        return Ok(Some(Spot::First));
    }
    if cursor.take_words(&["AFTER"]) {
        return Ok(Some(Spot::After(column_name(cursor)?)));
    }
    Ok(None)
}

/// A text in which `from` is called `to` wherever it is a name; nothing if it is not in there.
pub fn renamed(text: &str, from: &str, to: &str) -> Result<Option<String>, TableError> {
    let mut cursor = Cursor::new(text)?;
    let mut result = String::new();
    let mut copied = 0;
    loop {
        let token = cursor.peek();
        if token.kind == Kind::End {
            break;
        }
        let name = match token.kind {
            Kind::Word => cursor.text(token).to_owned(),
            Kind::Quoted => super::token::unquote(cursor.text(token)),
            _ => String::new(),
        };
        let next = cursor.peek_ahead(1);
        let is_call = next.kind == Kind::Symbol && cursor.text(next) == "(";
        if name == from && !is_call {
            result.push_str(text.get(copied..token.start).unwrap_or_default());
            result.push_str(&super::quoted_name(to));
            copied = token.end;
        }
        cursor.advance();
    }
    if copied == 0 {
        return Ok(None);
    }
    result.push_str(text.get(copied..).unwrap_or_default());
    Ok(Some(result))
}

/// The texts of a definition that may name columns and are kept as written, with what they are; the DEFAULTs apart.
pub fn texts(definition: &TableDefinition) -> Vec<(String, &str)> {
    let clauses = &definition.clauses;
    let mut texts: Vec<(String, &str)> =
        clauses.elements.iter().map(|text| (text.clone(), text.as_str())).collect();
    let tables =
        [("ENGINE", &clauses.engine), ("SAMPLE BY", &clauses.sample_by), ("TTL", &clauses.ttl)];
    texts.extend(tables.into_iter().filter_map(|(what, text)| {
        let text = text.as_deref()?;
        Some((what.to_owned(), text))
    }));
    for column in &definition.columns {
        if let Some(ttl) = &column.clauses.ttl {
            texts.push((format!("the TTL of `{}`", column.column.name), ttl));
        }
    }
    texts
}

pub(super) fn refused(clause: &str, reason: &str) -> TableError {
    TableError::Refused { clause: clause.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(sql: &str) -> Vec<Alter> {
        Alteration::parse(sql).unwrap().unwrap().commands
    }

    #[test]
    fn commands_are_read() {
        let commands = parse(
            "ALTER TABLE db.t ADD COLUMN IF NOT EXISTS a UInt8 DEFAULT x + first COMMENT 'c' AFTER b, \
             MODIFY COLUMN c Nullable(String) FIRST, MODIFY COLUMN d DEFAULT 5, DROP COLUMN IF EXISTS e, \
             RENAME COLUMN n.a TO n.b, COMMENT COLUMN f 'g', MODIFY COLUMN h REMOVE DEFAULT;",
        );
        let Action::Add(columns, Some(Spot::After(after))) = &commands[0].action else { panic!() };
        assert_eq!(columns[0].to_string(), "`a` UInt8 DEFAULT x + first COMMENT 'c'");
        assert_eq!(after, "b");
        assert!(commands[0].is_optional && commands[3].is_optional && !commands[1].is_optional);
        let Action::Modify(typed) = &commands[1].action else { panic!() };
        assert_eq!(typed.data_type.as_ref().unwrap().to_string(), "Nullable(String)");
        assert_eq!(typed.spot, Some(Spot::First));
        let Action::Modify(untyped) = &commands[2].action else { panic!() };
        assert_eq!(untyped.data_type, None);
        assert_eq!(untyped.column.clauses.default.as_deref(), Some("5"));
        assert_eq!(commands[4].action, Action::Rename("n.a".to_owned(), "n.b".to_owned()));
        assert_eq!(commands[6].action, Action::Remove("h".to_owned(), Property::Default));
    }

    #[test]
    fn commands_are_kept_as_they_were_written() {
        let text = "ADD COLUMN `t` UInt8, DROP  COLUMN e";
        for table in ["t", "`A`.t", "db . `ALTER`"] {
            let sql = format!("alter table {table} {text} ;;");
            assert_eq!(Alteration::parse(&sql).unwrap().unwrap().text, text, "{sql}");
        }
    }

    #[test]
    fn clauses_of_the_table_are_read() {
        let commands = parse(
            "ALTER TABLE t ADD COLUMN c UInt8, MODIFY ORDER BY (k, c), MODIFY TTL d + INTERVAL 1 DAY, \
             e + toIntervalDay(2), MODIFY COMMENT 'x', REMOVE TTL",
        );
        let Action::OrderBy(key) = &commands[1].action else { panic!() };
        assert_eq!(key.len(), 2);
        let ttl = "d + INTERVAL 1 DAY, e + toIntervalDay(2)".to_owned();
        assert_eq!(commands[2].action, Action::Ttl(Some(ttl)));
        assert_eq!(commands[4].action, Action::Ttl(None));
        assert!(Alteration::parse("ALTER TABLE t MODIFY TTL").is_err());
    }

    #[test]
    fn other_statements_are_told_apart() {
        assert_eq!(Alteration::parse("SELECT 1").unwrap(), None);
        for bad in
            ["ALTER TABLE t ADD COLUMN a", "ALTER TABLE t FREEZE", "ALTER TABLE t DROP COLUMN a b"]
        {
            assert!(Alteration::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_change_in_texts_and_functions_do_not() {
        let renamed = |text| renamed(text, "length", "n").unwrap();
        assert_eq!(renamed("length(s) + length").as_deref(), Some("length(s) + n"));
        assert_eq!(renamed("'length' || s"), None);
    }
}
