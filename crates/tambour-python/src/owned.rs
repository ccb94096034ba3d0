//! Handles that can be closed, of stores that belong to the process that opened them.

use crate::failure::Failure;
use crate::work;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use tambour::Kind;

/// A store, a writer, a reader: one call at a time, until it is closed.
#[derive(Debug)]
pub(crate) struct Owned<T> {
    value: Mutex<Option<T>>,
    /// What errors call it.
    what: &'static str,
    /// Locks and threads are those of the process that opened it.
    process: u32,
}

impl<T: Send> Owned<T> {
    /// An open handle.
    pub(crate) fn new(what: &'static str, value: T) -> Self {
        Self { value: Mutex::new(Some(value)), what, process: std::process::id() }
    }

    /// Uses it without the interpreter's lock.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        work::detached(py, |_| {
            self.check_process()?;
            let mut value = self.value.lock().map_err(|_| self.left())?;
            work(value.as_mut().ok_or(Failure::Closed(self.what))?)
        })
    }

    /// Takes it; from now on it is closed. Nothing if it is closed already.
    pub(crate) fn close(
        &self,
        py: Python<'_>,
        end: impl FnOnce(T) -> Result<(), Failure> + Send,
    ) -> PyResult<()> {
        work::detached(py, |_| {
            self.check_process()?;
            let (value, is_left) = match self.value.lock() {
                Ok(mut value) => (value.take(), false),
                Err(left) => (left.into_inner().take(), true),
            };
            match value {
                // What was left in the middle is not ended as if it were whole.
                Some(_) if is_left => Ok(()),
                value => value.map_or(Ok(()), end),
            }
        })
    }

    /// A fault of the library left a call in the middle.
    fn left(&self) -> Failure {
        Failure::Fault(format!("a fault ended an earlier call of the {}: open it anew", self.what))
    }

    /// True if it was closed.
    pub(crate) fn is_closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.value.lock().unwrap_or_else(PoisonError::into_inner).is_none())
    }

    fn check_process(&self) -> Result<(), Failure> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let text = format!(
            "the {} belongs to the process that forked this one: open it anew here, to read",
            self.what
        );
        Err(Failure::Said(Kind::Conflict, text))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let value = self.value.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.process != std::process::id()
            && let Some(value) = value
        {
            // What its end would write and whom it would wait for are the other process's.
            Box::leak(Box::new(value));
        }
    }
}
