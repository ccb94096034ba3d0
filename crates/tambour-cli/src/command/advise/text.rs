//! Advice as people read it, in 80 columns.

use super::super::inspect::{fact, write_grid};
use crate::output::grid::{Grid, Heading};
use crate::output::quantity;
use std::io::{self, Write};
use tambour::advise::server::verdict;
use tambour::advise::{Advice, ColumnAdvice, Measure, Version, alter};
use tambour::codec::choose::Objective;
use tambour::sample::Rows;

/// Versions of ClickHouse that the table of servers has: long-lived ones, and where a chain came or was mended.
const SERVERS: [Version; 8] = [
    Version::new(18, 16),
    Version::new(21, 8),
    Version::new(22, 8),
    Version::new(23, 8),
    Version::new(24, 8),
    Version::new(25, 3),
    Version::new(25, 8),
    Version::new(26, 9),
];

/// Writes everything.
pub(super) fn advice(
    advice: &Advice,
    rows: &Rows,
    server: Option<Version>,
    target: &mut dyn Write,
) -> io::Result<()> {
    fact(target, "advice", &rows.name)?;
    let sampled = if advice.rows == advice.rows_sampled {
        "all of them measured".to_owned()
    } else {
        format!("{} of them sampled", quantity::grouped(advice.rows_sampled))
    };
    fact(target, "rows", &format!("{}, {sampled}", quantity::grouped(advice.rows)))?;
    if !advice.complete {
        fact(target, "", "advice on types holds for the sample; check it against all rows")?;
    }
    fact(target, "goal", advice.goal.name())?;
    fact(target, "server", &server.unwrap_or(Version::NEWEST).to_string())?;
    writeln!(target)?;
    totals(advice, rows, target)?;
    writeln!(target)?;
    columns(advice, target)?;
    types(advice, target)?;
    order(advice, target)?;
    refused(advice, target)?;
    servers(advice, target)
}

fn totals(advice: &Advice, rows: &Rows, target: &mut dyn Write) -> io::Result<()> {
    let mut grid = Grid::new(vec![
        Heading::text("all columns"),
        Heading::number("bytes"),
        Heading::number("ratio"),
        Heading::number("of now"),
        Heading::number("decode GB/s"),
    ]);
    let (raw, now) = (advice.raw_bytes(), advice.now_bytes());
    let mut line = |name: &str, bytes: u64, speed: f64| {
        let share = 100.0 * bytes as f64 / (now as f64).max(1.0);
        grid.push([
            name.to_owned(),
            quantity::grouped(bytes),
            quantity::ratio(raw, bytes),
            format!("{share:.0}%"),
            format!("{speed:.2}"),
        ]);
    };
    let present = if rows.is_table { "present codecs" } else { "LZ4, the default" };
    line(present, now, advice.decode_gbps(None));
    for goal in Objective::ALL {
        let name = format!("best for {}", goal.name());
        line(&name, advice.best_bytes(*goal), advice.decode_gbps(Some(*goal)));
    }
    write_grid(target, &grid)?;
    let on_disk: u64 = advice.columns.iter().filter_map(|column| column.on_disk).sum();
    if on_disk > 0 {
        writeln!(target, "the files of these columns take {} bytes", quantity::grouped(on_disk))?;
    }
    Ok(())
}

fn columns(advice: &Advice, target: &mut dyn Write) -> io::Result<()> {
    writeln!(target, "{:<16}{:>14} {:>7} {:>6}  codec", "columns", "bytes", "ratio", "GB/s")?;
    for column in &advice.columns {
        writeln!(target, "{}  {}", column.column.name.escape_debug(), column.column.data_type)?;
        write_measure("now", &column.now, target)?;
        // What is best for two goals is told once.
        let mut told: Vec<&Measure> = Vec::new();
        for goal in Objective::ALL {
            let best = column.best(*goal);
            if told.contains(&best) {
                continue;
            }
            told.push(best);
            let same = |other: &&Objective| column.best(**other) == best;
            let goals: Vec<&str> =
                Objective::ALL.iter().filter(same).map(|other| other.name()).collect();
            let all = goals.len() == Objective::ALL.len();
            let name = if all { "best".to_owned() } else { goals.join(", ") };
            write_measure(&name, best, target)?;
        }
    }
    Ok(())
}

fn write_measure(what: &str, measure: &Measure, target: &mut dyn Write) -> io::Result<()> {
    let Measure { spec, raw_bytes, stored_bytes, .. } = measure;
    let bytes = quantity::grouped(*stored_bytes);
    let ratio = quantity::ratio(*raw_bytes, *stored_bytes);
    let speed = measure.decode_gbps();
    writeln!(target, "  {what:<14}{bytes:>14} {ratio:>7} {speed:>6.2}  {spec}")
}

fn types(advice: &Advice, target: &mut dyn Write) -> io::Result<()> {
    if advice.columns.iter().all(|column| column.types.is_empty()) {
        return Ok(());
    }
    writeln!(target, "\nother types")?;
    for column in &advice.columns {
        for other in &column.types {
            let (name, new) = (column.column.name.escape_debug(), &other.data_type);
            let bytes = quantity::grouped(other.saved.unsigned_abs());
            let what = if other.saved >= 0 { "saves" } else { "costs" };
            writeln!(target, "  {name}: {new}, since {}", other.reason)?;
            writeln!(target, "    {what} {bytes} bytes with CODEC({})", other.measure.spec)?;
        }
    }
    Ok(())
}

fn order(advice: &Advice, target: &mut dyn Write) -> io::Result<()> {
    match &advice.order {
        Some(order) => {
            let saved =
                100.0 - 100.0 * order.stored_bytes as f64 / (order.now_bytes as f64).max(1.0);
            writeln!(
                target,
                "\nordered by {}, {} rows take {saved:.0}% less",
                order.columns.join(", "),
                quantity::grouped(order.rows),
            )
        }
        None => writeln!(target, "\nno other order of the rows that was tried saves 3% or more"),
    }
}

/// Chains that were left out.
fn refused(advice: &Advice, target: &mut dyn Write) -> io::Result<()> {
    let mut told: Vec<String> = Vec::new();
    for column in &advice.columns {
        for (spec, reason) in &column.refused {
            // Chains that a type does not take are of no interest; what a server breaks or lacks is.
            if reason.contains(" is not for ") || reason.starts_with("it ") {
                continue;
            }
            let line = format!("{spec}: {reason}");
            if !told.contains(&line) {
                told.push(line);
            }
        }
    }
    if told.is_empty() {
        return Ok(());
    }
    writeln!(target, "\nnot recommended for this server")?;
    told.iter().try_for_each(|line| writeln!(target, "  {line}"))
}

/// Which servers take the chains that pay.
fn servers(advice: &Advice, target: &mut dyn Write) -> io::Result<()> {
    let mut headings = vec![Heading::text("chain")];
    headings.extend(SERVERS.iter().map(|server| Heading::text(&server.to_string())));
    let mut grid = Grid::new(headings);
    let mut told: Vec<String> = Vec::new();
    let paying = |column: &&ColumnAdvice| alter::pays(advice, column);
    for column in advice.columns.iter().filter(paying) {
        let spec = &column.best(advice.goal).spec;
        if told.contains(&spec.to_string()) {
            continue;
        }
        told.push(spec.to_string());
        let mut row = vec![spec.to_string()];
        row.extend(SERVERS.iter().map(|server| {
            use tambour::advise::server::Verdict;
            match verdict(spec, &column.column.data_type, *server) {
                Verdict::Good => "yes",
                Verdict::Setting(_) => "set",
                Verdict::Broken(_) => "BAD",
                _ => "-",
            }
            .to_owned()
        }));
        grid.push(row);
    }
    if grid.is_empty() {
        return Ok(());
    }
    writeln!(target, "\nwho has these chains (BAD: loses data or crashes; set: after a setting)")?;
    write_grid(target, &grid)
}
