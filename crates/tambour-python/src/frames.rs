//! Compressed streams as files: bytes go in or come out piece by piece, a thread compresses or decompresses.

use crate::buffer::{Bytes, Room};
use crate::codec::{Wishes, reading};
use crate::failure::Failure;
use crate::owned::Owned;
use crossbeam_channel::{Receiver, Sender, bounded};
use pyo3::exceptions::PyBlockingIOError;
use pyo3::prelude::*;
use std::io::{self, Read, Write};
use std::thread::JoinHandle;
use tambour::frame::{self, FrameError};

/// Pieces that wait.
const AHEAD: usize = 4;
/// Bytes of a piece at most.
const PIECE_BYTES: usize = 1 << 18;

/// A file object of Python, as the library reads and writes.
struct PythonFile {
    file: Py<PyAny>,
    /// What it raised.
    raised: Option<PyErr>,
}

impl PythonFile {
    fn call<T>(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::attach(|py| call(self.file.bind(py))).map_err(|error| {
            self.raised = Some(error);
            io::ErrorKind::Other.into()
        })
    }

    /// What went wrong: what the file raised, or what the library says.
    fn failure(&mut self, error: FrameError) -> Failure {
        self.raised.take().map_or_else(|| error.into(), Failure::Python)
    }
}

impl Read for PythonFile {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let wanted = target.len().min(PIECE_BYTES);
        self.call(|file| {
            let got = file.call_method1("read", (wanted,))?;
            let got = Bytes::of(&got)?;
            let got = got.as_slice();
            let length = got.len().min(wanted);
            target[..length].copy_from_slice(&got[..length]);
            Ok(length)
        })
    }
}

impl Write for PythonFile {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.call(|file| {
            let said = file.call_method1("write", (piece,))?;
            // What is only like a file often says nothing, and has taken all.
            if !said.is_none() {
                return Ok(said.extract::<usize>()?.min(piece.len()));
            }
            let raw = file.py().import("io")?.getattr("RawIOBase")?;
            if file.is_instance(&raw)? {
                return Err(PyBlockingIOError::new_err("the file takes no bytes now"));
            }
            Ok(piece.len())
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What one thread puts in and another takes out.
struct Sink(Sender<Vec<u8>>);

impl Write for Sink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let piece = &piece[..piece.len().min(PIECE_BYTES)];
        match self.0.send(piece.to_vec()) {
            Ok(()) => Ok(piece.len()),
            // Nobody reads on.
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The other end; `Err` says that the one who writes gave up.
struct Spring {
    pieces: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    taken: usize,
}

impl Spring {
    fn new(pieces: Receiver<Vec<u8>>) -> Self {
        Self { pieces, piece: Vec::new(), taken: 0 }
    }
}

impl Read for Spring {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() {
            match self.pieces.recv() {
                Ok(piece) => (self.piece, self.taken) = (piece, 0),
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.piece[self.taken..];
        let length = rest.len().min(target.len());
        target[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}

/// Decompresses what a file has.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct FrameReader {
    reader: Owned<Reading>,
}

struct Reading {
    spring: Spring,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

#[pymethods]
impl FrameReader {
    /// Begins to decompress a file object.
    #[new]
    fn new(file: Py<PyAny>, format: Option<&str>, dictionary: Option<Vec<u8>>) -> PyResult<Self> {
        let options = reading(format, dictionary, 1)?;
        let (sender, receiver) = bounded(AHEAD);
        let work = move || {
            let mut source = PythonFile { file, raised: None };
            let done = frame::decompress(&mut source, &mut Sink(sender), &options);
            done.map(drop).map_err(|error| source.failure(error))
        };
        let thread = started("tambour-decompress", work)?;
        let reading = Reading { spring: Spring::new(receiver), thread: Some(thread) };
        Ok(Self { reader: Owned::new("file", reading) })
    }

    /// Fills the room of an object; 0 at the end.
    fn readinto(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut room = Room::of(target)?;
        let mut piece = vec![0; room.len().min(PIECE_BYTES)];
        let got = self.reader.with(py, |reading| {
            let got = reading.spring.read(&mut piece).unwrap_or(0);
            if got == 0
                && let Some(thread) = reading.thread.take()
            {
                ended(thread)?;
            }
            Ok(got)
        })?;
        room.fill(py, &piece[..got]);
        Ok(got)
    }

    /// Ends it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.close(py, |reading| {
            let Reading { spring, thread } = reading;
            drop(spring);
            // What it finds after its reader has gone interests nobody.
            let _ = thread.map(ended);
            Ok(())
        })
    }
}

/// Compresses into a file.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct FrameWriter {
    writer: Owned<Writing>,
}

struct Writing {
    sender: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

impl Writing {
    /// Waits for the thread; what went wrong there.
    fn end(&mut self) -> Result<(), Failure> {
        self.sender = None;
        self.thread.take().map_or(Ok(()), ended)
    }
}

#[pymethods]
impl FrameWriter {
    /// Begins to compress into a file object.
    #[new]
    fn new(file: Py<PyAny>, wishes: Wishes) -> PyResult<Self> {
        let options = wishes.options(None)?;
        let (sender, receiver) = bounded(AHEAD);
        let work = move || {
            let mut target = PythonFile { file, raised: None };
            let done = frame::compress(&mut Spring::new(receiver), &mut target, &options);
            done.map(drop).map_err(|error| target.failure(error))
        };
        let thread = started("tambour-compress", work)?;
        let writing = Writing { sender: Some(sender), thread: Some(thread) };
        Ok(Self { writer: Owned::new("file", writing) })
    }

    /// Adds bytes; how many.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<usize> {
        let data = Bytes::of(data)?;
        let pieces: Vec<Vec<u8>> =
            data.as_slice().chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect();
        self.writer.with(py, |writing| {
            for piece in pieces {
                let sent = writing.sender.as_ref().map(|sender| sender.send(piece));
                if !matches!(sent, Some(Ok(()))) {
                    // The thread gave up, and says why.
                    writing.end()?;
                    return Err(Failure::Closed("file"));
                }
            }
            Ok(data.as_slice().len())
        })
    }

    /// Ends the stream.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.close(py, |mut writing| writing.end())
    }
}

fn started<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(|error| {
        Failure::Said(tambour::Kind::Io, format!("a thread cannot be started: {error}"))
    })
}

fn ended(thread: JoinHandle<Result<(), Failure>>) -> Result<(), Failure> {
    thread.join().unwrap_or_else(|_| {
        let text = "a fault of Tambour, please report it: a thread gave up".to_owned();
        Err(Failure::Said(tambour::Kind::Unsupported, text))
    })
}
