//! The experiment: how fast are LZ4 blocks decoded?
//!
//! Every file is cut into blocks, which C lz4 compresses. C lz4 decodes them (the *reference*), and so does every variant of
//! the kernel's table and the selector; with [`Settings::frontier`] other formats do the same with blocks of their own. The
//! contenders take turns in a random order, in one process; a round is one pass of each over all blocks of a file.
//!
//! A pass decodes groups of up to 16 blocks into buffers that are used again for the next group. Only decoding is timed, in
//! processor time of the thread; between groups every output is compared with the source, and the buffers are filled with
//! a pattern, so that a byte which was never written cannot be right by chance. Figures are medians over the rounds.
//!
//! Inside each pass the time is read after 8, 16, 32, … blocks, too: the selector starts a pass knowing nothing, and these
//! laps show what learning costs.

mod block;
mod contender;
mod json;
mod measure;
mod page;
mod rival;
mod summary;
mod table;

pub use contender::{Contender, Role};
pub use measure::{File, Timing};
pub use summary::{Regret, Score, Summary};

use crate::BenchError;
use crate::input::Input;
use tambour_kernel::variant::Isa;

/// What to measure, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Passes of every contender over every file; at least one.
    pub rounds: usize,
    /// Order of the contenders.
    pub seed: u64,
    /// Bytes of a block before compression.
    pub block_bytes: usize,
    /// Variants above this level do not take part.
    pub isa: Isa,
    /// Also measure other formats.
    pub frontier: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 10, seed: 1, block_bytes: 65_536, isa: Isa::best(), frontier: false }
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Files that are done.
    pub files_done: usize,
    /// All files.
    pub files: usize,
    /// The file that is next.
    pub name: &'a str,
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was asked for.
    pub settings: Settings,
    /// Who took part, in the order of [`File::timings`].
    pub contenders: Vec<Contender>,
    /// One per input.
    pub files: Vec<File>,
}

/// Runs the experiment.
pub fn run(
    inputs: &[Input],
    settings: &Settings,
    observe: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, BenchError> {
    if inputs.is_empty() {
        return Err(BenchError::NoInput { what: "the inputs".to_owned() });
    }
    let mut entrants = contender::all(settings);
    let mut files = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter().enumerate() {
        observe(Progress { files_done: index, files: inputs.len(), name: &input.name });
        files.push(measure::file(input, &mut entrants, settings)?);
    }
    let contenders = entrants.into_iter().map(|entrant| entrant.contender).collect();
    Ok(Results { settings: settings.clone(), contenders, files })
}

#[cfg(test)]
mod tests;
