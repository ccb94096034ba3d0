//! `records tail`: the last records, and those that follow.

use super::arguments::TailArguments;
use super::{format, open};
use crate::output::stdout;
use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;
use tambour::record::{Reader, RecordError, State, ViewOptions};

pub(super) fn run(arguments: &TailArguments) -> anyhow::Result<()> {
    let interval = Duration::from_millis(u64::from(arguments.interval));
    let mut reader = first_reader(arguments, interval)?;
    let mut next = first_of(&mut reader, arguments.lines)?;
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

/// The id from which on there are this many records, whether or not they were updated or deleted since. Deletions, and what was
/// reclaimed, are none.
fn first_of(reader: &mut Reader, lines: u64) -> anyhow::Result<u64> {
    let ids = reader.view().ids();
    let mut window = lines;
    loop {
        let start = ids.end.saturating_sub(window).max(ids.start);
        let mut records = Vec::new();
        reader.scan_all(start..ids.end, |scanned| {
            if scanned.state == State::Record {
                records.push(scanned.id);
            }
            ControlFlow::Continue(())
        })?;
        let surplus = (records.len() as u64).checked_sub(lines);
        if let Some(first) = surplus.and_then(|at| records.get(usize::try_from(at).ok()?)) {
            return Ok(*first);
        }
        if start == ids.start || lines == 0 {
            return Ok(start);
        }
        window = window.saturating_mul(2);
    }
}

fn write(reader: &mut Reader, ids: Range<u64>, arguments: &TailArguments) -> anyhow::Result<()> {
    let (mut target, mut result) = (stdout::data(), Ok(()));
    // All of them: who follows a log sees what was appended, also what is updated before the next look.
    reader.scan_all(ids, |scanned| {
        if scanned.state != State::Record {
            return ControlFlow::Continue(());
        }
        result = format::write(&mut target, arguments.format, scanned.record);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result?;
    Ok(target.flush()?)
}
