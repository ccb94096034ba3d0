//! The engine at work: sorted batches in, fewer rows out.

use super::add::Adding;
use super::collapse::{Collapsing, Versioned};
use super::replace::Replacing;
use super::{Engine, sorting_key};
use crate::TableError;
use crate::key::Key;
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use crate::tournament::Tournament;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::sync::Arc;
use tambour_part::types::Column;

/// What the rows are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A new part, whose rows later ones may still change.
    Store,
    /// A query: nothing comes after.
    Read,
}

/// Applies an engine to sorted rows, batch by batch. Rows with one key may lie in several batches.
#[derive(Debug)]
pub(crate) struct Fold {
    key: Arc<Key>,
    state: State,
}

#[derive(Debug)]
enum State {
    Plain,
    Replacing(Replacing),
    Collapsing(Collapsing),
    Versioned(Versioned),
    Adding(Adding),
}

impl Fold {
    /// For rows with these columns, sorted by this key.
    pub(crate) fn new(
        engine: &Engine,
        key: &Arc<Key>,
        (columns, schema): (&[Column], &SchemaRef),
        purpose: Use,
    ) -> Result<Self, TableError> {
        let place = |name: &str| {
            columns.iter().position(|it| it.name == name).ok_or_else(|| TableError::UnknownColumn {
                clause: "ENGINE".to_owned(),
                name: name.to_owned(),
            })
        };
        let is_read = purpose == Use::Read;
        let state = match engine {
            Engine::Plain => State::Plain,
            Engine::Replacing { version, is_deleted } => {
                let version = version
                    .as_ref()
                    .map(|name| Key::new(&[Expression::Column(name.clone())], columns, schema));
                let is_deleted = is_deleted.as_deref().map(place).transpose()?;
                State::Replacing(Replacing::new(version.transpose()?, is_deleted, is_read))
            }
            Engine::Collapsing { sign } => {
                State::Collapsing(Collapsing::new(place(sign)?, is_read))
            }
            Engine::VersionedCollapsing { sign, .. } => {
                State::Versioned(Versioned::new(place(sign)?))
            }
            Engine::Adding { rules, drops_zeros } => {
                State::Adding(Adding::new(rules, (columns, schema), *drops_zeros)?)
            }
        };
        Ok(Self { key: Arc::clone(key), state })
    }

    /// For whole rows of a table that go into a part. Rows stay as they are if only ClickHouse knows what the engine does to
    /// them: it will do it in its next merge.
    pub(crate) fn of_insert(
        definition: &TableDefinition,
        schema: &SchemaRef,
    ) -> Result<Option<Self>, TableError> {
        let engine = Engine::of(definition).unwrap_or(Engine::Plain);
        if engine.is_plain() {
            return Ok(None);
        }
        let columns = definition.plain_columns();
        let key = Arc::new(Key::new(&sorting_key(definition), &columns, schema)?);
        Self::new(&engine, &key, (&columns, schema), Use::Store).map(Some)
    }

    /// Takes further rows; returns those that are settled. `origins` are their numbers by [`Engine::mark`], if there are any.
    pub(crate) fn push(
        &mut self,
        batch: RecordBatch,
        origins: &[u32],
    ) -> Result<Vec<RecordBatch>, TableError> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        if matches!(self.state, State::Plain) {
            return Ok(vec![batch]);
        }
        let keys = self.key.evaluate(&batch)?;
        match &mut self.state {
            State::Plain => Ok(vec![batch]),
            State::Replacing(state) => state.push(&batch, &keys),
            State::Collapsing(state) => state.push(&batch, &keys, origins),
            State::Versioned(state) => state.push(&batch, &keys),
            State::Adding(state) => state.push(&batch, &keys),
        }
    }

    /// The rows that are left when there are no more.
    pub(crate) fn finish(&mut self) -> Result<Vec<RecordBatch>, TableError> {
        match &mut self.state {
            State::Plain => Ok(Vec::new()),
            State::Replacing(state) => state.finish(),
            State::Collapsing(state) => Ok(state.finish()),
            State::Versioned(state) => Ok(state.finish()),
            State::Adding(state) => state.finish(),
        }
    }
}

/// Merged rows after the engine.
pub(crate) struct Folded<'a> {
    rows: Tournament<'a>,
    fold: Option<Fold>,
    ready: VecDeque<RecordBatch>,
    is_done: bool,
}

impl<'a> Folded<'a> {
    /// Without a fold, the same rows.
    pub(crate) fn new(rows: Tournament<'a>, fold: Option<Fold>) -> Self {
        Self { rows, fold, ready: VecDeque::new(), is_done: false }
    }

    fn step(&mut self) -> Result<Option<RecordBatch>, TableError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.is_done {
                return Ok(None);
            }
            let batch = self.rows.next().transpose()?;
            let Some(fold) = &mut self.fold else { return Ok(batch) };
            self.is_done = batch.is_none();
            let rows = match batch {
                Some(batch) => fold.push(batch, self.rows.origins())?,
                None => fold.finish()?,
            };
            self.ready.extend(rows.into_iter().filter(|it| it.num_rows() > 0));
        }
    }
}

impl std::fmt::Debug for Folded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folded").field("fold", &self.fold).finish_non_exhaustive()
    }
}

impl Iterator for Folded<'_> {
    type Item = Result<RecordBatch, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        if matches!(item, Some(Err(_))) {
            self.is_done = true;
            self.ready.clear();
        }
        item
    }
}
