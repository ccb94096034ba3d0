//! Parts of a few kilobytes that claim gigabytes: refused with the limit named, or read in little memory. A process of its own,
//! so that its peak can be watched.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::{Duration, Instant};
    use tambour_codec::Kind;
    use tambour_kernel::hash::city_hash_128;
    use tambour_part::part::{OpenOptions, ReadRequest};
    use tambour_part::types::Strings;
    use tambour_part::{Part, PartError};
    use tambour_storage::memory::Memory;
    use tambour_storage::{Storage, disk};

    const PATH: &str = "t/all_1_1_0";
    const MIB: u64 = 1 << 20;
    /// Most bytes of a zstd block.
    const RUN: usize = 128 << 10;

    /// A block of ClickHouse's around a payload.
    fn block(method: u8, payload: &[u8], size: usize) -> Vec<u8> {
        let mut body = vec![method];
        body.extend(u32::try_from(payload.len() + 9).unwrap().to_le_bytes());
        body.extend(u32::try_from(size).unwrap().to_le_bytes());
        body.extend(payload);
        let mut whole = city_hash_128(&body).to_bytes().to_vec();
        whole.extend(body);
        whole
    }

    /// A zstd block of first bytes and then one byte again and again: four bytes for each 128 KiB.
    fn bomb(first: &[u8], byte: u8, size: usize) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
        frame.extend(u32::try_from(size).unwrap().to_le_bytes());
        let mut left = size;
        let mut put = |kind: u32, bytes: &[u8], count: usize| {
            left -= count;
            let header = u32::from(left == 0) | kind << 1 | u32::try_from(count).unwrap() << 3;
            frame.extend(&header.to_le_bytes()[..3]);
            frame.extend(bytes);
        };
        if !first.is_empty() {
            put(0, first, first.len());
        }
        let mut rest = size - first.len();
        while rest > 0 {
            let count = rest.min(RUN);
            put(1, &[byte], count);
            rest -= count;
        }
        block(0x90, &frame, size)
    }

    fn marks(records: impl Iterator<Item = [u64; 3]>) -> Vec<u8> {
        records.flatten().flat_map(u64::to_le_bytes).collect()
    }

    /// A wide part with these columns, files and rows; nothing proves it.
    fn part(columns: &str, files: &[(&str, Vec<u8>)], rows: u64) -> Memory {
        let memory = Memory::new();
        let storage: &dyn Storage = &memory;
        storage.create_directory(Path::new("t")).unwrap();
        storage.create_directory(Path::new(PATH)).unwrap();
        let count = columns.lines().count();
        let text = format!("columns format version: 1\n{count} columns:\n{columns}\n");
        memory.put(&Path::new(PATH).join("columns.txt"), text.as_bytes());
        memory.put(&Path::new(PATH).join("count.txt"), rows.to_string().as_bytes());
        for (name, bytes) in files {
            memory.put(&Path::new(PATH).join(name), bytes);
        }
        memory
    }

    /// One at a time: the memory is that of all.
    static TURN: Mutex<()> = Mutex::new(());

    /// The most memory that this process had since it was asked to forget.
    fn peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    }

    fn read(memory: &Memory, damaged: bool) -> Result<u64, PartError> {
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let options = OpenOptions { damaged, ..OpenOptions::default() };
        let part = Arc::new(Part::open_with(&storage, Path::new(PATH), &options)?);
        let reader = part.read(ReadRequest {
            columns: (0..part.columns().len()).collect(),
            granules: std::iter::once(0..part.granules().len()).collect(),
            batch_rows: 65_536,
            strings: Strings::Utf8,
        })?;
        reader.map(|batch| batch.map(|batch| batch.num_rows() as u64)).sum()
    }

    /// Reads, salvages and verifies; what reading said.
    #[track_caller]
    #[expect(clippy::disallowed_methods, reason = "the test looks at how long it takes")]
    fn tried(what: &str, memory: &Memory) -> Result<u64, PartError> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // Linux forgets the peak at this number; where it does not, growth is seen less sharply.
        drop(std::fs::write("/proc/self/clear_refs", "5"));
        let (before, start) = (peak(), Instant::now());
        let plain = read(memory, false);
        drop(read(memory, true));
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let seen = Part::verify_at(&storage, Path::new(PATH), &OpenOptions::default());
        assert!(!seen.damage.is_empty(), "{what}: nothing proves it");
        let (grown, time) = (peak().saturating_sub(before), start.elapsed());
        assert!(grown < 700 * MIB, "{what}: {} MiB", grown / MIB);
        assert!(time < Duration::from_mins(1), "{what}: {time:?}");
        plain
    }

    #[track_caller]
    fn refused(what: &str, memory: &Memory) {
        let error = tried(what, memory).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{what}: {error}");
        assert!(error.to_string().contains("limit"), "{what}: {error}");
    }

    #[test]
    fn small_files_that_claim_much() {
        let gibibyte = 1 << 30;
        // One text of a gibibyte.
        let length = [0xfb, 0xff, 0xff, 0xff, 0x03];
        let file = bomb(&length, b'x', gibibyte);
        assert!(file.len() < 33_500, "{}", file.len());
        let one = marks([[0, 0, 1], [file.len() as u64, 0, 0]].into_iter());
        refused("a text", &part("`s` String", &[("s.bin", file), ("s.mrk2", one)], 1));
        // Numbers, all in one block.
        let file = bomb(&[], 1, gibibyte);
        let rows = 1 << 24;
        let granules = (0..8).map(|at| [0, at * rows * 8, rows]);
        let end = std::iter::once([file.len() as u64, 0, 0]);
        let many = marks(granules.chain(end));
        let columns = "`n` UInt64";
        refused("numbers", &part(columns, &[("n.bin", file), ("n.mrk2", many)], 8 * rows));
        // The same in blocks of a mebibyte, one granule of too many columns.
        let piece = bomb(&[], 1, 1 << 20);
        let file: Vec<u8> = std::iter::repeat_n(&piece, 128).flatten().copied().collect();
        let one = marks([[0, 0, rows], [file.len() as u64, 0, 0]].into_iter());
        let names: Vec<String> = (0..8).map(|at| format!("c{at}")).collect();
        let columns: Vec<String> = names.iter().map(|name| format!("`{name}` UInt64")).collect();
        let files: Vec<(String, Vec<u8>)> = names
            .iter()
            .flat_map(|it| {
                [(format!("{it}.bin"), file.clone()), (format!("{it}.mrk2"), one.clone())]
            })
            .collect();
        let files: Vec<(&str, Vec<u8>)> =
            files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        refused("many columns", &part(&columns.join("\n"), &files, rows));
        // One of them is no more than is allowed.
        let single = part("`c0` UInt64", &files[..2], rows);
        assert_eq!(tried("one column", &single).unwrap(), rows);
    }

    #[test]
    fn sparse_columns_of_any_number_of_rows() {
        let rows = 1 << 24;
        // Nothing but defaults: the number of them, marked as the last.
        let offsets: Vec<u8> = [0x80, 0x80, 0x80, 0x88, 0x80, 0x80, 0x80, 0x80, 0x40].to_vec();
        let text = r#"{"version":0,"columns":[{"name":"n","kind":"Sparse"}]}"#;
        for (what, data_type, granules) in
            [("wide rows", "UInt256", 1), ("all rows", "UInt8", 1024), ("texts", "String", 1)]
        {
            let data = offsets.repeat(granules);
            let file = block(0x02, &data, data.len());
            let end = [file.len() as u64, 0, 0];
            let records = (0..granules as u64).map(|at| [0, at * offsets.len() as u64, rows]);
            let places = marks(records.chain(std::iter::once(end)));
            let empty = marks(std::iter::repeat_n([0, 0, rows], granules).chain([[0, 0, 0]]));
            let files = [
                ("n.sparse.idx.bin", file),
                ("n.sparse.idx.mrk2", places),
                ("n.bin", Vec::new()),
                ("n.mrk2", empty),
                ("serialization.json", text.as_bytes().to_vec()),
            ];
            let columns = format!("`n` {data_type}");
            let hostile = part(&columns, &files, rows * granules as u64);
            match what {
                "texts" => assert_eq!(tried(what, &hostile).unwrap(), rows),
                _ => refused(what, &hostile),
            }
        }
    }

    #[test]
    fn marks_that_decode_to_anything() {
        let file = bomb(&[], 0, 1 << 30);
        let hostile = part("`n` UInt8", &[("n.bin", Vec::new()), ("n.cmrk2", file)], 0);
        refused("marks", &hostile);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test looks at how long it takes")]
    fn a_file_of_holes() {
        let directory =
            std::env::temp_dir().join(format!("tambour-part-holes-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&directory));
        let path = directory.join("all_1_1_0");
        std::fs::create_dir_all(&path).unwrap();
        let good = block(0x02, &[7], 1);
        let whole = marks([[0, 0, 1], [good.len() as u64, 0, 0]].into_iter());
        std::fs::write(
            path.join("columns.txt"),
            "columns format version: 1\n1 columns:\n`n` UInt8\n",
        )
        .unwrap();
        for (name, bytes) in [("count.txt", b"1".to_vec()), ("n.bin", good), ("n.mrk2", whole)] {
            std::fs::write(path.join(name), bytes).unwrap();
        }
        let all = OpenOptions::default();
        assert_eq!(Part::verify_at(&disk(), &path, &all).damage.len(), 1, "no checksums.txt");
        for name in ["n.bin", "other.txt", "primary.idx"] {
            let start = Instant::now();
            let before = std::fs::read(path.join(name)).ok();
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path.join(name));
            if file.unwrap().set_len(1 << 40).is_err() {
                // Not every file system has files of this length.
                continue;
            }
            let seen = Part::verify_at(&disk(), &path, &all);
            let kinds: Vec<Kind> = seen.damage.iter().map(|it| it.error.kind()).collect();
            assert!(kinds.contains(&Kind::Limit), "{name}: {:?}", seen.damage);
            assert!(start.elapsed() < Duration::from_mins(1), "{name}");
            std::fs::remove_file(path.join(name)).unwrap();
            if let Some(bytes) = before {
                std::fs::write(path.join(name), bytes).unwrap();
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
