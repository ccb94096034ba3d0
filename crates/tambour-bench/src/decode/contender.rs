//! Who takes part.

use super::Settings;
use super::rival::{self, CLz4, CLz4High, Rival};
use tambour_kernel::lz4::{Block, DECODE_VARIANTS, Decode, Policy, Selector, ticks};
use tambour_kernel::variant::{Isa, Runnable};

/// What a contender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// C lz4, `LZ4_decompress_safe`: what all others are compared with.
    Reference,
    /// A variant of the kernel's table.
    Variant,
    /// The same, two blocks in turns.
    Pair,
    /// A selector that picks a variant per block.
    Adaptive,
    /// A selector that gets many blocks at once.
    Batch,
    /// The same variant on blocks of another encoder, or another format.
    Rival,
    /// Copies bytes that are not compressed.
    Limit,
}

impl Role {
    /// As in CSV and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Variant => "variant",
            Self::Pair => "pair",
            Self::Adaptive => "adaptive",
            Self::Batch => "batch",
            Self::Rival => "rival",
            Self::Limit => "limit",
        }
    }
}

/// Name and role of a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Unique in a run.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Level that it needs, where it is a variant.
    pub isa: Option<Isa>,
}

/// A contender that can be run.
#[derive(Debug)]
pub(super) struct Entrant {
    pub(super) contender: Contender,
    /// Index of its encoder in [`encoders`].
    pub(super) encoder: usize,
    pub(super) decoder: Decoder,
}

/// How a contender decodes a group of blocks.
#[derive(Debug)]
pub(super) enum Decoder {
    Variant(Runnable<Decode>),
    Pair(Runnable<Decode>),
    Adaptive(Box<Selector>),
    Batch(Box<Selector>),
    Rival(Box<dyn Rival>),
}

impl Decoder {
    /// A new stream of blocks begins: what was learned is forgotten.
    pub(super) fn start(&mut self) {
        match self {
            Self::Variant(_) | Self::Pair(_) | Self::Rival(_) => {}
            Self::Adaptive(selector) | Self::Batch(selector) => selector.reset(),
        }
    }

    /// Decodes a group; whether it accepted all blocks. This is what is timed.
    pub(super) fn decode(&mut self, blocks: &mut [Block<'_>]) -> bool {
        match self {
            Self::Variant(variant) => blocks.iter_mut().fold(true, |good, block| {
                block.result = variant.decode(block.source, block.target);
                good & block.result.is_ok()
            }),
            Self::Adaptive(selector) => blocks.iter_mut().fold(true, |good, block| {
                block.result = selector.decode(block.source, block.target);
                good & block.result.is_ok()
            }),
            Self::Pair(variant) => {
                variant.decode_batch(blocks);
                blocks.iter().all(|block| block.result.is_ok())
            }
            Self::Batch(selector) => {
                selector.decode_batch(blocks);
                blocks.iter().all(|block| block.result.is_ok())
            }
            Self::Rival(rival) => blocks
                .iter_mut()
                .fold(true, |good, block| good & rival.decode(block.source, block.target)),
        }
    }
}

/// The encoders of a run; the first is the one of the experiment proper.
pub(super) fn encoders(settings: &Settings) -> Vec<Box<dyn Rival>> {
    let mut encoders: Vec<Box<dyn Rival>> = vec![Box::new(CLz4)];
    encoders.push(Box::new(rival::Copy));
    if settings.frontier {
        encoders.extend(rival::parses());
        encoders.extend(rival::others());
    }
    encoders
}

/// Everybody who takes part; the reference comes first.
pub(super) fn all(settings: &Settings) -> Vec<Entrant> {
    let entrant = |name: &str, role, encoder, decoder| Entrant {
        contender: Contender { name: name.to_owned(), role, isa: None },
        encoder,
        decoder,
    };
    let mut list = vec![entrant("reference", Role::Reference, 0, Decoder::Rival(Box::new(CLz4)))];
    let variants = DECODE_VARIANTS.available().filter(|variant| variant.isa() <= settings.isa);
    for variant in variants {
        let pair = format!("{} x2", variant.name());
        let both = [
            entrant(variant.name(), Role::Variant, 0, Decoder::Variant(variant)),
            entrant(&pair, Role::Pair, 0, Decoder::Pair(variant)),
        ];
        list.extend(both.map(|mut entrant| {
            entrant.contender.isa = Some(variant.isa());
            entrant
        }));
    }
    let selector = |policy| Box::new(Selector::new(policy, settings.isa, ticks));
    let adaptive = [
        ("adaptive", Role::Adaptive, Decoder::Adaptive(selector(Policy::Adaptive))),
        ("adaptive batch", Role::Batch, Decoder::Batch(selector(Policy::Adaptive))),
        ("thompson", Role::Adaptive, Decoder::Adaptive(selector(Policy::Thompson))),
    ];
    list.extend(adaptive.map(|(name, role, decoder)| entrant(name, role, 0, decoder)));
    list.push(entrant("memcpy", Role::Limit, 1, Decoder::Rival(Box::new(rival::Copy))));
    if settings.frontier {
        let (mut encoder, parses) = (2, rival::parses());
        // What C lz4 makes of a slow parse, and what the selector does.
        list.push(entrant("lz4 hc 9", Role::Rival, encoder, Decoder::Rival(Box::new(CLz4High))));
        for parse in parses {
            let name = format!("{}, adaptive batch", parse.name());
            let decoder = Decoder::Batch(selector(Policy::Adaptive));
            list.push(entrant(&name, Role::Rival, encoder, decoder));
            encoder += 1;
        }
        for other in rival::others() {
            list.push(entrant(other.name(), Role::Rival, encoder, Decoder::Rival(other)));
            encoder += 1;
        }
    }
    list
}
