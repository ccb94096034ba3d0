//! What a selector of LZ4 decoders learns from a stream: `inspect --stats`.

use super::write_grid;
use crate::output::grid::{Grid, Heading};
use crate::output::quantity;
use serde_json::json;
use std::io::{self, Write};
use tambour::codec::kernels;
use tambour::kernel::lz4::{Learned, Policy, Selector, ticks};

/// Decodes blocks by a selector and tells what that found out.
#[derive(Debug)]
pub(super) struct Learning {
    selector: Selector,
    target: Vec<u8>,
    blocks: u64,
    bytes: u64,
}

impl Learning {
    /// A selector that knows nothing.
    pub(super) fn new() -> anyhow::Result<Self> {
        let selector = Selector::new(Policy::Adaptive, kernels::isa()?, ticks);
        Ok(Self { selector, target: Vec::new(), blocks: 0, bytes: 0 })
    }

    /// Decodes a block that needs nothing before it. One that is damaged is passed by: others tell of that.
    pub(super) fn decode(&mut self, source: &[u8], content: usize) {
        self.target.resize(content, 0);
        if self.selector.decode(source, &mut self.target).is_ok() {
            self.blocks += 1;
            self.bytes += content as u64;
        }
    }

    /// The variants that were timed or are in use, the fastest first.
    fn learned(&self) -> Vec<Learned> {
        let mut learned = self.selector.learned();
        learned.retain(|choice| choice.lanes == 1 && (choice.calls > 0 || choice.in_use));
        learned.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        learned
    }

    pub(super) fn write(&self, target: &mut dyn Write) -> io::Result<()> {
        writeln!(target)?;
        if self.blocks == 0 {
            let why = "the selector learns from LZ4 blocks that stand alone; there are none here";
            return writeln!(target, "{why}");
        }
        let blocks = quantity::counted(self.blocks, "LZ4 block", "LZ4 blocks");
        let bytes = quantity::bytes(self.bytes);
        writeln!(target, "what the selector learned from {blocks} ({bytes} decoded)")?;
        let mut grid = Grid::new(vec![
            Heading::text("variant"),
            Heading::number("calls"),
            Heading::number("timed"),
            Heading::number("ticks/KiB"),
            Heading::text(""),
        ]);
        for choice in self.learned() {
            let cost = cost(&choice);
            grid.push([
                choice.name.to_owned(),
                quantity::grouped(choice.calls),
                quantity::bytes(choice.bytes),
                if cost.is_finite() { format!("{cost:.0}") } else { "-".to_owned() },
                if choice.in_use { "in use".to_owned() } else { String::new() },
            ]);
        }
        write_grid(target, &grid)
    }

    pub(super) fn to_json(&self) -> serde_json::Value {
        let choice = |choice: &Learned| {
            json!({
                "variant": choice.name,
                "in_use": choice.in_use,
                "calls": choice.calls,
                "bytes": choice.bytes,
                "ticks": choice.ticks,
            })
        };
        json!({
            "blocks": self.blocks,
            "bytes": self.bytes,
            "variants": self.learned().iter().map(choice).collect::<Vec<_>>(),
        })
    }
}

/// Ticks per KiB; without a measurement there is no telling.
fn cost(choice: &Learned) -> f64 {
    if choice.bytes == 0 {
        f64::INFINITY
    } else {
        choice.ticks as f64 * 1024.0 / choice.bytes as f64
    }
}
