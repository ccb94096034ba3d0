//! What tests and fuzz targets call: laws of parsers that sums keep damaged bytes away from.

/// The parts of an index of words, made of any bytes: they are refused or read, without a panic and without memory for more
/// than is there. The first two bytes say where the directory ends, the next two where the words of a block do.
pub fn index_of_words(input: &[u8]) {
    let Some((cuts, rest)) = input.split_first_chunk::<4>() else { return };
    let [a, b, c, d] = cuts.map(usize::from);
    let (directory, block) = rest.split_at((a << 8 | b).min(rest.len()));
    let (words, lists) = block.split_at((c << 8 | d).min(block.len()));
    crate::search::read_any(directory, words, lists);
}
