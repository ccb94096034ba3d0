//! Makes a dictionary from samples.
//!
//! The text is picked by the trainer of libzstd. It is picked from every other sample (or connection); the codes are made
//! from the rest, since what stands in the text word by word would make matches look longer than they will be.

use crate::dictionary::{Check, DICTIONARY_BYTES_MAX, Dictionary};
use crate::encode::walk;
use crate::matches::{Index, Layout, PADDING, Parser};
use crate::model::{Counts, Model};
use crate::pin::Pin;
use crate::{MESSAGE_BYTES_MAX, MessageError};

/// All samples together.
pub const SAMPLE_BYTES_MAX: usize = 256 << 20;
/// How often the codes are made; each time the parse knows better what matches cost.
const PASSES: usize = 3;
/// How often the text is made half as long, to see whether that is better.
const HALVINGS_MAX: u32 = 3;
/// Texts are not made shorter than this.
const SHORTER_BYTES_MIN: usize = 4 << 10;
/// A text of half the length is taken when samples get longer by less than this part: 1 %.
const SHORTER_PART: u64 = 100;
/// Samples that the codes are made from; more would change nothing.
const COUNTED_MAX: usize = 20_000;
/// Fewest samples that a trainer can use.
const SAMPLES_MIN: usize = 16;

/// Collects samples and makes a dictionary of them.
///
/// Samples of one connection, marked by [`Trainer::add_from`], also teach how messages refer to a pinned first message.
///
/// ```
/// use tambour_message::{Check, Trainer};
/// let mut trainer = Trainer::default().with_content_bytes(1024).with_check(Check::default());
/// for i in 0..200 {
///     trainer.add(format!("get:{i} ok").as_bytes())?;
/// }
/// assert_eq!(trainer.samples(), 200);
/// assert!(trainer.train()?.content().len() <= 1024);
/// # Ok::<(), tambour_message::MessageError>(())
/// ```
#[derive(Debug)]
pub struct Trainer {
    bytes: Vec<u8>,
    /// End of each sample, and its connection.
    samples: Vec<(usize, Option<u64>)>,
    content_bytes: usize,
    check: Check,
}

impl Default for Trainer {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            samples: Vec::new(),
            content_bytes: DICTIONARY_BYTES_MAX,
            check: Check::default(),
        }
    }
}

impl Trainer {
    /// Makes a dictionary of at most this much text.
    pub fn with_content_bytes(mut self, bytes: usize) -> Self {
        self.content_bytes = bytes.min(DICTIONARY_BYTES_MAX);
        self
    }

    /// The check that messages get.
    pub fn with_check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    /// Adds a sample.
    pub fn add(&mut self, sample: &[u8]) -> Result<(), MessageError> {
        self.put(sample, None)
    }

    /// Adds a sample of a connection. The first one of each counts as its pinned message.
    ///
    /// ```
    /// use tambour_message::Trainer;
    /// let mut trainer = Trainer::default();
    /// for i in 0..200_u32 {
    ///     trainer.add_from(i.into(), format!("I am client {i}").as_bytes())?;
    ///     trainer.add_from(i.into(), format!("get:{i} ok").as_bytes())?;
    /// }
    /// assert!(trainer.train()?.knows_pins());
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn add_from(&mut self, connection: u64, sample: &[u8]) -> Result<(), MessageError> {
        self.put(sample, Some(connection))
    }

    fn put(&mut self, sample: &[u8], connection: Option<u64>) -> Result<(), MessageError> {
        if sample.len() > MESSAGE_BYTES_MAX {
            let (bytes, limit) = (sample.len() as u64, MESSAGE_BYTES_MAX);
            return Err(MessageError::TooLong { bytes, limit });
        }
        if self.bytes.len() + sample.len() > SAMPLE_BYTES_MAX {
            let reason = format!("more than {} MiB of samples", SAMPLE_BYTES_MAX >> 20);
            return Err(MessageError::Training { reason });
        }
        if !sample.is_empty() {
            self.bytes.extend_from_slice(sample);
            self.samples.push((self.bytes.len(), connection));
        }
        Ok(())
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Makes the dictionary.
    pub fn train(&self) -> Result<Dictionary, MessageError> {
        if self.samples.len() < SAMPLES_MIN {
            let reason = format!("{} samples are too few, give many more", self.samples.len());
            return Err(MessageError::Training { reason });
        }
        let counted = self.counted();
        let mut best: Option<Trained> = None;
        // A shorter text is nearer to the processor, and its distances are shorter: often it is the better one.
        for halvings in 0..=HALVINGS_MAX {
            let most = self.content_bytes >> halvings;
            if halvings > 0 && most < SHORTER_BYTES_MIN {
                break;
            }
            let content = self.content(most)?;
            if best.as_ref().is_some_and(|best| best.content.len() <= content.len()) {
                continue;
            }
            let trained = Trained::new(content, &counted)?;
            if best.as_ref().is_none_or(|best| trained.bits < best.bits + best.bits / SHORTER_PART)
            {
                best = Some(trained);
            }
        }
        let Some(Trained { content, plain, pinned, .. }) = best else {
            return Err(MessageError::Training { reason: "no training data was given".to_owned() });
        };
        Dictionary::new(content, self.check, plain, pinned)
    }
}

/// A text and its codes.
struct Trained {
    content: Vec<u8>,
    plain: Model,
    pinned: Option<Model>,
    /// Bits that samples take which are not in the text: after pins, where they are known.
    bits: u64,
}

impl Trained {
    fn new(content: Vec<u8>, counted: &[(Option<Pin>, &[u8])]) -> Result<Self, MessageError> {
        let index = Index::new(&content);
        let mut bits = 0;
        let (mut plain, mut pinned) = (Model::from_counts(&Counts::assumed())?, None);
        for _ in 0..PASSES {
            let plainly = counted.iter().map(|&(_, sample)| (None, sample));
            let counts = count(&content, &index, &plain, plainly);
            let behind = counted.iter().filter(|(pin, _)| pin.is_some());
            let behind = behind.map(|(pin, sample)| (pin.as_ref(), *sample));
            let counts_behind = count(&content, &index, pinned.as_ref().unwrap_or(&plain), behind);
            plain = Model::from_counts(&counts)?;
            bits = plain.bits(&counts);
            if !counts_behind.is_empty() {
                let model = Model::from_counts(&counts_behind)?;
                bits = model.bits(&counts_behind);
                pinned = Some(model);
            }
        }
        Ok(Self { content, plain, pinned, bits })
    }
}

impl Trainer {
    fn sample(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).map_or(0, |before| self.samples[before].0);
        &self.bytes[start..self.samples[place].0]
    }

    /// Whether all samples are of one connection, whose parts must do for both.
    fn is_one_connection(&self) -> bool {
        let first = self.samples.first().and_then(|sample| sample.1);
        // The last one differs wherever connections come one after another, as they do; looking at a few is enough.
        first.is_some() && self.samples.iter().rev().take(64).all(|sample| sample.1 == first)
    }

    /// Whether a sample is one of those whose text may go into the dictionary.
    fn is_for_text(&self, place: usize) -> bool {
        let by_place = place.is_multiple_of(2);
        if self.is_one_connection() {
            return by_place;
        }
        self.samples[place].1.map_or(by_place, |connection| connection.is_multiple_of(2))
    }

    /// The text, of this many bytes at most.
    fn content(&self, most: usize) -> Result<Vec<u8>, MessageError> {
        let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
        for place in 0..self.samples.len() {
            if self.is_for_text(place) {
                bytes.extend_from_slice(self.sample(place));
                lengths.push(self.sample(place).len());
            }
        }
        if bytes.len() <= most / 4 {
            // So few samples are better taken as they are.
            return Ok(bytes);
        }
        let mut content = vec![0; most];
        let trained = zstd_safe::train_from_buffer(&mut content[..], &bytes, &lengths);
        let length = trained.map_err(|code| {
            let reason = format!("libzstd: {}", zstd_safe::get_error_name(code));
            MessageError::Training { reason }
        })?;
        content.truncate(length);
        Ok(content)
    }

    /// The samples that the codes are made from, and the pins of their connections.
    fn counted(&self) -> Vec<(Option<Pin>, &[u8])> {
        let mut pins = std::collections::HashMap::new();
        let mut counted = Vec::new();
        let places = (0..self.samples.len()).filter(|&place| !self.is_for_text(place));
        for place in places.take(COUNTED_MAX) {
            let (sample, connection) = (self.sample(place), self.samples[place].1);
            let pin = connection.and_then(|connection| {
                let pin = pins.get(&connection).cloned();
                if pin.is_none() {
                    pins.insert(connection, Pin::new(sample)?);
                }
                pin
            });
            counted.push((pin, sample));
        }
        counted
    }
}

/// Counts the symbols of samples.
fn count<'a>(
    content: &[u8],
    index: &Index,
    model: &Model,
    samples: impl Iterator<Item = (Option<&'a Pin>, &'a [u8])>,
) -> Counts {
    let mut counts = Counts::new();
    let mut parser = Parser::default();
    let mut buffer = content.to_vec();
    for (pin, sample) in samples {
        let pin = pin.map_or(&[][..], Pin::bytes);
        buffer.truncate(content.len());
        buffer.extend_from_slice(pin);
        buffer.extend_from_slice(sample);
        buffer.extend_from_slice(&PADDING);
        let layout = Layout { dictionary_bytes: content.len(), pin_bytes: pin.len() };
        parser.parse(&buffer, layout, index, model);
        walk(&buffer, (layout, model.after_match), &parser.steps, &mut counts);
    }
    counts
}
