//! CONSTRAINT … CHECK: what must hold of every row that an INSERT adds.

use super::derived::{Derived, Step};
use super::of_table;
use crate::SqlError;
use crate::context::Session;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, UInt8Type};
use datafusion::error::DataFusionError;
use tambour_dialect as dialect;
use tambour_table::schema::{Check, TableDefinition};

/// The constraints of a table, ready for rows.
pub(super) struct Checks {
    table: String,
    all: Vec<Check>,
    derived: Derived,
    /// Rows that were checked before.
    before: usize,
}

impl Checks {
    /// Nothing if there are none.
    pub(super) async fn new(
        session: &Session,
        definition: &TableDefinition,
    ) -> Result<Option<Self>, SqlError> {
        let table = definition.name.clone();
        let checks = definition.checks().map_err(of_table(&table))?;
        if checks.is_empty() {
            return Ok(None);
        }
        let step = |(number, check): (usize, &Check)| {
            let reads = dialect::columns_of(&check.expression)?;
            Ok(Step { name: name(number), sql: format!("({})", check.expression), reads })
        };
        let steps = checks.iter().enumerate().map(step).collect::<Result<Vec<_>, SqlError>>()?;
        let columns = definition.plain_columns();
        let derived = Derived::new(session, &table, &columns, &[steps]).await?;
        Ok(Some(Self { table, all: checks, derived, before: 0 }))
    }

    /// An error if a row of the batch, which has all columns of the table, breaks one of them.
    pub(super) async fn check(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        let answers = self.derived.of(batch).await?;
        for (number, check) in self.all.iter().enumerate() {
            let answers = answers.column(self.derived.place(&name(number))?);
            if let Some(row) = self.first_broken(check, answers)? {
                return Err(SqlError::Violated {
                    table: self.table.clone(),
                    constraint: check.name.clone(),
                    expression: check.expression.clone(),
                    row: self.before + row + 1,
                });
            }
        }
        self.before += batch.num_rows();
        Ok(())
    }

    /// The first row whose answer is not 1; a NULL is not, either, and as in ClickHouse no other number.
    fn first_broken(&self, check: &Check, answers: &ArrayRef) -> Result<Option<usize>, SqlError> {
        let holds: Box<dyn Fn(usize) -> bool> = match answers.data_type() {
            DataType::Boolean => {
                let answers = answers.as_boolean();
                Box::new(|row| answers.is_valid(row) && answers.value(row))
            }
            DataType::UInt8 => {
                let answers = answers.as_primitive::<UInt8Type>();
                Box::new(|row| answers.is_valid(row) && answers.value(row) == 1)
            }
            _ => {
                return Err(SqlError::refused(
                    format!("INSERT INTO {}", self.table),
                    format!("its constraint {} is not a UInt8: {}", check.name, check.expression),
                ));
            }
        };
        Ok((0..answers.len()).find(|row| !holds(*row)))
    }
}

impl Session {
    /// An error if a constraint or skip index among these elements of a definition names what the table does not have. What else is
    /// wrong with an index, or unknown here, is for the server that builds it.
    pub(super) async fn check_elements(
        &self,
        definition: &TableDefinition,
        elements: impl IntoIterator<Item = &String>,
    ) -> Result<(), SqlError> {
        let elements: Vec<String> = elements.into_iter().cloned().collect();
        let mut only = TableDefinition::new(definition.name.clone(), definition.columns.clone());
        only.clauses.elements = elements;
        Checks::new(self, &only).await?;
        for index in only.indexes() {
            let reads = dialect::columns_of(&index.expression).unwrap_or_default();
            let step = Step { name: name(0), sql: format!("({})", index.expression), reads };
            let columns = definition.plain_columns();
            let planned = Derived::new(self, &definition.name, &columns, &[vec![step]]).await;
            if let Err(SqlError::Query(error)) = planned
                && matches!(error.find_root(), DataFusionError::SchemaError(..))
            {
                return Err(error.into());
            }
        }
        Ok(())
    }
}

/// The column of a constraint; nobody types its name.
fn name(number: usize) -> String {
    format!("\u{1f}check {number}")
}
