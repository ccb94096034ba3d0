//! Parts that are changed more than once before the commit: what was written is read again, and goes when the next one stands in its place.
//! And parts that are written anew because rows of them have expired.

use super::{PartDraft, Rewrite};
use crate::TableError;
use crate::conform::fit;
use crate::expire::Expiry;
use crate::locked::OWN;
use crate::open::open_live_part;
use crate::table::Table;
use std::sync::Arc;

impl Rewrite {
    /// Opens a part that this change has written, by its new name, to change it once more.
    pub fn go_on_with(&mut self, part: &str) -> Result<(), TableError> {
        let live = self.next.parts.iter().find(|live| live.name == part);
        let live = live.ok_or_else(|| self.missing(part))?;
        let (storage, path) = (self.table.storage(), self.table.path());
        let granularity = Some(self.definition.index_granularity());
        let opened = open_live_part(storage, path, live, granularity)?;
        let columns = self.table.columns();
        let opened = fit(path, part, (columns, Some(&self.definition)), opened)?;
        self.fresh = Some((part.to_owned(), Arc::new(opened)));
        Ok(())
    }

    /// The table with one of its parts only, as it is after what was done so far.
    pub fn only(&self, part: &str) -> Option<Table> {
        match &self.fresh {
            Some((name, fresh)) if name == part => {
                let first = self.table.part_names().first()?;
                let mut only = self.table.only(first)?;
                only.rows = fresh.rows();
                (only.names, only.parts) = (vec![name.clone()], vec![Arc::clone(fresh)]);
                Some(only)
            }
            _ => self.table.only(part),
        }
    }

    /// A part without the rows that a mask hides, to be [put](Rewrite::put), and how many there were; nothing if it has no mask.
    pub fn unmask(&self, part: &str) -> Result<Option<(PartDraft, u64)>, TableError> {
        let opened = self.part(part)?;
        if !opened.has_deleted_rows() {
            return Ok(None);
        }
        let (mut draft, mut kept) = (self.replace(part)?, 0);
        for batch in self.rows(part)? {
            let batch = batch?;
            kept += batch.num_rows() as u64;
            draft.write(&batch)?;
        }
        Ok(Some((draft, opened.rows().saturating_sub(kept))))
    }

    /// True of a part that stores a column.
    pub fn has_stored(&self, part: &str, column: &str) -> Result<bool, TableError> {
        Ok(self.part(part)?.stored_columns().any(|it| it.name == column))
    }

    /// An error if nothing of the table's TTL is carried out here.
    pub fn check_expiry(&self) -> Result<(), TableError> {
        if Expiry::new(&self.definition, Some(0)).is_some() {
            return Ok(());
        }
        let reason = match &self.definition.clauses.ttl {
            Some(ttl) => format!("only a server carries out the TTL {ttl}"),
            None => "the table has no TTL".to_owned(),
        };
        Err(TableError::Refused { clause: "MATERIALIZE TTL".to_owned(), reason })
    }

    /// A part without what has expired at a moment, in Unix seconds, to be [put](Rewrite::put), and how many rows are gone;
    /// nothing if the part stays as it is.
    pub fn expire(
        &self,
        part: &str,
        now: Option<i64>,
    ) -> Result<Option<(PartDraft, u64)>, TableError> {
        let Some(expiry) = Expiry::new(&self.definition, now) else { return Ok(None) };
        let columns = self.definition.plain_columns();
        if !expiry.concerns(self.table.path(), &self.part(part)?, &columns)? {
            return Ok(None);
        }
        let mut draft = self.replace(part)?;
        for batch in self.rows(part)? {
            let batch = expiry.apply(batch?)?;
            if batch.num_rows() > 0 {
                draft.write(&batch)?;
            }
        }
        Ok(Some((draft, expiry.rows_gone())))
    }

    /// Takes out a part that this change has written: no reader has seen it. False if it is not one.
    pub(super) fn drop_fresh(&mut self, part: &str) -> bool {
        let written = self.next.parts.iter().position(|live| {
            live.name == part && live.directory.as_ref().is_some_and(|it| it.starts_with(OWN))
        });
        let Some(at) = written else { return false };
        let live = self.next.parts.remove(at);
        self.summary.rows_after -= live.rows;
        self.fresh = None;
        if let Some(directory) = live.directory {
            // If it stays, the commit finds it.
            let _ = self.table.storage().remove_directory(&self.table.path().join(directory));
        }
        true
    }
}
