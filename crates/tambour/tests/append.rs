//! Months of rows that are appended one after the other: wider numbers, new labels, NULLs, fractions, longer texts, new columns
//! and missing ones. The table holds what one import of all of them would hold.

#![cfg(all(feature = "sql", feature = "files"))]

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;
    use tambour::arrow_array::Array;
    use tambour::files::{Style, Text};
    use tambour::{Error, ImportError, ImportOptions, ImportTypes, Table};

    /// A generator of numbers, the same every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, end: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % end
        }
        fn chance(&mut self, percent: u64) -> bool {
            self.below(100) < percent
        }
    }

    /// How the values of a column look in one month.
    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Integers(i64, i64),
        Fractions,
        WholeFloats,
        Labels(u64, u64),
        Texts(u64),
        Days,
        Times,
        FineTimes,
    }

    /// Pairs of what a column is in the first month and in the second.
    const KINDS: [(Kind, Kind); 16] = [
        (Kind::Integers(0, 200), Kind::Integers(0, 70_000)),
        (Kind::Integers(0, 60_000), Kind::Integers(-5, 60_000)),
        (Kind::Integers(0, 3_000_000_000), Kind::Integers(-3_000_000_000, 9_000_000_000)),
        (Kind::Integers(0, 4), Kind::Integers(1, 1 << 62)),
        (Kind::Integers(0, 1000), Kind::Fractions),
        (Kind::Integers(0, 1000), Kind::WholeFloats),
        (Kind::WholeFloats, Kind::WholeFloats),
        (Kind::WholeFloats, Kind::Fractions),
        (Kind::Fractions, Kind::Integers(0, 1000)),
        (Kind::Labels(0, 20), Kind::Labels(10, 60)),
        (Kind::Labels(0, 5), Kind::Texts(40)),
        (Kind::Texts(8), Kind::Texts(200)),
        (Kind::Days, Kind::Days),
        (Kind::Days, Kind::Times),
        (Kind::Times, Kind::FineTimes),
        (Kind::Times, Kind::Days),
    ];

    fn value(kind: Kind, random: &mut Random) -> String {
        match kind {
            Kind::Integers(low, high) => {
                let span = (high - low).unsigned_abs();
                (low + (random.below(u64::MAX) % span).cast_signed()).to_string()
            }
            Kind::Fractions => format!("{}.{:02}", random.below(1000), random.below(99) + 1),
            Kind::WholeFloats => format!("{}.00", random.below(200)),
            Kind::Labels(low, high) => format!("label {}", low + random.below(high - low)),
            Kind::Texts(length) => {
                let length = usize::try_from(random.below(length) + 1).unwrap();
                format!("{:x}", random.below(1 << 30)).repeat(length)[..length].to_owned() + "~"
            }
            Kind::Days => format!("2024-01-{:02}", random.below(28) + 1),
            Kind::Times => {
                format!("2024-01-{:02} 10:{:02}:00", random.below(28) + 1, random.below(60))
            }
            Kind::FineTimes => {
                format!("2024-01-{:02} 10:00:00.{:03}", random.below(28) + 1, random.below(999) + 1)
            }
        }
    }

    /// A column of both months: how it looks, how often it is empty, and which months have it.
    #[derive(Clone, Debug)]
    struct Column {
        name: String,
        kinds: [Kind; 2],
        nulls: [u64; 2],
        present: [bool; 2],
    }

    fn columns(random: &mut Random) -> Vec<Column> {
        let count = 4 + random.below(5);
        let column = |at: u64, random: &mut Random| {
            let (first, second) = KINDS[usize::try_from(random.below(KINDS.len() as u64)).unwrap()];
            let some = |random: &mut Random, percent| if random.chance(percent) { 10 } else { 0 };
            let all = if random.chance(5) { 100 } else { 0 };
            let nulls = [some(random, 15), some(random, 25).max(all)];
            let present = [!random.chance(12), !random.chance(12)];
            Column { name: format!("c{at}"), kinds: [first, second], nulls, present }
        };
        (0..count).map(|at| column(at, random)).collect()
    }

    /// The rows of a month, numbered on from `first`, as CSV.
    fn month(
        columns: &[Column],
        month: usize,
        first: u64,
        rows: u64,
        random: &mut Random,
    ) -> String {
        let present: Vec<&Column> = columns.iter().filter(|column| column.present[month]).collect();
        let mut text = "id".to_owned();
        for column in &present {
            write!(text, ",{}", column.name).unwrap();
        }
        text.push('\n');
        for row in 0..rows {
            write!(text, "{}", first + row).unwrap();
            for column in &present {
                text.push(',');
                let is_text = column
                    .kinds
                    .iter()
                    .any(|kind| matches!(kind, Kind::Labels(..) | Kind::Texts(_)));
                if random.chance(column.nulls[month]) {
                    text.push_str(if is_text { "\\N" } else { "" });
                } else {
                    text.push_str(&value(column.kinds[month], random));
                }
            }
            text.push('\n');
        }
        text
    }

    /// What a query answers, as text.
    fn answer(table: &Table, sql: &str) -> String {
        let mut rows = Vec::new();
        for batch in tambour::sql(&[table], &sql.replace("TABLE", table.name())).unwrap() {
            let batch = batch.unwrap();
            let schema = batch.schema();
            let columns: Vec<_> = batch
                .columns()
                .iter()
                .zip(schema.fields())
                .map(|(column, field)| Text::new(column.as_ref(), field, Style::Plain).unwrap())
                .collect();
            for row in 0..batch.num_rows() {
                for (text, column) in columns.iter().zip(batch.columns()) {
                    if column.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
                        rows.extend_from_slice(b"NULL");
                    } else {
                        text.write(row, &mut rows);
                    }
                    rows.push(b'\t');
                }
                rows.push(b'\n');
            }
        }
        String::from_utf8(rows).unwrap()
    }

    /// Keys that a pair of months is sorted and cut by.
    fn with_keys(options: ImportOptions, pair: u64, columns: &[Column]) -> ImportOptions {
        let sorted = columns.iter().find(|column| column.present == [true, true]);
        match (pair % 4, sorted) {
            (0, _) => options.order_by("id"),
            (1, Some(column)) => options.order_by(format!("{}, id", column.name)),
            (2, _) => options.order_by("id").partition_by("intDiv(id, 1500)"),
            _ => options,
        }
    }

    fn write_month(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
    }

    /// Queries over a table with these columns.
    fn questions(names: &[&str]) -> Vec<String> {
        let mut queries = vec![
            "SELECT count(*), min(id), max(id), sum(id) FROM TABLE".to_owned(),
            "SELECT id FROM TABLE WHERE id >= 1390 AND id < 1410 ORDER BY id".to_owned(),
        ];
        for name in names {
            queries.push(format!("SELECT id, {name} FROM TABLE ORDER BY id"));
            queries.push(format!(
                "SELECT count(*), count({name}), min({name}), max({name}) FROM TABLE"
            ));
            queries.push(format!(
                "SELECT {name}, count(*) AS n FROM TABLE GROUP BY {name} ORDER BY {name}"
            ));
            queries.push(format!(
                "SELECT count(*) FROM TABLE WHERE {name} > (SELECT min({name}) FROM TABLE WHERE id > 1400)"
            ));
            queries.push(format!(
                "SELECT id FROM TABLE WHERE {name} = (SELECT max({name}) FROM TABLE) ORDER BY id"
            ));
        }
        queries
    }

    #[test]
    fn forty_pairs_of_months() {
        let mut asked = 0;
        for pair in 0..40 {
            let directory = tempfile::tempdir().unwrap();
            let at = |name: &str| directory.path().join(name);
            let mut random = Random(pair * 7919 + 3);
            let columns = columns(&mut random);
            let types = if pair % 3 == 0 { ImportTypes::Smallest } else { ImportTypes::Natural };
            let first = month(&columns, 0, 0, 1400, &mut random);
            let second = month(&columns, 1, 1400, 1100, &mut random);
            write_month(&at("first.csv"), &first);
            write_month(&at("second.csv"), &second);
            let options =
                with_keys(ImportOptions::default().types(types).threads(1), pair, &columns);

            let both = [at("first.csv"), at("second.csv")];
            let once = tambour::import(both, at("once"), &options).unwrap();
            tambour::import([at("first.csv")], at("months"), &options).unwrap();
            let append = ImportOptions::default().types(types).threads(1).append();
            let mut table = match tambour::import([at("second.csv")], at("months"), &append) {
                Ok(table) => table,
                Err(error) => {
                    // Numbers beside texts: the message says what to type.
                    let Error::Import(ImportError::Unlike { .. }) = &error else {
                        panic!("pair {pair}, {columns:?}: {error:?}");
                    };
                    assert!(error.to_string().contains("(String does)"), "{error}");
                    asked += 1;
                    continue;
                }
            };
            assert_eq!(table.rows(), 2500, "pair {pair}");
            let present = |column: &&Column| column.present != [false, false];
            let names: Vec<&str> =
                columns.iter().filter(present).map(|column| column.name.as_str()).collect();
            let queries = questions(&names);
            for query in &queries {
                let (expected, got) = (answer(&once, query), answer(&table, query));
                assert!(
                    expected == got,
                    "pair {pair}, {query}\n{columns:?}\n{expected:.300}\n{got:.300}"
                );
            }
            let damage = table.verify().unwrap().damage;
            assert!(damage.is_empty(), "pair {pair}: {damage:?}");
            table.optimize(&tambour::OptimizeOptions::default()).unwrap();
            assert!(table.verify().unwrap().damage.is_empty());
            for query in &queries {
                assert!(
                    answer(&once, query) == answer(&table, query),
                    "pair {pair} merged, {query}"
                );
            }
            // The same months again fit without a change.
            tambour::import([at("first.csv")], at("months"), &append).unwrap();
        }
        assert!(asked <= 2, "{asked} pairs were refused");
    }

    #[test]
    fn the_very_same_file_again() {
        for types in [ImportTypes::Natural, ImportTypes::Smallest, ImportTypes::Keep] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("fares.csv");
            let mut text = "id,fare,when\n".to_owned();
            for row in 0..20_000 {
                writeln!(text, "{row},{}.00,2024-01-01 00:00:{:02}", row % 90, row % 60).unwrap();
            }
            write_month(&file, &text);
            let table = directory.path().join("fares");
            let options = ImportOptions::default().types(types).order_by("id");
            let before = tambour::import([&file], &table, &options).unwrap();
            let narrow = before.columns()[1].data_type.to_string();
            assert_eq!(narrow == "Float64", types != ImportTypes::Smallest, "{narrow}");
            let append = ImportOptions::default().types(types).append();
            let after = tambour::import([&file], &table, &append).unwrap();
            assert_eq!(after.rows(), 40_000);
            assert_eq!(after.columns(), before.columns());
            let sum = answer(&after, "SELECT toInt64(sum(fare)) FROM TABLE");
            assert_eq!(sum.trim(), (2 * (0..20_000).map(|row| row % 90).sum::<u64>()).to_string());
        }
    }

    #[test]
    fn texts_among_numbers_are_taken_when_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let (file, table) = (directory.path().join("n.csv"), directory.path().join("n"));
        write_month(&file, "id,code\n1,10\n2,9\n");
        tambour::import([&file], &table, &ImportOptions::default().order_by("id")).unwrap();
        write_month(&file, "id,code\n3,A7\n");
        let error =
            tambour::import([&file], &table, &ImportOptions::default().append()).unwrap_err();
        assert!(error.to_string().contains("column `code`"), "{error}");
        assert!(error.to_string().contains("Int64"), "{error}");
        let statement = "CREATE TABLE n (id Int64, code String) ENGINE = MergeTree ORDER BY id";
        let definition = tambour::TableDefinition::parse(statement).unwrap();
        let asked = ImportOptions::default().append().definition(definition);
        let table = tambour::import([&file], &table, &asked).unwrap();
        let rows = answer(&table, "SELECT id, code FROM TABLE ORDER BY id");
        assert_eq!(rows, "1\t10\t\n2\t9\t\n3\tA7\t\n");
        let found = answer(&table, "SELECT id FROM TABLE WHERE code = '9' OR code > 'A'");
        assert_eq!(found, "2\t\n3\t\n");
    }
}
