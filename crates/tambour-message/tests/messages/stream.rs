//! Streams of messages through the codec of `tokio_util`.

use crate::common::{dictionary, message};
use bytes::BytesMut;
use std::sync::Arc;
use tambour_message::{Check, FrameCodec, MessageCodec, MessageError};
use tokio_util::codec::{Decoder, Encoder};

fn codec() -> Arc<MessageCodec> {
    Arc::new(MessageCodec::new(1, dictionary(0, Check::Full)))
}

#[test]
fn messages_arrive_byte_by_byte() {
    let codec = codec();
    for pins in [false, true] {
        let end = || {
            if pins {
                FrameCodec::with_pins(Arc::clone(&codec))
            } else {
                FrameCodec::new(Arc::clone(&codec))
            }
        };
        let (mut sender, mut receiver) = (end(), end());
        let (mut wire, mut arrived) = (BytesMut::new(), BytesMut::new());
        let messages: Vec<Vec<u8>> =
            (0..50).map(|call| message(9, call)).chain([Vec::new()]).collect();
        for message in &messages {
            sender.encode(message, &mut wire).unwrap();
        }
        let mut received = Vec::new();
        for byte in wire {
            arrived.extend_from_slice(&[byte]);
            received.extend(receiver.decode(&mut arrived).unwrap());
        }
        assert_eq!(received, messages);
        assert!(receiver.decode_eof(&mut arrived).unwrap().is_none());
        assert!(receiver.memory_bytes() < if pins { 700 } else { 64 });
    }
}

#[test]
fn frames_that_cannot_be() {
    let mut receiver = FrameCodec::new(codec());
    let mut decode = |bytes: &[u8]| receiver.decode(&mut BytesMut::from(bytes));
    assert!(matches!(decode(&[0xff, 0xff, 0xff, 0x7f]), Err(MessageError::TooLong { .. })));
    assert!(matches!(decode(&[0x80, 0x80, 0x80, 0x80]), Err(MessageError::Frame { .. })));
    assert!(matches!(decode(&[0x81, 0x00]), Err(MessageError::Frame { .. })));
    assert!(matches!(decode(&[0x00]), Err(MessageError::Header { .. })));
    assert!(matches!(decode(&[0x80, 0x80]), Ok(None)));
    let mut half = BytesMut::from(&[5, 1, 2][..]);
    assert!(matches!(receiver.decode_eof(&mut half), Err(MessageError::Frame { .. })));
}

#[test]
fn a_promised_message_is_not_reserved_whole() {
    let mut receiver = FrameCodec::new(codec());
    // A length just below the limit, and nothing after it.
    let mut source = BytesMut::from(&[0x80, 0x80, 0x40][..]);
    assert!(receiver.decode(&mut source).unwrap().is_none());
    assert!(source.capacity() <= 128 << 10, "{}", source.capacity());
}
