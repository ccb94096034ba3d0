//! Encodes and decodes single messages.

use crate::bits::{self, BitWriter};
use crate::decode::{DECODE_MARGIN, decode};
use crate::dictionary::{Check, Dictionary};
use crate::encode::{Writing, walk};
use crate::matches::{Layout, PADDING, Parser};
use crate::pin::Pin;
use crate::{MESSAGE_BYTES_DEFAULT, MESSAGE_BYTES_MAX, MessageError};
use std::sync::{Arc, PoisonError, RwLock};
use tambour_kernel::hash::xxh3_64;

/// Bit of the header: the payload is the message itself.
const STORED: u32 = 1;
/// Bit of the header: the message refers to the pin.
const PINNED: u32 = 2;
/// The length stands above these bits.
const LENGTH_SHIFT: u32 = 2;
/// Longest header: a generation, and a number of up to 26 bits.
const HEADER_BYTES_MAX: usize = 5;
/// Dictionaries that a scratch has copies of.
const ROOMS_MAX: usize = 4;
/// Most bytes that a byte of a message is encoded to before it is found that it should be stored: a literal takes 20 bits, and a
/// match less than its literals are taken to cost.
const ENCODED_MAX: usize = 3;
/// What a scratch keeps of the room for messages.
const ROOM_BYTES_KEPT: usize = 256 << 10;

/// Encodes and decodes messages with dictionaries that it knows by generation. Shared by all threads and connections.
#[derive(Debug)]
pub struct MessageCodec {
    known: RwLock<Known>,
    message_bytes_max: usize,
}

/// The dictionaries.
#[derive(Debug)]
struct Known {
    /// Which one encodes.
    current: (u8, Arc<Dictionary>),
    all: Vec<(u8, Arc<Dictionary>)>,
}

impl MessageCodec {
    /// A codec that encodes with this dictionary and knows no other.
    pub fn new(generation: u8, dictionary: Dictionary) -> Self {
        let current = (generation, Arc::new(dictionary));
        let known = Known { current: current.clone(), all: vec![current] };
        Self { known: RwLock::new(known), message_bytes_max: MESSAGE_BYTES_DEFAULT }
    }

    /// Takes messages up to this length, at most [`MESSAGE_BYTES_MAX`], instead of [`MESSAGE_BYTES_DEFAULT`].
    ///
    /// ```
    /// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
    /// # let mut trainer = Trainer::default();
    /// # for i in 0..200 {
    /// #     trainer.add(format!("get:{i} ok").as_bytes())?;
    /// # }
    /// # let dictionary = trainer.train()?;
    /// let codec = MessageCodec::new(1, dictionary).with_message_bytes_max(100);
    /// let (mut scratch, mut encoded) = (Scratch::default(), Vec::new());
    /// assert!(codec.encode(&[7; 101], None, &mut scratch, &mut encoded).is_err());
    /// codec.encode(&[7; 100], None, &mut scratch, &mut encoded)?;
    /// assert!(encoded.len() <= codec.encoded_bytes_max());
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn with_message_bytes_max(mut self, bytes: usize) -> Self {
        self.message_bytes_max = bytes.min(MESSAGE_BYTES_MAX);
        self
    }

    /// Longest message that is taken, before encoding and after decoding.
    pub fn message_bytes_max(&self) -> usize {
        self.message_bytes_max
    }

    /// Most bytes by which an encoded message is longer than the message.
    pub const OVERHEAD_BYTES_MAX: usize = HEADER_BYTES_MAX + Check::Full.bytes();

    /// Longest encoded message that can be right.
    pub fn encoded_bytes_max(&self) -> usize {
        self.message_bytes_max + Self::OVERHEAD_BYTES_MAX
    }

    /// Makes a further dictionary known for decoding. To rotate: add it on all sides, then [`MessageCodec::switch_to`] it,
    /// and [`MessageCodec::retire`] the old one when none of its messages can be under way any more.
    ///
    /// ```
    /// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
    /// # let mut trainer = Trainer::default();
    /// # for i in 0..200 {
    /// #     trainer.add(format!("get:{i} ok").as_bytes())?;
    /// # }
    /// # let dictionary = trainer.train()?;
    /// # let next = Dictionary::from_bytes(&dictionary.to_bytes())?;
    /// # let (mut scratch, mut encoded, mut decoded) = (Scratch::default(), Vec::new(), Vec::new());
    /// let codec = MessageCodec::new(1, dictionary);
    /// codec.add(2, next)?;
    /// codec.switch_to(2)?;
    /// codec.encode(b"get:7 ok", None, &mut scratch, &mut encoded)?;
    /// assert!(codec.retire(1)?, "nothing is encoded with it any more");
    /// codec.decode(&encoded, None, &mut scratch, &mut decoded)?;
    /// assert_eq!(decoded, b"get:7 ok");
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn add(&self, generation: u8, dictionary: Dictionary) -> Result<(), MessageError> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.find(generation) {
            Some(taken) if taken.id() != dictionary.id() => {
                Err(MessageError::GenerationTaken { generation })
            }
            Some(_) => Ok(()),
            None => {
                known.all.push((generation, Arc::new(dictionary)));
                Ok(())
            }
        }
    }

    /// Encodes with this generation from now on.
    pub fn switch_to(&self, generation: u8) -> Result<(), MessageError> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let dictionary = known.find(generation).ok_or_else(|| known.unknown(generation))?;
        known.current = (generation, Arc::clone(dictionary));
        Ok(())
    }

    /// Forgets a generation, which can then be used again. `false` when there was none.
    pub fn retire(&self, generation: u8) -> Result<bool, MessageError> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.current.0 == generation {
            return Err(MessageError::GenerationInUse { generation });
        }
        let before = known.all.len();
        known.all.retain(|&(other, _)| other != generation);
        Ok(known.all.len() < before)
    }

    /// Appends the encoded message to `target`. A `pin` is what the receiver has pinned for this connection, too.
    pub fn encode(
        &self,
        message: &[u8],
        pin: Option<&Pin>,
        scratch: &mut Scratch,
        target: &mut Vec<u8>,
    ) -> Result<(), MessageError> {
        self.check_length(message.len() as u64)?;
        let known = self.read();
        let (generation, dictionary) = (known.current.0, &*known.current.1);
        let pinned = if pin.is_some() { PINNED } else { 0 };
        let start = target.len();
        put_header(target, generation, message.len(), pinned);
        let payload = target.len();
        scratch.encode(message, pin, dictionary, target);
        if target.len() - payload >= message.len() {
            target.truncate(start);
            put_header(target, generation, message.len(), STORED);
            target.extend_from_slice(message);
        }
        // A stored message does not depend on the pin.
        let pin = pin.filter(|_| target.len() - payload < message.len());
        let check = dictionary.check.bytes();
        target.extend_from_slice(&checksum(message, pin, dictionary).to_le_bytes()[..check]);
        Ok(())
    }

    /// Appends the message that `source` holds, all of it, to `target`. On an error nothing is appended.
    ///
    /// Nothing is allocated that the limit does not allow, whatever `source` says.
    ///
    /// ```
    /// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
    /// # let mut trainer = Trainer::default();
    /// # for i in 0..200 {
    /// #     trainer.add(format!("get:{i} ok").as_bytes())?;
    /// # }
    /// # let dictionary = trainer.train()?;
    /// let codec = MessageCodec::new(1, dictionary);
    /// let (mut scratch, mut encoded, mut decoded) = (Scratch::default(), Vec::new(), Vec::new());
    /// codec.encode(b"get:7 ok", None, &mut scratch, &mut encoded)?;
    /// encoded.pop();
    /// assert!(codec.decode(&encoded, None, &mut scratch, &mut decoded).is_err());
    /// assert!(decoded.is_empty(), "on an error nothing is appended");
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn decode(
        &self,
        source: &[u8],
        pin: Option<&Pin>,
        scratch: &mut Scratch,
        target: &mut Vec<u8>,
    ) -> Result<(), MessageError> {
        target.extend_from_slice(self.decode_in(source, pin, scratch)?);
        Ok(())
    }

    /// The message that `source` holds, all of it: in `scratch`, until that is used again.
    ///
    /// ```
    /// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
    /// # let mut trainer = Trainer::default();
    /// # for i in 0..200 {
    /// #     trainer.add(format!("get:{i} ok").as_bytes())?;
    /// # }
    /// # let codec = MessageCodec::new(1, trainer.train()?);
    /// # let (mut scratch, mut encoded) = (Scratch::default(), Vec::new());
    /// codec.encode(b"get:7 ok", None, &mut scratch, &mut encoded)?;
    /// assert_eq!(MessageCodec::decoded_bytes(&encoded)?, 8);
    /// assert_eq!(codec.decode_in(&encoded, None, &mut scratch)?, b"get:7 ok");
    /// # Ok::<(), tambour_message::MessageError>(())
    /// ```
    pub fn decode_in<'a>(
        &self,
        source: &'a [u8],
        pin: Option<&Pin>,
        scratch: &'a mut Scratch,
    ) -> Result<&'a [u8], MessageError> {
        let header = Header::read(source)?;
        let Header { generation, length, stored, pinned, .. } = header;
        self.check_length(length)?;
        let known = self.read();
        let dictionary = known.find(generation).ok_or_else(|| known.unknown(generation))?;
        let pin = if pinned { Some(pin.ok_or(MessageError::PinMissing)?) } else { None };
        let rest = &source[header.bytes..];
        let check = dictionary.check.bytes();
        let split = rest.len().checked_sub(check);
        let split = split.ok_or(MessageError::Header { bytes: source.len() })?;
        let (payload, check) = rest.split_at(split);
        #[expect(clippy::cast_possible_truncation, reason = "compared with the limit")]
        let length = length as usize;
        let message = if stored {
            if payload.len() != length {
                let reason = "a stored message of another length than its header says";
                return Err(MessageError::BadHeader { reason });
            }
            payload
        } else {
            let decoded = scratch.decode(payload, length, pin, dictionary);
            decoded.map_err(|cause| MessageError::Payload { bytes: source.len(), cause })?
        };
        let mut expected = [0; 4];
        expected[..check.len()].copy_from_slice(check);
        let expected = u32::from_le_bytes(expected);
        let got = match check.len() {
            0 => 0,
            2 => checksum(message, pin, dictionary) & 0xffff,
            _ => checksum(message, pin, dictionary),
        };
        if expected != got {
            return Err(MessageError::Check { expected, got });
        }
        Ok(message)
    }

    /// How long the header of an encoded message says that the message is: at most [`MESSAGE_BYTES_MAX`]. Nothing else of it is
    /// checked.
    pub fn decoded_bytes(source: &[u8]) -> Result<usize, MessageError> {
        let length = Header::read(source)?.length;
        match usize::try_from(length) {
            Ok(bytes) if bytes <= MESSAGE_BYTES_MAX => Ok(bytes),
            _ => Err(MessageError::TooLong { bytes: length, limit: MESSAGE_BYTES_MAX }),
        }
    }

    fn check_length(&self, bytes: u64) -> Result<(), MessageError> {
        let limit = self.message_bytes_max;
        if bytes > limit as u64 { Err(MessageError::TooLong { bytes, limit }) } else { Ok(()) }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn find(&self, generation: u8) -> Option<&Arc<Dictionary>> {
        self.all.iter().find(|&&(other, _)| other == generation).map(|(_, dictionary)| dictionary)
    }

    fn unknown(&self, generation: u8) -> MessageError {
        let known: Vec<String> = self.all.iter().map(|(other, _)| other.to_string()).collect();
        MessageError::UnknownGeneration { generation, known: known.join(", ") }
    }
}

/// What stands before the payload.
struct Header {
    generation: u8,
    /// Length of the decoded message.
    length: u64,
    stored: bool,
    pinned: bool,
    /// Bytes of the header.
    bytes: usize,
}

impl Header {
    fn read(source: &[u8]) -> Result<Self, MessageError> {
        let refused = |reason| Err(MessageError::BadHeader { reason });
        let cut = MessageError::Header { bytes: source.len() };
        let Some((&generation, rest)) = source.split_first() else { return Err(cut) };
        let mut value = 0;
        for (place, &byte) in rest.iter().take(HEADER_BYTES_MAX - 1).enumerate() {
            value |= u32::from(byte & 0x7f) << (7 * place);
            if byte >= 0x80 {
                continue;
            }
            if byte == 0 && place > 0 {
                return refused("its length has more bytes than it needs");
            }
            let (stored, pinned) = (value & STORED != 0, value & PINNED != 0);
            if stored && pinned {
                return refused("both stored and after a pin");
            }
            let length = u64::from(value >> LENGTH_SHIFT);
            return Ok(Self { generation, length, stored, pinned, bytes: place + 2 });
        }
        if rest.len() < HEADER_BYTES_MAX - 1 {
            return Err(cut);
        }
        refused("its length has more bytes than any message needs")
    }
}

fn put_header(target: &mut Vec<u8>, generation: u8, length: usize, flags: u32) {
    target.push(generation);
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^24")]
    let mut value = (length as u32) << LENGTH_SHIFT | flags;
    #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    while value >= 0x80 {
        target.push(value as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than eight bits are left")]
    target.push(value as u8);
}

/// The check of a message: of its bytes, its dictionary and its pin.
fn checksum(message: &[u8], pin: Option<&Pin>, dictionary: &Dictionary) -> u32 {
    if dictionary.check == Check::None {
        return 0;
    }
    let seed = dictionary.id() ^ pin.map_or(0, Pin::hash);
    #[expect(clippy::cast_possible_truncation, reason = "four bytes are stored")]
    let hash = xxh3_64(message, seed) as u32;
    hash
}

/// Memory for encoding and decoding: one per thread. Keeps nothing that a result depends on.
///
/// Takes about 64 KiB for each dictionary in use, at most four of them, and what the longest message of late needs.
///
/// ```
/// # use tambour_message::{Dictionary, MessageCodec, Scratch, Trainer};
/// # let mut trainer = Trainer::default();
/// # for i in 0..200 {
/// #     trainer.add(format!("get:{i} ok").as_bytes())?;
/// # }
/// # let dictionary = trainer.train()?;
/// let codec = MessageCodec::new(1, dictionary);
/// let (mut scratch, mut encoded) = (Scratch::default(), Vec::new());
/// let before = scratch.memory_bytes();
/// codec.encode(b"get:7 ok", None, &mut scratch, &mut encoded)?;
/// assert!(scratch.memory_bytes() > before, "what a dictionary needs is taken on its first use");
/// # Ok::<(), tambour_message::MessageError>(())
/// ```
#[derive(Debug, Default)]
pub struct Scratch {
    /// Latest first.
    rooms: Vec<Room>,
    parser: Parser,
    /// Bits that are written, and those that are read with zeros after them.
    bits: Vec<u8>,
}

/// A copy of a dictionary, with room for pin and message after it.
#[derive(Debug)]
struct Room {
    id: u64,
    buffer: Vec<u8>,
}

impl Scratch {
    /// Bytes that this scratch has taken.
    pub fn memory_bytes(&self) -> usize {
        let rooms: usize = self.rooms.iter().map(|room| room.buffer.capacity()).sum();
        rooms + self.parser.memory_bytes() + self.bits.capacity()
    }

    fn room(&mut self, dictionary: &Dictionary) -> &mut Room {
        let place =
            if let Some(place) = self.rooms.iter().position(|room| room.id == dictionary.id()) {
                place
            } else {
                self.rooms.truncate(ROOMS_MAX - 1);
                let buffer = dictionary.content.clone();
                self.rooms.push(Room { id: dictionary.id(), buffer });
                self.rooms.len() - 1
            };
        self.rooms.swap(0, place);
        &mut self.rooms[0]
    }

    /// Appends the payload of a message.
    fn encode(
        &mut self,
        message: &[u8],
        pin: Option<&Pin>,
        dictionary: &Dictionary,
        target: &mut Vec<u8>,
    ) {
        let room = self.room(dictionary);
        let layout = room.lay_out(pin, dictionary, message.len() + PADDING.len());
        let end = layout.start() + message.len();
        let mut room = std::mem::take(&mut room.buffer);
        room[layout.start()..end].copy_from_slice(message);
        room[end..end + PADDING.len()].copy_from_slice(&PADDING);
        let source = &room[..end + PADDING.len()];
        let model = dictionary.model(pin.is_some());
        self.parser.parse(source, layout, &dictionary.index, model);
        let most = message.len() * ENCODED_MAX + bits::MARGIN;
        if self.bits.len() < most {
            self.bits.resize(most, 0);
        }
        let mut sink = Writing { model, writer: BitWriter::new(&mut self.bits) };
        walk(source, (layout, model.after_match), &self.parser.steps, &mut sink);
        let length = sink.writer.finish();
        target.extend_from_slice(&self.bits[..length]);
        self.give_back(room, dictionary);
    }

    /// Decodes a payload of this many bytes; the result lies in the room.
    fn decode(
        &mut self,
        payload: &[u8],
        length: usize,
        pin: Option<&Pin>,
        dictionary: &Dictionary,
    ) -> Result<&[u8], crate::Malformed> {
        let padded = payload.len() + bits::MARGIN;
        if self.bits.len() < padded {
            self.bits.resize(padded, 0);
        }
        self.bits[..payload.len()].copy_from_slice(payload);
        self.bits[payload.len()..padded].fill(0);
        let bits = std::mem::take(&mut self.bits);
        let room = self.room(dictionary);
        room.keep(dictionary.content.len() + ROOM_BYTES_KEPT);
        let layout = room.lay_out(pin, dictionary, length + DECODE_MARGIN);
        let end = layout.start() + length;
        let model = dictionary.model(pin.is_some());
        let decoded = decode(&bits[..padded], &mut room.buffer, (layout, end), model);
        if bits.capacity() <= ROOM_BYTES_KEPT {
            self.bits = bits;
        }
        decoded?;
        Ok(&self.rooms[0].buffer[layout.start()..end])
    }

    fn give_back(&mut self, buffer: Vec<u8>, dictionary: &Dictionary) {
        self.rooms[0].buffer = buffer;
        if self.rooms[0].keep(dictionary.content.len() + ROOM_BYTES_KEPT) {
            self.parser = Parser::default();
            self.bits = Vec::new();
        }
    }
}

impl Room {
    /// Puts the pin after the dictionary, and sees that there are this many bytes for the message after both: what they are
    /// nobody knows.
    fn lay_out(&mut self, pin: Option<&Pin>, dictionary: &Dictionary, bytes: usize) -> Layout {
        let pin = pin.map_or(&[][..], Pin::bytes);
        let layout = Layout { dictionary_bytes: dictionary.content.len(), pin_bytes: pin.len() };
        if self.buffer.len() < layout.start() + bytes {
            self.buffer.resize(layout.start() + bytes, 0);
        }
        self.buffer[layout.dictionary_bytes..layout.start()].copy_from_slice(pin);
        layout
    }

    /// Gives memory back that is above this many bytes; whether there was any.
    fn keep(&mut self, bytes: usize) -> bool {
        let more = self.buffer.capacity() > bytes;
        if more {
            self.buffer.truncate(bytes);
            self.buffer.shrink_to(bytes);
        }
        more
    }
}
