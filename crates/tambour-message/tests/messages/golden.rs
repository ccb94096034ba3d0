//! Dictionaries and messages of all versions of the format, written once: `golden/messages`.

use crate::common::{dictionary_of, message};
use std::path::PathBuf;
use std::sync::Arc;
use tambour_message::{
    Check, Dictionary, FrameCodec, MessageCodec, MessageReader, MessageWriter, Scratch,
};

/// The messages of a stream: of one connection, and some that are empty, unlike all others, and long.
fn messages() -> Vec<Vec<u8>> {
    let long = (0..90).flat_map(|call| message(7, call)).collect();
    let others = [Vec::new(), b"\xff\0\x80~".to_vec(), vec![b'-'; 1000], long];
    (0..40).map(|call| message(77, call)).chain(others).collect()
}

fn folder(version: u8) -> PathBuf {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/messages");
    golden.join(format!("version-{version}"))
}

#[test]
fn messages_of_all_versions_come_back() {
    for version in [1, 2] {
        let read = |name: &str| std::fs::read(folder(version).join(name)).unwrap();
        let file = read("dictionary.tmbd");
        assert_eq!(file[4], version);
        let dictionary = Dictionary::from_bytes(&file).unwrap();
        assert_eq!(dictionary.to_bytes(), file);
        let codec = Arc::new(MessageCodec::new(1, dictionary));
        for (name, frames) in [
            ("plain.tmbm", FrameCodec::new(Arc::clone(&codec))),
            ("pinned.tmbm", FrameCodec::with_pins(Arc::clone(&codec))),
        ] {
            let stream = read(name);
            let mut reader = MessageReader::new(stream.as_slice(), frames);
            for message in messages() {
                assert_eq!(reader.read().unwrap(), Some(message), "version {version}, {name}");
            }
            assert_eq!(reader.read().unwrap(), None);
        }
        // Old dictionaries encode as well.
        let (mut scratch, mut encoded) = (Scratch::default(), Vec::new());
        for message in messages() {
            encoded.clear();
            codec.encode(&message, None, &mut scratch, &mut encoded).unwrap();
            assert_eq!(codec.decode_in(&encoded, None, &mut scratch).unwrap(), message);
        }
    }
}

#[test]
#[ignore = "writes golden files: GOLDEN=golden/messages/version-N"]
fn write_golden_messages() {
    let folder = PathBuf::from(std::env::var_os("GOLDEN").unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    let file = dictionary_of(1024, 0, Check::Full).to_bytes();
    std::fs::write(folder.join("dictionary.tmbd"), &file).unwrap();
    let codec = Arc::new(MessageCodec::new(1, Dictionary::from_bytes(&file).unwrap()));
    for (name, frames) in [
        ("plain.tmbm", FrameCodec::new(Arc::clone(&codec))),
        ("pinned.tmbm", FrameCodec::with_pins(Arc::clone(&codec))),
    ] {
        let mut writer = MessageWriter::new(Vec::new(), frames);
        for message in messages() {
            writer.write(&message).unwrap();
        }
        std::fs::write(folder.join(name), writer.finish().unwrap()).unwrap();
    }
}
