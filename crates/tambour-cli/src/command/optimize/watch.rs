//! `tambour optimize --watch`: merges as a server does, a few parts at a time, until it is told to stop.

use super::options;
use crate::cli::OptimizeArguments;
use crate::clock::Start;
use crate::interrupt::Interrupt;
use crate::output::{self, Console, quantity, stdout};
use serde_json::json;
use std::time::Duration;
use tambour::storage;
use tambour::table::TableError;
use tambour::table::merge::OptimizeSummary;
use tambour::table::merge::background::{Outcome, Plan, Rule, Watcher};

/// How long to wait when there is nothing to do: at first, and at most.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// How long a signal waits at most.
const SLICE: Duration = Duration::from_millis(50);

/// Watches until SIGTERM or Ctrl-C.
pub(super) fn run(arguments: &OptimizeArguments, console: Console) -> anyhow::Result<()> {
    let interrupt = Interrupt::listen();
    interrupt.be_terminable()?;
    let rule = Rule { bytes_max: arguments.merge_max.0, ..Rule::default() };
    let storage = storage::disk();
    let watchers = arguments.tables.iter().map(|table| Watcher::new(&storage, table, rule));
    let mut watchers = watchers.collect::<Result<Vec<_>, _>>()?;
    let start = Start::now();
    let tables = quantity::counted(watchers.len() as u64, "table", "tables");
    console.note(format_args!("watching {tables}"));
    let [pause_min, pause_max] = PAUSES;
    let mut pause = pause_min;
    loop {
        let mut has_merged = false;
        for watcher in &mut watchers {
            if interrupt.check().is_err() {
                console.note("stopped");
                return Ok(());
            }
            has_merged |= step(watcher, arguments, (start, &interrupt), console)?;
        }
        pause = if has_merged { pause_min } else { (pause * 2).min(pause_max) };
        if !has_merged {
            sleep(pause, &interrupt);
        }
    }
}

/// One merge of a table, if one is due; whether there was one. What goes wrong with a table is told, and hinders no other.
fn step(
    watcher: &mut Watcher,
    arguments: &OptimizeArguments,
    (start, interrupt): (Start, &Interrupt),
    console: Console,
) -> anyhow::Result<bool> {
    let plan = match watcher.plan(start.elapsed()) {
        Ok(Some(plan)) => plan,
        Ok(None) => return Ok(false),
        Err(error) => {
            output::report(&error);
            return Ok(false);
        }
    };
    let begin = Start::now();
    let halt = || interrupt.check().is_err();
    match watcher.merge(&plan, &options(arguments), start.elapsed(), &halt) {
        Ok(Outcome::Merged(summary)) => {
            tell(watcher, &plan, &summary, (begin.elapsed(), arguments.json), console)?;
            Ok(true)
        }
        Ok(outcome @ (Outcome::Busy | Outcome::Outdated)) => {
            let table = watcher.path().display();
            let why = if outcome == Outcome::Busy { "is at work" } else { "came first" };
            console.detail(format_args!("{table}: another writer {why}"));
            Ok(false)
        }
        Err(TableError::GivenUp { .. }) => Ok(false),
        Err(error) => {
            output::report(&error);
            Ok(false)
        }
    }
}

fn tell(
    watcher: &Watcher,
    plan: &Plan,
    summary: &OptimizeSummary,
    (time, is_json): (Duration, bool),
    console: Console,
) -> anyhow::Result<()> {
    let table = watcher.path().display();
    if is_json {
        stdout::json_line(&json!({
            "schema": "tambour/merge/1",
            "table": table.to_string(),
            "partition": plan.partition,
            "parts_before": summary.parts_before,
            "parts_after": summary.parts_after,
            "rows": summary.rows,
            "rows_expired": summary.rows_expired,
            "bytes_before": plan.bytes,
            "seconds": time.as_secs_f64(),
        }))?;
    } else {
        console.note(format_args!(
            "{table}, partition {}: {} -> {}, {}, {}, {}",
            plan.partition,
            quantity::grouped(summary.parts_before),
            quantity::counted(summary.parts_after, "part", "parts"),
            quantity::counted(summary.rows, "row", "rows"),
            quantity::bytes(plan.bytes),
            quantity::seconds(time),
        ));
    }
    Ok(())
}

fn sleep(pause: Duration, interrupt: &Interrupt) {
    let start = Start::now();
    while interrupt.check().is_ok() {
        let left = pause.saturating_sub(start.elapsed());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(SLICE));
    }
}
