//! Messages of a small protocol, and dictionaries trained on them.

use tambour_message::{Check, Dictionary, Trainer};

/// A message of a connection.
pub(crate) fn message(connection: u64, call: u64) -> Vec<u8> {
    let session = (connection + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let amount = call.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
    let method = ["get", "put", "list"][usize::try_from(call % 3).unwrap()];
    format!(
        r#"{{"jsonrpc":"2.0","id":{call},"method":"store.{method}","params":{{"session":"{session:016x}","amount":{amount}}}}}"#
    )
    .into_bytes()
}

/// A dictionary trained on connections from `first` on.
pub(crate) fn dictionary(first: u64, check: Check) -> Dictionary {
    dictionary_of(4096, first, check)
}

/// The same with at most this much text.
pub(crate) fn dictionary_of(bytes: usize, first: u64, check: Check) -> Dictionary {
    let mut trainer = Trainer::default().with_content_bytes(bytes).with_check(check);
    for connection in first..first + 200 {
        for call in 0..10 {
            trainer.add_from(connection, &message(connection, call)).unwrap();
        }
    }
    trainer.train().unwrap()
}
