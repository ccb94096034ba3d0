//! Who compresses messages.

use crate::BenchError;
use tambour_message::{Check, Dictionary, MessageCodec, Pin, Scratch};
use zstd_safe::{
    CCtx, CDict, CParameter, DCtx, DDict, DParameter, InBuffer, OutBuffer, SafeResult,
    zstd_sys::ZSTD_EndDirective,
};

/// Level of all zstd contenders.
const LEVEL: i32 = 1;
/// Logarithm of the window of streams.
const WINDOW_LOG: u32 = 15;
/// Room for one message.
const MESSAGE_BYTES: usize = 1 << 20;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A zstd stream per connection.
    Streaming,
    /// The same, started with the dictionary.
    StreamingDictionary,
    /// Each message a zstd frame of its own.
    Single,
    /// The same with the dictionary.
    SingleDictionary,
    /// This project's messages.
    Tambour,
    /// The same with pinned first messages.
    TambourPinned,
}

impl Way {
    /// All, those that take little memory first: what they leave behind in the heap hides nothing of the others.
    pub const ALL: [Self; 6] = [
        Self::Tambour,
        Self::TambourPinned,
        Self::SingleDictionary,
        Self::Single,
        Self::StreamingDictionary,
        Self::Streaming,
    ];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Streaming => "zstd stream per connection",
            Self::StreamingDictionary => "zstd stream per connection, dictionary",
            Self::Single => "zstd per message",
            Self::SingleDictionary => "zstd per message, dictionary",
            Self::Tambour => "tambour messages",
            Self::TambourPinned => "tambour messages, pins",
        }
    }
}

/// What all contenders are given: dictionaries trained on the same samples.
pub(super) struct Shared {
    /// Ours, as a file.
    pub(super) dictionary: Vec<u8>,
    /// That of libzstd, digested once for all connections, as a careful server does.
    pub(super) zstd: (CDict<'static>, DDict<'static>),
}

impl Shared {
    pub(super) fn new(dictionary: Vec<u8>, zstd: &[u8]) -> Self {
        Self { dictionary, zstd: (CDict::create(zstd, LEVEL), DDict::create(zstd)) }
    }
}

/// The two ends of all connections.
pub(super) trait Ends {
    fn encode(
        &mut self,
        connection: usize,
        message: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), BenchError>;
    fn decode(
        &mut self,
        connection: usize,
        source: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), BenchError>;
    /// Bytes that the senders say they have taken, and the receivers.
    fn declared_bytes(&self) -> (usize, usize);
}

/// New ends for this many connections.
pub(super) fn ends(
    way: Way,
    shared: &Shared,
    connections: usize,
) -> Result<Box<dyn Ends + '_>, BenchError> {
    Ok(match way {
        Way::Streaming => Box::new(Streams::new(None, connections)?),
        Way::StreamingDictionary => Box::new(Streams::new(Some(&shared.zstd), connections)?),
        Way::Single => Box::new(Singles::new(None)),
        Way::SingleDictionary => Box::new(Singles::new(Some(&shared.zstd))),
        Way::Tambour => Box::new(Ours::new(shared, None)?),
        Way::TambourPinned => Box::new(Ours::new(shared, Some(connections))?),
    })
}

fn failed(code: usize) -> BenchError {
    BenchError::Message { reason: zstd_safe::get_error_name(code).to_owned() }
}

fn done(result: SafeResult) -> Result<usize, BenchError> {
    result.map_err(failed)
}

/// A context per connection and direction.
struct Streams<'a> {
    senders: Vec<CCtx<'a>>,
    receivers: Vec<DCtx<'a>>,
    room: Vec<u8>,
}

impl<'a> Streams<'a> {
    fn new(
        dictionary: Option<&'a (CDict<'static>, DDict<'static>)>,
        connections: usize,
    ) -> Result<Self, BenchError> {
        let mut streams =
            Self { senders: Vec::new(), receivers: Vec::new(), room: vec![0; MESSAGE_BYTES] };
        for _ in 0..connections {
            let mut sender = CCtx::create();
            done(sender.set_parameter(CParameter::CompressionLevel(LEVEL)))?;
            done(sender.set_parameter(CParameter::WindowLog(WINDOW_LOG)))?;
            let mut receiver = DCtx::create();
            done(receiver.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)))?;
            if let Some((cdict, ddict)) = dictionary {
                done(sender.ref_cdict(cdict))?;
                done(receiver.ref_ddict(ddict))?;
            }
            streams.senders.push(sender);
            streams.receivers.push(receiver);
        }
        Ok(streams)
    }
}

impl Ends for Streams<'_> {
    fn encode(
        &mut self,
        connection: usize,
        message: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let mut input = InBuffer::around(message);
        loop {
            let mut output = OutBuffer::around(&mut self.room[..]);
            let flush = ZSTD_EndDirective::ZSTD_e_flush;
            let left = self.senders[connection].compress_stream2(&mut output, &mut input, flush);
            target.extend_from_slice(output.as_slice());
            if done(left)? == 0 {
                return Ok(());
            }
        }
    }

    fn decode(
        &mut self,
        connection: usize,
        source: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let mut input = InBuffer::around(source);
        loop {
            let mut output = OutBuffer::around(&mut self.room[..]);
            done(self.receivers[connection].decompress_stream(&mut output, &mut input))?;
            let full = output.pos() == output.capacity();
            target.extend_from_slice(output.as_slice());
            if input.pos() == source.len() && !full {
                return Ok(());
            }
        }
    }

    fn declared_bytes(&self) -> (usize, usize) {
        let senders = self.senders.iter().map(CCtx::sizeof).sum();
        (senders, self.receivers.iter().map(DCtx::sizeof).sum())
    }
}

/// One context for all.
struct Singles<'a> {
    sender: CCtx<'static>,
    receiver: DCtx<'static>,
    dictionary: Option<&'a (CDict<'static>, DDict<'static>)>,
    room: Vec<u8>,
}

impl<'a> Singles<'a> {
    fn new(dictionary: Option<&'a (CDict<'static>, DDict<'static>)>) -> Self {
        Self {
            sender: CCtx::create(),
            receiver: DCtx::create(),
            dictionary,
            room: vec![0; MESSAGE_BYTES],
        }
    }
}

impl Ends for Singles<'_> {
    fn encode(&mut self, _: usize, message: &[u8], target: &mut Vec<u8>) -> Result<(), BenchError> {
        let room = &mut self.room[..];
        let written = match self.dictionary {
            Some((dictionary, _)) => self.sender.compress_using_cdict(room, message, dictionary),
            None => self.sender.compress(room, message, LEVEL),
        };
        target.extend_from_slice(&self.room[..done(written)?]);
        Ok(())
    }

    fn decode(&mut self, _: usize, source: &[u8], target: &mut Vec<u8>) -> Result<(), BenchError> {
        let room = &mut self.room[..];
        let written = match self.dictionary {
            Some((_, dictionary)) => self.receiver.decompress_using_ddict(room, source, dictionary),
            None => self.receiver.decompress(room, source),
        };
        target.extend_from_slice(&self.room[..done(written)?]);
        Ok(())
    }

    fn declared_bytes(&self) -> (usize, usize) {
        let (cdict, ddict) = self.dictionary.map_or((0, 0), |(c, d)| (c.sizeof(), d.sizeof()));
        (self.sender.sizeof() + cdict, self.receiver.sizeof() + ddict)
    }
}

/// This project's codec.
struct Ours {
    codec: MessageCodec,
    dictionary_bytes: usize,
    scratch: Scratch,
    /// What senders have pinned, and receivers.
    pins: Option<[Vec<Option<Pin>>; 2]>,
}

impl Ours {
    fn new(shared: &Shared, pins: Option<usize>) -> Result<Self, BenchError> {
        let dictionary = Dictionary::from_bytes(&shared.dictionary).map_err(message_failed)?;
        let dictionary_bytes = dictionary.memory_bytes();
        Ok(Self {
            codec: MessageCodec::new(1, dictionary),
            dictionary_bytes,
            scratch: Scratch::default(),
            pins: pins.map(|connections| [vec![None; connections], vec![None; connections]]),
        })
    }
}

fn message_failed(error: tambour_message::MessageError) -> BenchError {
    BenchError::Message { reason: error.to_string() }
}

impl Ends for Ours {
    fn encode(
        &mut self,
        connection: usize,
        message: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let pin = self.pins.as_ref().and_then(|pins| pins[0][connection].as_ref());
        let encoded = self.codec.encode(message, pin, &mut self.scratch, target);
        if let Some(pins) = &mut self.pins {
            let pin = &mut pins[0][connection];
            *pin = pin.take().or_else(|| Pin::new(message));
        }
        encoded.map_err(message_failed)
    }

    fn decode(
        &mut self,
        connection: usize,
        source: &[u8],
        target: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let pin = self.pins.as_ref().and_then(|pins| pins[1][connection].as_ref());
        let start = target.len();
        let decoded = self.codec.decode(source, pin, &mut self.scratch, target);
        if let Some(pins) = &mut self.pins {
            let pin = &mut pins[1][connection];
            *pin = pin.take().or_else(|| Pin::new(&target[start..]));
        }
        decoded.map_err(message_failed)
    }

    fn declared_bytes(&self) -> (usize, usize) {
        let pins = self.pins.as_ref().map_or([0, 0], |pins| {
            pins.each_ref().map(|pins| {
                let kept: usize = pins.iter().flatten().map(|pin| pin.bytes().len()).sum();
                kept + pins.capacity() * size_of::<Option<Pin>>()
            })
        });
        let shared = self.dictionary_bytes + self.scratch.memory_bytes();
        (shared + pins[0], shared + pins[1])
    }
}

/// The checks that messages carry in this benchmark.
pub(super) const CHECK: Check = Check::Short;
