//! Answers messages on many connections, all with one dictionary.
//!
//! `cargo run --release -p tambour-message --example server -- [ADDRESS [CONNECTIONS]]`, then the example `client`.
//!
//! Stops when this many connections have come and gone; tells what they took. Ten thousand connections need as many file
//! handles: `ulimit -n 20000`.
#![expect(clippy::print_stdout, reason = "an example for people")]

#[path = "protocol/mod.rs"]
mod protocol;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tambour_message::{FrameCodec, MessageCodec};
use tokio::net::{TcpListener, TcpStream};

/// Sums over all connections.
#[derive(Default)]
struct Totals {
    messages: AtomicUsize,
    open: AtomicUsize,
    open_max: AtomicUsize,
    codec_bytes: AtomicUsize,
}

async fn serve(
    stream: TcpStream,
    codec: Arc<MessageCodec>,
    totals: Arc<Totals>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let open = totals.open.fetch_add(1, Ordering::Relaxed) + 1;
    totals.open_max.fetch_max(open, Ordering::Relaxed);
    let mut connection = protocol::Connection::new(stream, FrameCodec::with_pins(codec));
    while let Some(message) = connection.receive().await? {
        totals.messages.fetch_add(1, Ordering::Relaxed);
        let answer = protocol::answer(&message);
        connection.send(&answer).await?;
    }
    totals.codec_bytes.fetch_add(connection.codec_bytes(), Ordering::Relaxed);
    totals.open.fetch_sub(1, Ordering::Relaxed);
    Ok(())
}

async fn run(
    address: String,
    connections: usize,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let dictionary = protocol::dictionary()?;
    let shared = dictionary.memory_bytes();
    let codec = Arc::new(MessageCodec::new(1, dictionary).with_message_bytes_max(64 << 10));
    let totals = Arc::new(Totals::default());
    let listener = TcpListener::bind(&address).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut tasks = Vec::with_capacity(connections);
    for _ in 0..connections {
        let (stream, _) = listener.accept().await?;
        tasks.push(tokio::spawn(serve(stream, Arc::clone(&codec), Arc::clone(&totals))));
    }
    for task in tasks {
        task.await??;
    }
    println!(
        "{} messages on {connections} connections, {} at once; the dictionary takes {} KiB, all connections {} KiB",
        totals.messages.load(Ordering::Relaxed),
        totals.open_max.load(Ordering::Relaxed),
        shared / 1024,
        totals.codec_bytes.load(Ordering::Relaxed) / 1024,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7461".to_owned());
    let connections = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    protocol::runtime()?.block_on(run(address, connections))
}
