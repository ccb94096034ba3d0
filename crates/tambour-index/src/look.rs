//! What parts have of the indexes of their table.

use crate::prune::open;
use crate::text::TextFile;
use crate::{Index, Indexes, Kind};
use tambour_part::Part;
use tambour_part::part::SkipSizes;
use tambour_table::Table;

/// An index of a table, and what its parts have of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The index.
    pub index: Index,
    /// Parts that have files of it.
    pub parts: usize,
    /// Sizes of these files together.
    pub sizes: SkipSizes,
    /// Parts whose files of it cannot be used: damaged, or not of this index.
    pub refused: usize,
}

/// Looks at the files of all indexes of a table; those that follow from a setting are there only if a part has files of them.
pub fn look_into(table: &Table) -> Vec<Found> {
    let look = |index: &Index| {
        let mut found =
            Found { index: index.clone(), parts: 0, sizes: SkipSizes::default(), refused: 0 };
        for part in table.parts() {
            found.add(part);
        }
        found
    };
    let all = Indexes::new(table);
    let found = all.all().iter().map(look);
    found.filter(|it| !it.index.definition.is_implicit || it.parts > 0).collect()
}

impl Found {
    fn add(&mut self, part: &Part) {
        match part.skip_file(&self.index.definition.name) {
            Ok(None) => {}
            Ok(Some(file)) => {
                let sizes = file.sizes();
                self.parts += 1;
                self.sizes.compressed += sizes.compressed;
                self.sizes.uncompressed += sizes.uncompressed;
                self.sizes.marks += sizes.marks;
                let is_refused = match self.index.kind {
                    Kind::Text => TextFile::open(part, &self.index).is_err(),
                    _ => open(part, &self.index).is_err(),
                };
                self.refused += usize::from(self.index.is_usable() && is_refused);
            }
            Err(_) => {
                self.parts += 1;
                self.refused += 1;
            }
        }
    }
}
