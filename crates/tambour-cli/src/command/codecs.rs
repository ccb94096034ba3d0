//! `tambour codecs`: what can be written after CODEC, and what runs it here.

use crate::cli::CodecsArguments;
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::stdout;
use serde_json::json;
use std::io::Write;
use tambour::codec::codec::{ALIASES, FAMILIES, Family, Scope};
use tambour::codec::kernels::{self, Listed};
use tambour::kernel::column::{alp, delta, double_delta, gcd, gorilla, t64};
use tambour::kernel::lz4;
use tambour::kernel::variant::{Runnable, Variants};

/// Prints the list.
pub(crate) fn run(arguments: &CodecsArguments) -> anyhow::Result<()> {
    let isa = kernels::isa()?;
    if arguments.json {
        let codecs: Vec<_> = FAMILIES
            .iter()
            .chain(ALIASES)
            .map(|family| {
                json!({
                    "name": family.name,
                    "method": family.method,
                    "suits": suits(family),
                    "variants": variants(family),
                    "in_use": in_use(family),
                })
            })
            .collect();
        let kernel = |listed: Listed| {
            json!({
                "kernel": listed.kernel,
                "variants": listed.variants,
                "in_use": listed.in_use,
            })
        };
        let beside: Vec<_> = kernels::beside_codecs()?.into_iter().map(kernel).collect();
        let result = json!({
            "schema": "tambour/codecs/1",
            "isa": isa.name(),
            "codecs": codecs,
            "kernels": beside,
        });
        return Ok(stdout::json(&result)?);
    }
    let mut grid = Grid::new(vec![
        Heading::text("codec"),
        Heading::text("method"),
        Heading::text("suits"),
        Heading::text("variants here (in use)"),
    ]);
    for family in FAMILIES.iter().chain(ALIASES) {
        grid.push([
            family.name.to_owned(),
            format!("{:#04x}", family.method),
            suits(family).to_owned(),
            described_variants(family),
        ]);
    }
    let mut target = stdout::text();
    if let Some(widths) = grid.widths(Frame::Plain, None) {
        grid.write(&mut target, Frame::Plain, &widths, None)?;
    }
    let mut grid =
        Grid::new(vec![Heading::text("kernel"), Heading::text("variants here (in use)")]);
    for listed in kernels::beside_codecs()? {
        grid.push([listed.kernel.to_owned(), described(&listed.variants, Some(listed.in_use))]);
    }
    writeln!(target)?;
    if let Some(widths) = grid.widths(Frame::Plain, None) {
        grid.write(&mut target, Frame::Plain, &widths, None)?;
    }
    writeln!(
        target,
        "\nInstruction sets up to {isa}; the environment variable TAMBOUR_ISA caps them."
    )?;
    target.flush()?;
    Ok(())
}

/// What a codec is good for, in a few words.
fn suits(family: &Family) -> &'static str {
    match (family.name, family.scope) {
        ("NONE", _) => "data that does not compress",
        ("LZ4", _) => "everything; the fastest to read",
        ("LZ4HC", _) => "written once, read often: LZ4HC(3) to LZ4HC(12)",
        ("Multiple", _) => "chains, as they are stored: CODEC(Delta, T64, LZ4)",
        ("Delta" | "DoubleDelta", _) => "sorted or steady numbers, clocks, counters",
        ("T64", _) => "integers in a small range",
        ("GCD", _) => "integers in steps, before other codecs",
        ("Gorilla" | "FPC", _) => "floats that change slowly",
        ("ALP", _) => "floats that are decimals",
        ("ZSTD", _) => "everything; smaller, slower: ZSTD(1) to ZSTD(22)",
        ("PFOR" | "StreamVByte", _) => {
            "integers near each other; ours, ClickHouse does not read it"
        }
        ("FSST", _) => "texts that are read one by one; ours, ClickHouse does not read it",
        ("Pco", _) => "archives of numbers; ours, ClickHouse does not read it",
        (_, Scope::Generic) => "any bytes",
        (_, Scope::Values) => "numbers",
    }
}

/// The variants of the decoder that this processor runs, best first; none where there is one way only.
fn variants(family: &Family) -> Vec<&'static str> {
    match family.name {
        "LZ4" | "LZ4HC" => names(&lz4::DECODE_VARIANTS),
        "Delta" => names(&delta::DECODE_VARIANTS),
        "DoubleDelta" => names(&double_delta::DECODE_VARIANTS),
        "Gorilla" => names(&gorilla::DECODE_VARIANTS),
        "T64" => names(&t64::DECODE_VARIANTS),
        "GCD" => names(&gcd::DECODE_VARIANTS),
        "ALP" => names(&alp::DECODE_VARIANTS),
        _ => Vec::new(),
    }
}

fn names<F: Copy + 'static>(table: &Variants<F>) -> Vec<&'static str> {
    table.available().map(Runnable::name).collect()
}

fn in_use(family: &Family) -> Option<&'static str> {
    let is_listed = !variants(family).is_empty();
    kernels::in_use(family.name).ok().flatten().filter(|_| is_listed)
}

fn described_variants(family: &Family) -> String {
    described(&variants(family), in_use(family))
}

fn described(variants: &[&'static str], in_use: Option<&str>) -> String {
    let mark = |name: &&str| {
        if in_use == Some(*name) { format!("({name})") } else { (*name).to_owned() }
    };
    if variants.is_empty() {
        "-".to_owned()
    } else {
        variants.iter().map(mark).collect::<Vec<_>>().join(" ")
    }
}
