//! Hostile streams must not make the column reader ask for memory that no bytes back. A process of its own, so that the
//! peak of its address space can be watched.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod tests {
    use arrow_buffer::Buffer;
    use std::collections::HashMap;
    use tambour_part::PartError;
    use tambour_part::column::{ColumnReader, Layout, Source, Sources, StreamName};
    use tambour_part::types::{DataType, Strings};

    /// One block in memory.
    struct Block {
        bytes: Buffer,
        at: usize,
    }

    impl Source for Block {
        fn read_exact(&mut self, target: &mut [u8]) -> Result<(), PartError> {
            let end = self.at + target.len();
            let Some(bytes) = self.bytes.as_slice().get(self.at..end) else {
                return Err(self.corrupt("the stream ends"));
            };
            target.copy_from_slice(bytes);
            self.at = end;
            Ok(())
        }
        fn block(&mut self) -> Result<Option<(&Buffer, usize)>, PartError> {
            Ok((self.at < self.bytes.len()).then_some((&self.bytes, self.at)))
        }
        fn consume(&mut self, count: usize) {
            self.at += count;
        }
        fn corrupt(&self, reason: &str) -> PartError {
            PartError::argument(reason.to_owned())
        }
    }

    #[derive(Default)]
    struct Streams(HashMap<StreamName, Block>);

    impl Sources for Streams {
        fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
            let empty = || Block { bytes: Vec::<u8>::new().into(), at: 0 };
            Ok(self.0.entry(name.clone()).or_insert_with(empty))
        }
        fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
            self.stream(name)
        }
    }

    /// The largest address space of this process so far, in MiB.
    fn peak() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
        let kibibytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kibibytes / 1024
    }

    fn refused(text: &str, layout: &Layout, streams: &[(&str, &[u64])], rows: usize) {
        let data_type: DataType = text.parse().unwrap();
        let mut sources = Streams::default();
        for (name, words) in streams {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let block = Block { bytes: Buffer::from_vec(bytes), at: 0 };
            sources.0.insert(StreamName((*name).to_owned()), block);
        }
        let mut reader = ColumnReader::new("c", &data_type, layout, Strings::Utf8).unwrap();
        let before = peak();
        let read = reader.read(&mut sources, &[rows]);
        assert!(read.is_err(), "{text}");
        let grown = peak() - before;
        assert!(grown < 200, "{text}: {grown} MiB for nothing");
    }

    #[test]
    fn memory_follows_the_bytes() {
        let plain = Layout::default();
        let sizes = Layout { string_sizes: true, ..Layout::default() };
        let sparse = Layout { sparse: true, ..Layout::default() };
        let many = 1 << 36;
        let most = u64::from(i32::MAX.unsigned_abs());
        for text in [
            "UInt8",
            "Bool",
            "Decimal(76, 2)",
            "FixedString(16000000)",
            "String",
            "Nullable(String)",
            "UUID",
            "Enum16('a' = 1)",
            "DateTime",
            "Array(String)",
            "Map(UInt8, UInt8)",
            "Tuple(UInt8, String)",
        ] {
            refused(text, &plain, &[], many);
            refused(text, &plain, &[("c", &[0]), ("c.null", &[0]), ("c.size0", &[0])], many);
        }
        refused("String", &sizes, &[("c.size", &[most]), ("c", &[0])], 1);
        refused("Array(UInt256)", &plain, &[("c.size0", &[most])], 1);
        refused("Array(Array(UInt256))", &plain, &[("c.size0", &[most])], 1);
        refused("Array(FixedString(16000000))", &plain, &[("c.size0", &[most])], 1);
        refused("Array(LowCardinality(String))", &plain, &[("c.size0", &[most])], 1);
        refused("UInt256", &sparse, &[("c.sparse.idx", &[0x4080_8080_8080_8080])], many);
        refused("UInt256", &sparse, &[("c.sparse.idx", &[0])], 1 << 26);
        for text in ["String", "UInt256", "FixedString(16000000)"] {
            let text = format!("LowCardinality({text})");
            refused(&text, &plain, &[("c", &[0x200, most])], 1);
            refused(&text, &plain, &[("c", &[0x500]), ("c.dict", &[most])], 1);
            refused(&text, &plain, &[("c", &[0x203, 0, 1 << 40])], 1 << 40);
        }
    }
}
