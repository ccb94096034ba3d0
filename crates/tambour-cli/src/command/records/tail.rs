//! `records tail`: the last records, and those that follow.

use super::arguments::TailArguments;
use super::{format, open};
use crate::output::stdout;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;
use tambour::record::{Reader, RecordError, ViewOptions};

pub(super) fn run(arguments: &TailArguments) -> anyhow::Result<()> {
    let interval = Duration::from_millis(u64::from(arguments.interval));
    let mut reader = first_reader(arguments, interval)?;
    let ids = reader.view().ids();
    let mut next = ids.end.saturating_sub(arguments.lines).max(ids.start);
    loop {
        let ids = reader.view().ids();
        // What retention drops meanwhile is gone.
        next = next.max(ids.start);
        write(&mut reader, next..ids.end, arguments)?;
        next = next.max(ids.end);
        if !arguments.follow {
            return Ok(());
        }
        while !reader.view().has_changed()? {
            std::thread::sleep(interval);
        }
        reader.refresh()?;
    }
}

/// A reader of the category; who follows waits for its first record.
fn first_reader(arguments: &TailArguments, interval: Duration) -> anyhow::Result<Reader> {
    let store = open(&arguments.log.store)?;
    loop {
        match store.view(&arguments.log.category, &ViewOptions { memory_bytes: 0 }) {
            Ok(view) => return Ok(Arc::new(view).reader()),
            Err(RecordError::NoCategory { .. }) if arguments.follow => {
                std::thread::sleep(interval);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn write(reader: &mut Reader, ids: Range<u64>, arguments: &TailArguments) -> anyhow::Result<()> {
    let (mut target, mut result) = (stdout::data(), Ok(()));
    reader.scan(ids, |scanned| {
        result = format::write(&mut target, arguments.format, scanned.record);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result?;
    Ok(target.flush()?)
}
