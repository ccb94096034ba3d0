//! The seeds of the fuzz targets, and inputs that once broke a law, on the stable toolchain.

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Calls a law with every file of a target's seeds.
    fn replay(target: &str, law: fn(&[u8])) {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
        let mut count = 0;
        for entry in std::fs::read_dir(seeds).unwrap() {
            law(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 0, "{target} has no seeds");
    }

    #[test]
    fn lz4_decode() {
        replay("lz4_decode", tambour_check::lz4::fuzz_decode);
    }

    #[test]
    fn lz4_encode() {
        replay("lz4_encode", tambour_check::lz4::fuzz_encode);
    }

    #[test]
    fn lz4_batch() {
        replay("lz4_batch", tambour_check::lz4::fuzz_batch);
    }

    #[test]
    fn block_read() {
        replay("block_read", tambour_check::block::fuzz_read);
    }

    #[test]
    fn lz4_frame() {
        replay("lz4_frame", tambour_check::frame::fuzz_frame);
    }

    #[test]
    fn block_look() {
        replay("block_look", tambour_check::look::fuzz_stages);
    }

    #[test]
    fn frame_look() {
        replay("frame_look", tambour_check::look::fuzz_look);
    }

    #[test]
    fn column_kernels() {
        replay("column_kernels", tambour_check::column::fuzz_column);
    }

    #[test]
    fn codec_change() {
        replay("codec_change", tambour_check::block::fuzz_change);
    }

    #[test]
    fn codec_spec() {
        replay("codec_spec", tambour_check::spec::fuzz_spec);
    }
}
