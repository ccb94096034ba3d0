//! What a table is: columns, codecs, keys, settings; ClickHouse's CREATE TABLE, parsed and printed.
//!
//! A statement goes from [`token`] (words with their places) through [`create`] (clauses) and [`check`] (does it make
//! sense) to a [`TableDefinition`]; [`print`] is the way back. Keys are [`expression::Expression`]s, computed by the
//! functions of [`tambour_function`]. What can be wrong, with a table's files too, is a [`TableError`].
#![forbid(unsafe_code)]

pub mod alter;
mod check;
mod create;
pub mod elements;
mod error;
pub mod expression;
mod index;
pub mod moment;
mod parts;
mod permit;
mod print;
mod rows;
mod setting;
mod sort;
pub mod token;

use create::Keys;
pub use error::TableError;
use expression::Expression;
pub use index::{IndexDefinition, parse as parse_index};
pub use permit::permit;
pub use print::one_line;
pub use setting::{is_setting, similar_setting};
use tambour_codec::spec::CodecSpec;
use tambour_part::types::{Column, DataType};
pub use token::quoted_name;

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Name and type.
    pub column: Column,
    /// Its codec, if the statement names one.
    pub codec: Option<CodecSpec>,
    /// Its comment.
    pub comment: Option<String>,
    /// Clauses that do not concern the parts.
    pub clauses: ColumnClauses,
}

impl ColumnDefinition {
    /// A column without any clause.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self {
            column: Column { name: name.into(), data_type },
            codec: None,
            comment: None,
            clauses: ColumnClauses::default(),
        }
    }
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnKind {
    /// From whoever inserts rows, or from `DEFAULT`.
    #[default]
    Given,
    /// `MATERIALIZED`: always computed, and stored. `SELECT *` leaves it out.
    Materialized,
    /// `ALIAS`: computed when it is read, never stored.
    Alias,
    /// `EPHEMERAL`: for expressions of other columns during an INSERT; never stored, never read.
    Ephemeral,
}

impl ColumnKind {
    /// The word in front of the expression.
    pub fn word(self) -> &'static str {
        match self {
            Self::Given => "DEFAULT",
            Self::Materialized => "MATERIALIZED",
            Self::Alias => "ALIAS",
            Self::Ephemeral => "EPHEMERAL",
        }
    }
    /// True for columns that parts hold.
    pub fn is_stored(self) -> bool {
        matches!(self, Self::Given | Self::Materialized)
    }
}

/// Clauses of a column that are kept as written and printed again, but mean nothing here: parts hold every value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnClauses {
    /// The expression of DEFAULT, or of what stands in its place.
    pub default: Option<String>,
    /// What stands in the place of DEFAULT.
    pub kind: ColumnKind,
    /// What stands in STATISTICS(…).
    pub statistics: Option<String>,
    /// The expression of TTL.
    pub ttl: Option<String>,
    /// What stands in SETTINGS (…).
    pub settings: Option<String>,
    /// The function of `SimpleAggregateFunction(f, T)`, whose values are those of T.
    pub aggregate: Option<String>,
}

/// A table definition: the contents of a CREATE TABLE statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    /// The database, if the statement names one.
    pub database: Option<String>,
    /// The table's name.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<ColumnDefinition>,
    /// `ALIAS` and `EPHEMERAL` columns, which parts do not hold.
    pub unstored: Vec<ColumnDefinition>,
    /// ORDER BY expressions; empty for `tuple()`.
    pub order_by: Vec<Expression>,
    /// PRIMARY KEY expressions; a prefix of `order_by`, the same if not written.
    pub primary_key: Vec<Expression>,
    /// PARTITION BY expressions; empty for none.
    pub partition_by: Vec<Expression>,
    /// SETTINGS in order, as written (`index_granularity` = `8192`).
    pub settings: Vec<(String, String)>,
    /// Clauses that do not concern the parts.
    pub clauses: TableClauses,
}

/// The table of `CREATE TABLE … AS t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like {
    /// Its database, if the statement names one.
    pub database: Option<String>,
    /// Its name.
    pub name: String,
    /// The statement has an ENGINE of its own.
    pub has_engine: bool,
}

impl Like {
    /// A definition with the columns of this table, and with those of its clauses that it does not have itself.
    pub fn complete(
        &self,
        definition: TableDefinition,
        model: &TableDefinition,
    ) -> TableDefinition {
        let or = |own: Vec<Expression>, other: &Vec<Expression>| {
            if own.is_empty() { other.clone() } else { own }
        };
        let has_own_key = definition.primary_key != definition.order_by;
        let is_model_short = model.primary_key != model.order_by;
        let order_by = or(definition.order_by, &model.order_by);
        let primary_key = match (has_own_key, is_model_short) {
            (true, _) => definition.primary_key,
            (false, true) => model.primary_key.clone(),
            (false, false) => order_by.clone(),
        };
        let has_settings = !definition.settings.is_empty();
        let (own, other) = (definition.clauses, &model.clauses);
        TableDefinition {
            database: definition.database,
            name: definition.name,
            columns: model.columns.clone(),
            unstored: model.unstored.clone(),
            order_by,
            primary_key,
            partition_by: or(definition.partition_by, &model.partition_by),
            settings: if has_settings { definition.settings } else { model.settings.clone() },
            clauses: TableClauses {
                engine: if self.has_engine { own.engine } else { other.engine.clone() },
                elements: other.elements.clone(),
                sample_by: own.sample_by.or_else(|| other.sample_by.clone()),
                ttl: own.ttl.or_else(|| other.ttl.clone()),
                comment: own.comment.or_else(|| other.comment.clone()),
            },
        }
    }
}

/// A `CONSTRAINT … CHECK`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// What must be 1 for every row.
    pub expression: String,
}

/// A CREATE TABLE statement that may end with a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation<'a> {
    /// What is to be made. Without columns if only the query tells them; so it is not checked yet.
    pub definition: TableDefinition,
    /// `IF NOT EXISTS`.
    pub is_optional: bool,
    /// `OR REPLACE`.
    pub replaces: bool,
    /// The table after AS: what the statement does not say is as there.
    pub like: Option<Like>,
    /// `EMPTY AS`: the query tells the columns only.
    pub is_empty: bool,
    /// The query after AS.
    pub query: Option<&'a str>,
}

impl<'a> Creation<'a> {
    /// Parses `CREATE TABLE … [(columns)] [ENGINE = MergeTree …] [AS SELECT …]`, and `CREATE TABLE … AS t [ENGINE = MergeTree …]`.
    ///
    /// A column whose DEFAULT is NULL is Nullable, as in ClickHouse.
    pub fn parse(sql: &'a str) -> Result<Self, TableError> {
        let mut creation = create::parse_creation(sql, Keys::Read)?;
        create::allow_nulls(&mut creation.definition)?;
        Ok(creation)
    }
}

/// Clauses of a table that are kept as written and printed again, but mean nothing here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableClauses {
    /// The engine with its arguments, if it is not plain `MergeTree`.
    pub engine: Option<String>,
    /// `INDEX …`, `CONSTRAINT …` and `PROJECTION …` of the column list.
    pub elements: Vec<String>,
    /// The expression of SAMPLE BY.
    pub sample_by: Option<String>,
    /// The expressions of TTL.
    pub ttl: Option<String>,
    /// The comment.
    pub comment: Option<String>,
}

/// The codec that a column gets; `None` if it stays what it is.
pub type ChooseCodec<'a> = dyn Fn(&str) -> Option<CodecSpec> + 'a;

impl TableDefinition {
    /// Gives columns other codecs.
    pub fn choose_codecs(&mut self, choose: &ChooseCodec<'_>) {
        for column in &mut self.columns {
            if let Some(codec) = choose(&column.column.name) {
                column.codec = Some(codec);
            }
        }
    }

    /// Parses `CREATE TABLE … ENGINE = MergeTree …`.
    ///
    /// Also `ATTACH TABLE`, `IF NOT EXISTS`, `UUID '…'`, `ON CLUSTER …` (these leave no trace in the definition), and all
    /// `*MergeTree` engines: their parts have the same format. `DEFAULT`, `TTL`, `STATISTICS`, `INDEX`, `CONSTRAINT`,
    /// `PROJECTION` and `SAMPLE BY` are kept as written. Descending keys and other engines are refused. `Nested(a T)` becomes
    /// columns `n.a Array(T)`; the syntax of before 2018, `MergeTree(date, (key), 8192)`, becomes today's.
    ///
    /// ```
    /// use tambour_schema::TableDefinition;
    /// let definition = TableDefinition::parse(
    ///     "CREATE TABLE hits (page String, visits UInt32) ENGINE = MergeTree ORDER BY page",
    /// )?;
    /// assert_eq!(definition.plain_columns()[1].name, "visits");
    /// assert_eq!(definition.primary_key_types()?, ["String".parse()?]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(sql: &str) -> Result<Self, TableError> {
        let definition = create::parse(sql, Keys::Read)?;
        definition.check()?;
        Ok(definition)
    }

    /// The same, but without its keys, which are passed over: of a statement with keys that are not known here (`ORDER BY k DESC`), all
    /// else is. Rows are in some order then, and parts stand for any partition: this is enough for reading, and for nothing else.
    pub fn parse_without_keys(sql: &str) -> Result<Self, TableError> {
        let definition = create::parse(sql, Keys::PassOver)?;
        definition.check()?;
        Ok(definition)
    }

    /// A table of these columns without keys.
    pub fn new(name: impl Into<String>, columns: Vec<ColumnDefinition>) -> Self {
        Self {
            database: None,
            name: name.into(),
            columns,
            order_by: Vec::new(),
            primary_key: Vec::new(),
            unstored: Vec::new(),
            partition_by: Vec::new(),
            settings: Vec::new(),
            clauses: TableClauses::default(),
        }
    }

    /// Says what is wrong with a definition that was put together by hand; [`TableDefinition::parse`] has done it.
    pub fn check(&self) -> Result<(), TableError> {
        check::check(self)
    }

    /// The value of a setting, the last one if there are several.
    ///
    /// ```
    /// use tambour_schema::TableDefinition;
    /// let definition = TableDefinition::parse(
    ///     "CREATE TABLE hits (page String) ENGINE = MergeTree ORDER BY page \
    ///      SETTINGS index_granularity = 1024",
    /// )?;
    /// assert_eq!(definition.setting("index_granularity"), Some("1024"));
    /// assert_eq!(definition.index_granularity(), 1024);
    /// # Ok::<(), tambour_schema::TableError>(())
    /// ```
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What every row has to meet: its `CONSTRAINT … CHECK` clauses.
    pub fn checks(&self) -> Result<Vec<Check>, TableError> {
        check::checks(self)
    }

    /// An error if rows of the table have to meet a `CONSTRAINT … CHECK`: they may not get past what nobody checks.
    pub fn refuse_constraints(&self) -> Result<(), TableError> {
        check::refuse_constraints(self)
    }

    /// `index_granularity`, 8192 if not set.
    pub fn index_granularity(&self) -> usize {
        self.setting("index_granularity").and_then(|value| value.parse().ok()).unwrap_or(8192)
    }

    /// Types of the primary key expressions.
    pub fn primary_key_types(&self) -> Result<Vec<DataType>, TableError> {
        let columns = self.plain_columns();
        self.primary_key.iter().map(|expression| expression.data_type(&columns)).collect()
    }

    /// Just the columns.
    pub fn plain_columns(&self) -> Vec<Column> {
        self.columns.iter().map(|definition| definition.column.clone()).collect()
    }
}
