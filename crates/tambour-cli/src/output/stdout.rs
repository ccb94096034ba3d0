//! Standard output, and the knowledge that its reader may go away.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once a write found that the other end of the pipe is closed. A writer in between may turn the error into text, so
/// that its chain does not tell any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// True if the reader of our output went away.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// A writer that notes a closed pipe.
#[derive(Debug)]
pub(crate) struct Watched<W>(W);

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(watch)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().inspect_err(watch)
    }
}

fn watch(error: &io::Error) {
    if error.kind() == ErrorKind::BrokenPipe {
        CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Standard output for data: bytes as they are, buffered. Flush it, or lose the error.
pub(crate) fn data() -> BufWriter<Watched<io::Stdout>> {
    BufWriter::with_capacity(1 << 16, Watched(io::stdout()))
}

/// Standard output for text in which colours may be; they are taken out where nobody would see them.
pub(crate) fn text() -> BufWriter<Watched<anstream::AutoStream<io::Stdout>>> {
    BufWriter::with_capacity(1 << 16, Watched(anstream::stdout()))
}

/// Prints one JSON object.
pub(crate) fn json(value: &serde_json::Value) -> io::Result<()> {
    let mut target = data();
    serde_json::to_writer_pretty(&mut target, value)?;
    target.write_all(b"\n")?;
    target.flush()
}

/// Prints one JSON object as one line, for those who read along.
pub(crate) fn json_line(value: &serde_json::Value) -> io::Result<()> {
    let mut target = data();
    serde_json::to_writer(&mut target, value)?;
    target.write_all(b"\n")?;
    target.flush()
}
