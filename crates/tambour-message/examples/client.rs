//! Opens many connections to the example `server`, sends messages on all of them and checks every answer.
//!
//! `cargo run --release -p tambour-message --example client -- [ADDRESS [CONNECTIONS [MESSAGES]]]`
#![expect(clippy::print_stdout, reason = "an example for people")]

#[path = "protocol/mod.rs"]
mod protocol;

use std::sync::Arc;
use tambour_message::{FrameCodec, MessageCodec};
use tokio::net::TcpStream;

/// Bytes sent: as messages, and on the wire.
type Bytes = (usize, usize);

async fn talk(
    address: String,
    codec: Arc<MessageCodec>,
    number: u64,
    messages: u64,
    all_open: Arc<tokio::sync::Barrier>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(&address).await?;
    let mut connection = protocol::Connection::new(stream, FrameCodec::with_pins(codec));
    all_open.wait().await;
    let mut sent = 0;
    for call in 0..messages {
        let message = protocol::request(number, call);
        connection.send(&message).await?;
        let answer = connection.receive().await?.ok_or("the server hung up")?;
        if answer != protocol::answer(&message) {
            return Err(format!("connection {number}: wrong answer to call {call}").into());
        }
        sent += message.len();
    }
    Ok((sent, connection.sent_bytes()))
}

async fn run(
    address: String,
    connections: u64,
    messages: u64,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let codec = Arc::new(MessageCodec::new(1, protocol::dictionary()?));
    let all_open = Arc::new(tokio::sync::Barrier::new(usize::try_from(connections)?));
    let talks: Vec<_> = (0..connections)
        .map(|number| {
            let (codec, all_open) = (Arc::clone(&codec), Arc::clone(&all_open));
            tokio::spawn(talk(address.clone(), codec, number, messages, all_open))
        })
        .collect();
    let (mut sent, mut wire) = (0, 0);
    for talk in talks {
        let bytes = talk.await??;
        (sent, wire) = (sent + bytes.0, wire + bytes.1);
    }
    println!(
        "{connections} connections, {messages} messages each, every answer right; sent {sent} bytes as {wire}: ratio {:.2}",
        sent as f64 / wire as f64
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7461".to_owned());
    let connections = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let messages = arguments.next().map_or(Ok(20), |text| text.parse())?;
    protocol::runtime()?.block_on(run(address, connections, messages))
}
