//! Compresses single messages of a protocol with one dictionary for all connections.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use tambour::MessageCodec;
use tambour::message::{Scratch, Trainer};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let message = |id: u32| format!(r#"{{"method":"get","user":"u{}","id":{id}}}"#, id % 97);
    let mut trainer = Trainer::default();
    for id in 0..2000 {
        trainer.add(message(id).as_bytes())?;
    }
    // The generation says which dictionary a message was encoded with.
    let codec = MessageCodec::new(1, trainer.train()?);
    let (mut scratch, mut encoded, mut decoded) = (Scratch::default(), Vec::new(), Vec::new());
    let sent = message(123_456);
    codec.encode(sent.as_bytes(), None, &mut scratch, &mut encoded)?;
    codec.decode(&encoded, None, &mut scratch, &mut decoded)?;
    println!("{} bytes became {}", sent.len(), encoded.len());
    assert_eq!(decoded, sent.as_bytes());
    assert!(encoded.len() < sent.len() / 2);
    Ok(())
}
