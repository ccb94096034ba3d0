//! Windows that are named by others: `OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)` and `OVER w`. The engine does not look at
//! the name in parentheses.

use super::refused;
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{
    Expr, NamedWindowDefinition, NamedWindowExpr, Select, WindowSpec, WindowType,
};
use std::collections::HashMap;

/// The windows that have names.
#[derive(Debug, Default)]
pub(super) struct Windows(HashMap<String, WindowSpec>);

impl Windows {
    /// Takes those of a SELECT.
    pub(super) fn gather(&mut self, select: &mut Select) -> Result<(), DialectError> {
        for NamedWindowDefinition(name, window) in &mut select.named_window {
            let window = match window {
                NamedWindowExpr::WindowSpec(window) => {
                    self.complete(window)?;
                    Some(window.clone())
                }
                NamedWindowExpr::NamedWindow(other) => self.0.get(&other.value).cloned(),
            };
            if let Some(window) = window {
                self.0.insert(name.value.clone(), window);
            }
        }
        Ok(())
    }

    /// Writes out the window of a call that names one.
    pub(super) fn write_out(&self, expr: &mut Expr) -> Result<(), DialectError> {
        let Expr::Function(function) = expr else { return Ok(()) };
        match &mut function.over {
            Some(WindowType::WindowSpec(window)) => self.complete(window)?,
            Some(WindowType::NamedWindow(name)) => {
                if let Some(window) = self.0.get(&name.value) {
                    function.over = Some(WindowType::WindowSpec(window.clone()));
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Gives a window what it has of the one that it is based on.
    fn complete(&self, window: &mut WindowSpec) -> Result<(), DialectError> {
        let Some(name) = window.window_name.take() else { return Ok(()) };
        let wrong = |reason: &str| Err(refused(format!("a window based on {name}"), reason));
        let Some(base) = self.0.get(&name.value) else {
            return wrong("there is no window of that name");
        };
        if !window.partition_by.is_empty() || base.window_frame.is_some() {
            return wrong("it takes PARTITION BY from there, and a frame is its own");
        }
        if !window.order_by.is_empty() && !base.order_by.is_empty() {
            return wrong("both have ORDER BY");
        }
        window.partition_by.clone_from(&base.partition_by);
        if window.order_by.is_empty() {
            window.order_by.clone_from(&base.order_by);
        }
        Ok(())
    }
}
