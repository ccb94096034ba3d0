//! Actions that look: stat, verify, doctor.

use super::arguments::DoctorArguments;
use super::{opened, tell};
use crate::clock::Start;
use crate::exit::{Exit, Failure};
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::progress::Total;
use crate::output::{Console, failure, quantity, stdout};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use tambour::page::{Access, Level, PageError, Stat, Verified, doctor};

/// Shows what a store takes.
pub(super) fn stat(path: &Path, json: bool) -> anyhow::Result<()> {
    let mut store = opened(path, Access::Read)?;
    let stat = store.stat(true)?;
    let codec = store.codec();
    let mut facts = vec![
        ("store", json!(path.display().to_string())),
        ("layout", json!(stat.layout.name())),
        ("page_bytes", json!(stat.page_bytes)),
        ("codec", json!(codec.to_string())),
        ("generation", json!(stat.generation)),
        ("page_count", json!(stat.page_count)),
        ("pages", json!(stat.pages)),
        ("zero_pages", json!(stat.zero_pages)),
        ("logical_bytes", json!(stat.logical_bytes)),
        ("image_bytes", json!(stat.image_bytes)),
        ("rounded_bytes", json!(stat.rounded_bytes)),
        ("file_bytes", json!(stat.file_bytes())),
        ("allocated_bytes", json!(stat.allocated_bytes())),
    ];
    facts.extend(places(&stat));
    if !json {
        facts.push(("ratio", json!(quantity::ratio(stat.logical_bytes, stat.allocated_bytes()))));
    }
    let codecs: Vec<_> = stat
        .codecs
        .iter()
        .map(|(method, codec)| {
            json!({
                "codec": method.name(), "images": codec.images, "bytes": codec.bytes, "blocks": codec.blocks,
            })
        })
        .collect();
    facts.push(("codecs", json!(codecs)));
    tell(json, "stat", &facts)?;
    if !json {
        write_codecs(&stat)?;
    }
    Ok(())
}

fn places(stat: &Stat) -> Vec<(&'static str, serde_json::Value)> {
    let mut facts = vec![
        ("free_bytes", json!(stat.free_bytes)),
        ("free_runs", json!(stat.free_runs)),
        ("dictionaries", json!(stat.dictionaries.0)),
        ("dictionary_bytes", json!(stat.dictionaries.1)),
        ("extents", json!(stat.extents)),
        ("steps_not_in_place", json!(stat.steps)),
        ("backward_steps", json!(stat.backward_steps)),
        ("split_pages", json!(stat.split_pages)),
    ];
    if let Some(home) = stat.home_file {
        // What the count of blocks says against what the images need: more on btrfs, where the count may even be too low.
        let difference = home.allocated as f64 / stat.rounded_bytes.max(1) as f64 - 1.0;
        facts.push(("home_allocated_bytes", json!(home.allocated)));
        facts.push(("home_excess", json!(difference)));
        facts.push(("map_bytes", json!(stat.packed_file.length)));
    }
    facts
}

fn write_codecs(stat: &Stat) -> anyhow::Result<()> {
    let mut grid = Grid::new(vec![
        Heading::text("codec"),
        Heading::number("images"),
        Heading::number("bytes"),
        Heading::number("mean"),
        Heading::text("images by blocks of 4 KiB"),
    ]);
    for (method, codec) in &stat.codecs {
        let blocks = codec.blocks.iter().enumerate().filter(|(_, count)| **count > 0);
        let blocks: Vec<String> = blocks
            .map(|(index, count)| format!("{}: {}", index + 1, quantity::grouped(*count)))
            .collect();
        grid.push([
            method.name().to_owned(),
            quantity::grouped(codec.images),
            quantity::grouped(codec.bytes),
            quantity::grouped(codec.bytes / codec.images.max(1)),
            blocks.join(", "),
        ]);
    }
    write_grid(&grid)
}

fn write_grid(grid: &Grid) -> anyhow::Result<()> {
    let mut target = stdout::text();
    writeln!(target)?;
    if let Some(widths) = grid.widths(Frame::Plain, None) {
        grid.write(&mut target, Frame::Plain, &widths, None)?;
    }
    Ok(target.flush()?)
}

/// Checks a store and lists the damage.
pub(super) fn verify(
    path: &Path,
    level: Level,
    json: bool,
    console: Console,
) -> anyhow::Result<()> {
    let start = Start::now();
    let opened = opened(path, Access::Read);
    let verified = match opened {
        Ok(store) => {
            let mut progress = console.progress("verify", Total::Rows(store.len()));
            store.verify(level, &mut |seen| progress.update(seen.image_bytes, seen.pages))?
        }
        // What cannot be opened because it is damaged is the finding.
        Err(error) if error.kind() == tambour::Kind::Corrupt => {
            Verified { damage: vec![error], ..Verified::default() }
        }
        Err(error) => return Err(error.into()),
    };
    let time = start.elapsed();
    if json {
        let damage: Vec<_> = verified.damage.iter().map(told).collect();
        stdout::json(&json!({
            "schema": "tambour/verify/1",
            "path": path.display().to_string(),
            "kind": "pages",
            "good": verified.damage.is_empty(),
            "pages": verified.pages,
            "bytes": verified.image_bytes,
            "seconds": time.as_secs_f64(),
            "damage": damage,
        }))?;
    } else {
        let mut lines = stdout::text();
        for damage in &verified.damage {
            writeln!(lines, "{}", failure::chain(damage).join(": "))?;
        }
        lines.flush()?;
    }
    if !verified.damage.is_empty() {
        let places = quantity::counted(verified.damage.len() as u64, "place", "places");
        let summary = format!("{}: damaged in {places}", path.display());
        return Err(Failure::Listed { summary, exit: Exit::Corrupt }.into());
    }
    if !json {
        console.note(format_args!(
            "{}: good; {}, {} in {}",
            path.display(),
            quantity::counted(verified.pages, "page", "pages"),
            quantity::bytes(verified.image_bytes),
            quantity::seconds(time),
        ));
    }
    Ok(())
}

fn told(error: &PageError) -> serde_json::Value {
    let mut fields = failure::fields(error);
    if let (Some(page), Some(object)) = (error.page(), fields.as_object_mut()) {
        object.insert("page".to_owned(), json!(page));
    }
    fields
}

/// Probes a file system.
pub(super) fn doctor(arguments: &DoctorArguments) -> anyhow::Result<()> {
    let start = Start::now();
    let probes = doctor::examine(&arguments.path, &|| start.elapsed().as_secs_f64())?;
    if arguments.json {
        let probes: Vec<_> = probes
            .iter()
            .map(|probe| {
                json!({ "probe": probe.name, "verdict": probe.verdict.name(), "detail": probe.detail })
            })
            .collect();
        return Ok(stdout::json(&json!({
            "schema": "tambour/pages doctor/1",
            "path": arguments.path.display().to_string(),
            "probes": probes,
        }))?);
    }
    let mut grid =
        Grid::new(vec![Heading::text("probe"), Heading::text("verdict"), Heading::text("detail")]);
    for probe in &probes {
        grid.push([probe.name.to_owned(), probe.verdict.name().to_owned(), probe.detail.clone()]);
    }
    write_grid(&grid)
}
