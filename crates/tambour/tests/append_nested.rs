//! Months of JSON lines that are appended one after the other: NULLs, wider numbers, new keys and missing ones at every depth of
//! arrays, objects and maps. The table holds what one import of all of them would hold.

#![cfg(all(feature = "sql", feature = "files"))]

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
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

    /// How the values at a place look in one month.
    #[derive(Clone, Debug)]
    enum Look {
        Integers(u64),
        Fractions,
        Texts,
        Truths,
        Days,
        Times,
        List(Box<Place>),
        Object(Vec<(String, Place)>),
        /// Objects whose keys are data.
        Map(Box<Place>),
    }

    /// Values at a place, how many of a hundred are NULL, and how many are not there at all if that is in an object.
    #[derive(Clone, Debug)]
    struct Place {
        look: Look,
        nulls: u64,
        missing: u64,
    }

    fn some_place(depth: u64, random: &mut Random) -> Place {
        let look = match random.below(if depth == 0 { 6 } else { 11 }) {
            0 => Look::Integers(200),
            1 => Look::Fractions,
            2 => Look::Texts,
            3 => Look::Truths,
            4 => Look::Days,
            5 => Look::Times,
            6 | 7 => Look::List(Box::new(some_place(depth - 1, random))),
            8 | 9 => {
                let keys = 1 + random.below(3);
                Look::Object(
                    (0..keys).map(|at| (format!("k{at}"), some_place(depth - 1, random))).collect(),
                )
            }
            _ => Look::Map(Box::new(some_place(depth - 1, random))),
        };
        let some = |random: &mut Random| if random.chance(20) { 15 } else { 0 };
        Place { look, nulls: some(random), missing: some(random) }
    }

    /// The same place a month later.
    fn later(before: &Place, depth: u64, random: &mut Random) -> Place {
        let mut place = before.clone();
        if random.chance(30) {
            place.nulls = if random.chance(15) { 100 } else { 20 };
        }
        if random.chance(20) {
            place.missing = if random.chance(30) { 100 } else { 20 };
        }
        place.look = match place.look {
            Look::Integers(_) if random.chance(25) => Look::Integers(1 << 50),
            Look::Integers(_) if random.chance(25) => Look::Fractions,
            Look::Fractions if random.chance(25) => Look::Integers(100),
            Look::Days if random.chance(25) => Look::Times,
            Look::Times if random.chance(25) => Look::Days,
            Look::List(item) => Look::List(Box::new(later(&item, depth - 1, random))),
            Look::Map(value) => Look::Map(Box::new(later(&value, depth - 1, random))),
            Look::Object(mut keys) => {
                for (_, place) in &mut keys {
                    *place = later(place, depth - 1, random);
                }
                if random.chance(30) {
                    let at = usize::try_from(random.below(keys.len() as u64 + 1)).unwrap();
                    keys.insert(at, ("new".to_owned(), some_place(depth - 1, random)));
                }
                Look::Object(keys)
            }
            other => other,
        };
        place
    }

    fn write(place: &Place, text: &mut String, random: &mut Random) {
        if random.chance(place.nulls) {
            text.push_str("null");
            return;
        }
        match &place.look {
            Look::Integers(end) => write!(text, "{}", random.below(u64::MAX) * 3 % end).unwrap(),
            Look::Fractions => {
                write!(text, "{}.{}", random.below(90), random.below(9) + 1).unwrap();
            }
            Look::Texts => write!(text, "\"t {}\"", random.below(50)).unwrap(),
            Look::Truths => text.push_str(["true", "false"][usize::from(random.chance(50))]),
            Look::Days => write!(text, "\"2024-01-{:02}\"", random.below(28) + 1).unwrap(),
            Look::Times => {
                write!(
                    text,
                    "\"2024-01-{:02} 10:00:{:02}\"",
                    random.below(28) + 1,
                    random.below(60)
                )
                .unwrap();
            }
            Look::List(item) => {
                text.push('[');
                for at in 0..random.below(4) {
                    text.push_str(if at == 0 { "" } else { "," });
                    write(item, text, random);
                }
                text.push(']');
            }
            Look::Object(keys) => {
                text.push('{');
                let mut is_first = true;
                for (key, place) in keys {
                    if random.chance(place.missing) {
                        continue;
                    }
                    write!(text, "{}\"{key}\":", if is_first { "" } else { "," }).unwrap();
                    is_first = false;
                    write(place, text, random);
                }
                text.push('}');
            }
            Look::Map(value) => {
                text.push('{');
                let first = random.below(20);
                for at in 0..=random.below(3) {
                    write!(text, "{}\"m{}\":", if at == 0 { "" } else { "," }, first + at).unwrap();
                    write(value, text, random);
                }
                text.push('}');
            }
        }
    }

    /// The rows of a month, numbered on from `first`.
    fn month(columns: &[(String, Place)], first: u64, rows: u64, random: &mut Random) -> String {
        let mut text = String::new();
        for row in 0..rows {
            write!(text, "{{\"id\":{}", first + row).unwrap();
            for (name, place) in columns {
                if !random.chance(place.missing) {
                    write!(text, ",\"{name}\":").unwrap();
                    write(place, &mut text, random);
                }
            }
            text.push_str("}\n");
        }
        text
    }

    /// What a query answers, as text.
    fn answer(table: &Table, sql: &str) -> Vec<String> {
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
                let mut line = Vec::new();
                for (text, column) in columns.iter().zip(batch.columns()) {
                    if column.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
                        line.extend_from_slice(b"NULL");
                    } else {
                        text.write(row, &mut line);
                    }
                    line.push(b'\t');
                }
                rows.push(String::from_utf8(line).unwrap());
            }
        }
        rows
    }

    /// The first row in which two tables differ.
    fn difference(once: &Table, months: &Table, columns: &[String]) -> Option<String> {
        for name in columns {
            for query in [
                format!("SELECT id, {name} FROM TABLE ORDER BY id"),
                format!(
                    "SELECT {name}, count(*), min(id) FROM TABLE GROUP BY {name} ORDER BY min(id)"
                ),
            ] {
                let (expected, got) = (answer(once, &query), answer(months, &query));
                if expected.len() != got.len() {
                    return Some(format!("{query}: {} rows, {}", expected.len(), got.len()));
                }
                let pair = expected.iter().zip(&got).find(|(expected, got)| expected != got);
                if let Some((expected, got)) = pair {
                    return Some(format!("{query}\n{expected}\n{got}"));
                }
            }
        }
        None
    }

    #[test]
    fn sixty_pairs_of_months() {
        let mut changed = 0;
        for pair in 0..60 {
            let directory = tempfile::tempdir().unwrap();
            let at = |name: &str| directory.path().join(name);
            let mut random = Random(pair * 7919 + 11);
            let named = |at: u64, random: &mut Random| (format!("c{at}"), some_place(3, random));
            let columns: Vec<_> = (0..3).map(|at| named(at, &mut random)).collect();
            let then: Vec<_> = columns
                .iter()
                .map(|(name, before)| (name.clone(), later(before, 3, &mut random)))
                .collect();
            let types = if pair % 3 == 0 { ImportTypes::Smallest } else { ImportTypes::Natural };
            std::fs::write(at("1.jsonl"), month(&columns, 0, 150, &mut random)).unwrap();
            std::fs::write(at("2.jsonl"), month(&then, 150, 150, &mut random)).unwrap();
            let options = ImportOptions::default().types(types).threads(1);
            let options = if pair % 2 == 0 { options.order_by("id") } else { options };
            let once =
                tambour::import([at("1.jsonl"), at("2.jsonl")], at("once"), &options).unwrap();
            let before = tambour::import([at("1.jsonl")], at("months"), &options).unwrap();
            let append = ImportOptions::default().types(types).threads(1).append();
            let after = tambour::import([at("2.jsonl")], at("months"), &append);
            let mut after = after
                .unwrap_or_else(|error| panic!("pair {pair}, {columns:?}\n{then:?}: {error:?}"));
            changed += u64::from(before.columns() != after.columns());
            let names: Vec<String> = once.columns().iter().map(|it| it.name.clone()).collect();
            let check = |table: &Table, what: &str| {
                if let Some(found) = difference(&once, table, &names) {
                    let types = (before.columns(), table.columns(), once.columns());
                    panic!("pair {pair}{what}, {found}\n{columns:?}\n{then:?}\n{types:#?}");
                }
                let damage = table.verify().unwrap().damage;
                assert!(damage.is_empty(), "pair {pair}{what}: {damage:?}");
            };
            check(&after, "");
            after.optimize(&tambour::OptimizeOptions::default()).unwrap();
            assert_eq!(after.part_names().len(), 1, "pair {pair}");
            check(&after, " merged");
            // The first month fits what the table has become.
            let again = tambour::import([at("1.jsonl")], at("months"), &append).unwrap();
            assert_eq!(again.rows(), 450, "pair {pair}");
        }
        assert!(changed > 30, "{changed} pairs changed a type");
    }

    #[test]
    fn what_is_of_another_kind_is_refused_with_a_way_out() {
        for (first, second, hint) in [
            (r#"{"a":[1]}"#, r#"{"a":["x"]}"#, "(Array(String) does)"),
            (
                r#"{"a":{"k":[1]}}"#,
                r#"{"a":{"k":["x",null]}}"#,
                "(Tuple(k Array(Nullable(String))) does)",
            ),
            (r#"{"a":[1]}"#, r#"{"a":"x"}"#, "have String; import all rows into a new table"),
            (r#"{"a":[1]}"#, r#"{"a":{"k":1}}"#, "have Tuple(k Int64); import all rows"),
            (r#"{"a":{"k":1}}"#, r#"{"a":1}"#, "have Int64; import all rows"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let (file, table) = (directory.path().join("n.jsonl"), directory.path().join("n"));
            std::fs::write(&file, first).unwrap();
            tambour::import([&file], &table, &ImportOptions::default()).unwrap();
            std::fs::write(&file, second).unwrap();
            let append = ImportOptions::default().append();
            let error = tambour::import([&file], &table, &append).unwrap_err();
            assert!(matches!(error, Error::Import(ImportError::Unlike { .. })), "{error:?}");
            assert!(error.to_string().contains(hint), "{second}: {error}");
            let Some((_, wider)) = hint.split_once('(') else { continue };
            let Some(wider) = wider.strip_suffix(" does)") else { continue };
            let statement =
                format!("CREATE TABLE n (a {wider}) ENGINE = MergeTree ORDER BY tuple()");
            let definition = tambour::TableDefinition::parse(&statement).unwrap();
            let table = tambour::import([&file], &table, &append.definition(definition)).unwrap();
            assert_eq!(answer(&table, "SELECT a FROM TABLE").len(), 2, "{wider}");
        }
    }

    #[test]
    fn fields_of_csv_take_wider_types_when_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let (file, table) = (directory.path().join("n.csv"), directory.path().join("n"));
        let create = |kind: &str| {
            let text =
                format!("CREATE TABLE n (id Int64, a {kind}) ENGINE = MergeTree ORDER BY id");
            tambour::TableDefinition::parse(&text).unwrap()
        };
        std::fs::write(&file, "id,a\n1,\"[1,2]\"\n").unwrap();
        let options = ImportOptions::default().definition(create("Array(Int64)"));
        tambour::import([&file], &table, &options).unwrap();
        std::fs::write(&file, "id,a\n2,\"[3,NULL]\"\n").unwrap();
        let append = ImportOptions::default().append();
        let error = tambour::import([&file], &table, &append).unwrap_err().to_string();
        assert!(error.contains("Array(Int64)"), "{error}");
        let asked = append.definition(create("Array(Nullable(Int64))"));
        let table = tambour::import([&file], &table, &asked).unwrap();
        let rows = answer(&table, "SELECT id, a FROM TABLE ORDER BY id");
        assert_eq!(rows, ["1\t[1,2]\t", "2\t[3,NULL]\t"]);
    }
}
