//! CREATE TABLE statements: what is understood, what is refused and how, and that printing and parsing agree.
//!
//! Every statement of `ACCEPTED` was run by ClickHouse 26.9, as was the statement printed from it.

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tambour_codec::Kind;
    use tambour_part::types::DataType;
    use tambour_table::TableError;
    use tambour_table::schema::TableDefinition;
    use tambour_table::schema::expression::Expression;

    const ACCEPTED: &[&str] = &[
        "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a",
        "create table if not exists db.t (a UInt8) engine MergeTree() order by (a) settings index_granularity=1024;",
        "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY tuple()",
        "CREATE TABLE t (k UInt64 PRIMARY KEY, v Nullable(Int8) STATISTICS(minmax))",
        "CREATE TABLE t (`a b` UInt8 DEFAULT 1 + 2 COMMENT 'it''s' CODEC(ZSTD(3)), d Date, INDEX i d TYPE minmax \
         GRANULARITY 1, CONSTRAINT c CHECK d > '2000-01-01', PROJECTION p (SELECT d ORDER BY d)) ENGINE = MergeTree \
         PARTITION BY toYYYYMM(d) ORDER BY (d, intDiv(`a b`, 2)) SETTINGS index_granularity = 1024 COMMENT 'hi'",
        "CREATE TABLE t (n Nested(a UInt8, b String), k UInt64 CODEC(Delta, ZSTD)) ENGINE = MergeTree ORDER BY k",
        "CREATE TABLE t (k UInt64, s String) ENGINE = ReplacingMergeTree(k) ORDER BY (k, s) PRIMARY KEY k",
        "CREATE TABLE t (k Nullable(UInt64)) ENGINE = MergeTree ORDER BY k SETTINGS allow_nullable_key = 1",
        "CREATE TABLE t (k UInt64, k2 UInt64 NULL, k3 UInt8 NOT NULL) ENGINE = MergeTree ORDER BY (k + 1) * 2",
        "CREATE TABLE t (k Int64, d DateTime('Europe/Berlin')) ENGINE = MergeTree PARTITION BY (k % 8, toMonday(d)) \
         ORDER BY (toStartOfHour(d), -k)",
        "CREATE TABLE t (`index` UInt8, `n.x` Array(UInt8), e Enum8('a, b)' = 1, 'c\\'' = 2)) ENGINE = MergeTree \
         ORDER BY (index, n.x)",
        "CREATE TABLE t (a DOUBLE PRECISION, k INT UNSIGNED, c VARCHAR(10), x DECIMAL(10, 2)) ENGINE = MergeTree ORDER BY k",
        "CREATE TABLE t /* a /* nested */ comment */ (k UInt8, -- another, )\n d Date TTL d + INTERVAL 1 DAY) ENGINE = MergeTree \
         ORDER BY k ASC TTL d + INTERVAL 1 MONTH SETTINGS storage_policy = 'default'",
    ];

    #[test]
    fn printing_and_parsing_agree() {
        for statement in ACCEPTED {
            let definition = TableDefinition::parse(statement)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
            let printed = definition.to_string();
            assert_eq!(TableDefinition::parse(&printed).unwrap(), definition, "{printed}");
        }
    }

    #[test]
    fn a_statement_of_many_clauses_is_understood() {
        let definition = TableDefinition::parse(ACCEPTED[4]).unwrap();
        assert_eq!(
            definition.to_string(),
            "CREATE TABLE t\n(\n    `a b` UInt8 DEFAULT 1 + 2 COMMENT 'it\\'s' CODEC(ZSTD(3)),\n    `d` Date,\n    \
             INDEX i d TYPE minmax GRANULARITY 1,\n    CONSTRAINT c CHECK d > '2000-01-01',\n    \
             PROJECTION p (SELECT d ORDER BY d)\n)\nENGINE = MergeTree\nPARTITION BY toYYYYMM(d)\n\
             ORDER BY (d, intDiv(`a b`, 2))\nSETTINGS index_granularity = 1024\nCOMMENT 'hi'"
        );
        assert_eq!(definition.index_granularity(), 1024);
        assert_eq!(definition.primary_key_types().unwrap(), [DataType::Date, DataType::UInt8]);
        assert_eq!(definition.columns[0].comment.as_deref(), Some("it's"));
        assert_eq!(definition.columns[0].codec.as_ref().unwrap().to_string(), "ZSTD(3)");
    }

    #[test]
    fn attach_statements_of_a_server_are_understood() {
        let definition = TableDefinition::parse(
            "ATTACH TABLE _ UUID 'a1406c82-49e7-4e57-973e-67943371dfc9'\n(\n    `k` Int64,\n    `t` DateTime64(3, 'UTC')\n)\n\
             ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/t', '{replica}', k)\n\
             PARTITION BY toYYYYMM(t)\nPRIMARY KEY k\nORDER BY (k, t)\nSAMPLE BY k\nSETTINGS index_granularity = 8192",
        )
        .unwrap();
        assert_eq!(definition.name, "_");
        assert_eq!(definition.primary_key.len(), 1);
        assert_eq!(definition.clauses.sample_by.as_deref(), Some("k"));
        assert!(
            definition.clauses.engine.unwrap().starts_with("ReplicatedReplacingMergeTree('/click")
        );
        TableDefinition::parse(
            "CREATE TABLE a.b ON CLUSTER '{cluster}' (k UInt8) ENGINE = MergeTree ORDER BY k",
        )
        .unwrap();
    }

    #[test]
    fn nested_becomes_arrays() {
        let names = TableDefinition::parse(ACCEPTED[5]).unwrap().plain_columns();
        let names: Vec<String> =
            names.iter().map(|c| format!("{} {}", c.name, c.data_type)).collect();
        assert_eq!(names, ["n.a Array(UInt8)", "n.b Array(String)", "k UInt64"]);
    }

    #[test]
    fn remainders_in_partition_keys_keep_their_old_type() {
        let statement =
            "CREATE TABLE t (k Int64) ENGINE = MergeTree PARTITION BY k % 8 ORDER BY k % 8";
        let definition = TableDefinition::parse(statement).unwrap();
        let columns = definition.plain_columns();
        assert_eq!(definition.partition_by[0].data_type(&columns).unwrap(), DataType::Int8);
        assert_eq!(definition.order_by[0].data_type(&columns).unwrap(), DataType::Int16);
        assert!(definition.to_string().contains("PARTITION BY k % 8\nORDER BY k % 8"));
    }

    fn error(statement: &str) -> TableError {
        TableDefinition::parse(statement).unwrap_err()
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of cases")]
    fn errors_say_where_and_what() {
        let cases = [
            (
                "CREATE TABLE t (a UInt8,) ENGINE = MergeTree ORDER BY b",
                "ORDER BY names the column `b`, which the table does not have",
            ),
            (
                "CREATE TABLE t (a) ENGINE = MergeTree ORDER BY a",
                "line 1, column 18: expected the type of column `a`, found `)`",
            ),
            (
                "CREATE TABLE t (a UInt8 b UInt8)",
                "line 1, column 25: expected `,` or `)`, found `b`",
            ),
            (
                "CREATE TABLE t\n(a UInt8\nENGINE = MergeTree",
                "line 3, column 1: expected `,` or `)`, found `ENGINE`",
            ),
            ("CREATE TABLE t (a UInt8, a Int8) ORDER BY a", "column `a` is defined twice"),
            (
                "CREATE TABLE t (a UInt8) ORDER BY a DESC",
                "ORDER BY a DESC is not supported: keys are ascending here",
            ),
            ("CREATE TABLE t (a Blob2) ORDER BY a", "type of column `a`"),
            (
                "CREATE TABLE t (a UInt8 CODEC(ZSTD() ORDER BY a",
                "line 1, column 48: expected `)`, found the end",
            ),
            (
                "CREATE TABLE t (a UInt8 AUTO_INCREMENT) ORDER BY a",
                "AUTO_INCREMENT of column `a` is not supported: every value must be given",
            ),
            (
                "CREATE TABLE t (a UInt8) ENGINE = Log",
                "ENGINE = Log is not supported: only the engines of the MergeTree family have parts",
            ),
            (
                "CREATE TABLE t (a UInt8, b UInt8) ORDER BY a PRIMARY KEY b",
                "PRIMARY KEY: it must be a prefix of ORDER BY",
            ),
            (
                "CREATE TABLE t (a Nullable(UInt8)) ORDER BY a",
                "ORDER BY: `a` is Nullable; SETTINGS allow_nullable_key = 1 permits it",
            ),
            ("CREATE TABLE t (a UInt8) ORDER BY (a, a)", "ORDER BY: `a` is in it twice"),
            ("CREATE TABLE t (a UInt8) ORDER BY 1", "ORDER BY: `1` is the same for every row"),
            (
                "CREATE TABLE t (a UInt8) ORDER BY farmHash64(a)",
                "the function farmHash64 is not supported: of hash functions, keys may have cityHash64, sipHash64, xxHash32, xxHash64, xxh3, intHash32 and intHash64",
            ),
            (
                "CREATE TABLE t (a UInt8) ORDER BY fnord(a)",
                "function `fnord` cannot be used in a key expression",
            ),
            (
                "CREATE TABLE t (a UInt8) ORDER BY toYYYYMM(a)",
                "function `toYYYYMM`: it takes a Date, Date32, DateTime or DateTime64, not UInt8",
            ),
            (
                "CREATE TABLE t (a UInt8) ORDER BY a SETTINGS index_granularity = 0",
                "SETTINGS index_granularity: it must be a number from 1 to 16777216, not 0",
            ),
            (
                "CREATE TABLE t (a UInt8) ORDER BY a; SELECT 1",
                "line 1, column 38: expected the end, found `SELECT`",
            ),
            (
                "CREATE TABLE t (a String DEFAULT 'x) ORDER BY a",
                "line 1, column 34: expected the end of the text, found the end of the statement",
            ),
            (
                "CREATE VIEW v AS SELECT 1",
                "CREATE VIEW is not supported: only CREATE TABLE makes a table of parts",
            ),
            ("SELECT 1", "line 1, column 1: expected CREATE TABLE, found `SELECT`"),
            ("", "line 1, column 1: expected CREATE TABLE, found the end"),
        ];
        for (statement, message) in cases {
            assert_eq!(error(statement).to_string(), message, "{statement}");
        }
        assert_eq!(error("CREATE TABLE t (a UInt8) ORDER BY a DESC").kind(), Kind::Unsupported);
        assert_eq!(error("CREATE").kind(), Kind::Argument);
    }

    #[test]
    fn deep_and_long_input_is_an_error_and_nothing_worse() {
        let deep = "(".repeat(100_000);
        for statement in [
            format!("CREATE TABLE t (a UInt8) ORDER BY {deep}"),
            format!("CREATE TABLE t (a UInt8 CODEC{deep}"),
            format!("CREATE TABLE t (a Array{deep}"),
            format!("CREATE TABLE t (a UInt8) ORDER BY {}1", "-".repeat(100_001)),
            format!("CREATE TABLE t (a UInt8) ORDER BY {}", "lower(".repeat(10_000)),
            format!("CREATE TABLE t (a UInt8) ORDER BY a{}", " + a".repeat(100_000)),
            "x".repeat(2 << 20),
        ] {
            assert!(
                matches!(error(&statement).kind(), Kind::Limit | Kind::Argument),
                "{}",
                &statement[..60]
            );
        }
    }

    #[test]
    fn keys() {
        let texts = |sql: &str| -> Vec<String> {
            Expression::parse_key(sql).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts("a"), ["a"]);
        assert_eq!(texts("a, b"), ["a", "b"]);
        assert_eq!(texts("(a, `b c`)"), ["a", "`b c`"]);
        assert_eq!(texts("tuple()"), [""; 0]);
        assert_eq!(texts("tuple(a)"), ["a"]);
        assert_eq!(texts("toyyyymm"), ["toyyyymm"]);
        assert_eq!(texts("(a + b) * 2"), ["(a + b) * 2"]);
        assert_eq!(texts("(a) % 2, b"), ["a % 2", "b"]);
        assert_eq!(texts("a - (b - 1) DIV 2"), ["a - intDiv(b - 1, 2)"]);
        assert_eq!(texts("LOWER(s) ASC, mod(a, 3)"), ["lower(s)", "a % 3"]);
        assert_eq!(Expression::parse("n.a.b").unwrap(), Expression::Column("n.a.b".to_owned()));
        assert_eq!(Expression::parse("toDate(a) + b - a").unwrap().columns(), ["a", "b"]);
        let growing = ["a", "toDate(a)", "toYYYYMM(toStartOfDay(a, 'UTC'))", "intDiv(a, 10)"];
        assert!(growing.iter().all(|sql| Expression::parse(sql).unwrap().is_monotonic()));
        let others = [
            "1",
            "toMonth(a)",
            "intDiv(a, -1)",
            "a % 3",
            "intDiv(10, a)",
            "a + 1",
            "toDateTime(a)",
        ];
        assert!(!others.iter().any(|sql| Expression::parse(sql).unwrap().is_monotonic()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(CREATE TABLE t |\\(|a UInt8|,|\\)| ENGINE = MergeTree| ORDER BY |a|'|`|\\\\|/\\*|--|\n|-|\\+|%|1|e|\u{e9}|\\.|::|DEFAULT |CODEC\\(|INDEX |Nested\\()*") {
            let _ = TableDefinition::parse(&text);
            let _ = Expression::parse_key(&text);
        }

        #[test]
        fn names_and_comments_survive(name in "\\PC{1,20}", comment in any::<String>()) {
            let mut definition = TableDefinition::parse("CREATE TABLE t (a UInt8) ORDER BY tuple()").unwrap();
            definition.columns[0].column.name = name.clone();
            definition.columns[0].comment = Some(comment);
            definition.order_by = vec![Expression::Column(name)];
            definition.primary_key = definition.order_by.clone();
            prop_assert_eq!(TableDefinition::parse(&definition.to_string()).unwrap(), definition);
        }
    }
}
