"""Values that statements name: partitions of every type of key, and rows of INSERT in which some values are computed."""

import pytest

# Types of a partition key, values, and other ways to write the first one.
PARTITIONS = [
    ("DateTime64(3, 'UTC')", ["'2024-01-01 00:00:01'", "'2024-01-01 00:00:01.5'", "'2024-01-01 00:00:01.123'"], []),
    ("DateTime('UTC')", ["'2024-01-01 00:00:00'", "'2024-01-01 00:00:01'"], ["1704067200", "'2024-01-01'"]),
    ("Date", ["'2024-01-01'", "'2024-01-02'"], ["19723", "'20240101'"]),
    ("IPv4", ["'1.2.3.4'", "'1.2.3.5'"], []),
    ("IPv6", ["'::1'", "'::2'"], []),
    ("FixedString(4)", ["'ab'", "'b'"], []),
    ("String", ["'NULL'", "'it''s'", "''"], []),
    ("Nullable(String)", ["NULL", "'NULL'", "'a'"], []),
    ("LowCardinality(String)", ["'a'", "'b'"], []),
    ("UUID", ["'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "'61f0c404-5cb3-11e7-907b-a6006ad3dba1'"], ["'61F0C404-5CB3-11E7-907B-A6006AD3DBA0'"]),
    ("UInt256", ["5", "7"], []),
    ("Int32", ["-5", "5"], ["'-5'"]),
    ("UInt8", ["5", "50"], ["5.0", "'5'"]),
    ("Decimal(9, 2)", ["1.5", "-1"], ["'1.50'"]),
    ("Bool", ["1", "0"], ["true"]),
    ("Enum8('a' = 1, 'b' = 2)", ["'a'", "'b'"], ["1"]),
]

# Columns, and rows that have literals and expressions beside each other.
ROWS = [
    ("b Decimal(38, 10)", ["(1 + 0, 12345678901234567890.0123456789)"]),
    ("b Decimal(18, 4)", ["(2 + 0, 12345678901234.5678), (3, -0.0001)"]),
    ("b Nullable(Decimal(18, 4))", ["(1 + 0, NULL), (2, 1234567890123.4567)"]),
    ("b UInt64", ["(1 + 0, 9007199254740993), (2, 18446744073709551615)"]),
    ("b DateTime64(9, 'UTC')", ["(1 + 0, 1704067200.123456789)"]),
    ("b Int128", ["(1 + 0, 170141183460469231731687303715884105727), (2, -5)"]),
    ("b UInt256", ["(toUInt8(1), 115792089237316195423570985008687907853269984665640564039457584007913129639935)"]),
    ("b String, c Array(Int64)", ["(1 + 0, 'it''s', [1, -9007199254740993]), (2, '', [])"]),
    ("b Float64, c String", ["(1, 0.1, lower('A')), (2, 1e300, upper('b')), (3, -0., 'c')"]),
    ("b Map(String, UInt64)", ["(1 + 0, {'a': 9007199254740993})"]),
    ("b Decimal(18, 4)", ["(1, 1 + 0.5), (2, 7.25), (3, 12345678901234.5678)"]),
    ("b DateTime('UTC'), c Nullable(Float64)", ["(1, toDateTime(0), nan), (2, '2024-01-01 00:00:00', 1.5), (3, 1704067200, NULL), (4, toDateTime(5, 'Asia/Tokyo'), abs(-3))"]),
]


def script(tambour, place, *statements):
    """Carries statements out in a database of tables; the exit code and the messages."""
    done = tambour.call("sql", "--database", place, "--write", "--yes", "--format", "tsv", "; ".join(statements))
    return done.returncode, done.stderr.decode(errors="replace")


@pytest.mark.parametrize("kind, values, others", PARTITIONS, ids=[kind for kind, _, _ in PARTITIONS])
def test_a_partition_is_what_its_value_says(kind, values, others, server, database, tambour, tmp_path):
    create = f"CREATE TABLE {{}} (p {kind}, k UInt8) ENGINE = MergeTree PARTITION BY p ORDER BY k SETTINGS allow_nullable_key = 1"
    rows = ", ".join(f"({value}, {k})" for k, value in enumerate(values))
    for number, value in enumerate([*values, *others]):
        theirs, place = f"t{number}", tmp_path / f"d{number}"
        server.run(create.format(f"{database}.{theirs}"))
        server.run(f"INSERT INTO {database}.{theirs} VALUES {rows}")
        server.run(f"ALTER TABLE {database}.{theirs} DROP PARTITION {value}")
        place.mkdir()
        code, says = script(tambour, place, create.format("t"), f"INSERT INTO t VALUES {rows}")
        assert code == 0, says
        code, says = script(tambour, place, f"ALTER TABLE t DROP PARTITION {value}")
        left = tambour.rows(place / "t", "SELECT k FROM t ORDER BY k")
        if code:
            # Another way to write a value may be refused; then all rows are there.
            assert value in others and len(left) == len(values), says
        else:
            assert left == server.rows(f"SELECT k FROM {database}.{theirs} ORDER BY k"), value


@pytest.mark.parametrize("columns, values", ROWS, ids=[values[0][:30] for _, values in ROWS])
def test_literals_beside_expressions_keep_their_digits(columns, values, server, database, tambour, tmp_path):
    create = f"CREATE TABLE {{}} (k UInt8, {columns}) ENGINE = MergeTree ORDER BY k"
    server.run(create.format(f"{database}.t"))
    code, says = script(tambour, tmp_path, create.format("t"))
    assert code == 0, says
    for rows in values:
        server.run(f"INSERT INTO {database}.t VALUES {rows}")
        code, says = script(tambour, tmp_path, f"INSERT INTO t VALUES {rows}")
        assert code == 0, says
    assert tambour.rows(tmp_path / "t", "SELECT * FROM t ORDER BY k") == server.rows(f"SELECT * FROM {database}.t ORDER BY k")


@pytest.mark.parametrize(
    "create, change",
    [
        ("k UInt8, m String MATERIALIZED toString(k)", "MODIFY COLUMN m REMOVE DEFAULT"),
        ("k UInt8, s String, a UInt8 ALIAS k", "RENAME COLUMN s TO a"),
        ("k UInt8, s String, a UInt8 ALIAS k", "ADD COLUMN a UInt8 DEFAULT 9"),
        ("k UInt8, d Date", "MODIFY COLUMN k UInt8 TTL d"),
    ],
)
def test_a_refused_alter_leaves_the_table(create, change, server, database, tambour, tmp_path):
    create = f"CREATE TABLE {{}} ({create}) ENGINE = MergeTree ORDER BY k"
    server.run(create.format(f"{database}.t"))
    with pytest.raises(RuntimeError):
        server.run(f"ALTER TABLE {database}.t {change}")
    assert script(tambour, tmp_path, create.format("t"), "INSERT INTO t (k) VALUES (1)")[0] == 0
    assert script(tambour, tmp_path, f"ALTER TABLE t {change}")[0] != 0
    assert tambour.rows(tmp_path / "t", "SELECT k FROM t") == ["1"]


CHECKS = [
    ("a UInt8, b Nullable(UInt8), CONSTRAINT c CHECK a > 0, CONSTRAINT `d e` CHECK b < 5, CONSTRAINT s ASSUME a = 3",
     ["(1, 1)", "(0, 1)", "(1, 7)", "(1, NULL)", "(5, 2), (6, 3), (7, 9)", "(5, 2), (6, 3)"]),
    ("a UInt8, CONSTRAINT c CHECK a", ["(3)", "(1)", "(0)"]),
    ("a UInt8, CONSTRAINT c CHECK toUInt16(a)", ["(1)"]),
    ("a UInt8, CONSTRAINT c CHECK NULL", ["(1)"]),
    ("a UInt8, CONSTRAINT c CHECK 1", ["(3)"]),
    ("a UInt8, s String MATERIALIZED concat('x', toString(a)), CONSTRAINT c CHECK s != 'x3' AND length(s) < 4", ["(3)", "(12)", "(123)"]),
    ("a UInt8, s String DEFAULT lower('ABC'), CONSTRAINT c CHECK s LIKE '%b%', CONSTRAINT d CHECK (a, s) != (1, 'abc')", ["(3, 'b')", "(1, 'abc')", "(2, '')"]),
    ("a UInt8, b Array(UInt8), CONSTRAINT c CHECK arrayExists(x -> x > a, b) OR empty(b)", ["(3, [])", "(1, [2])", "(2, [1, 2])"]),
]


@pytest.mark.parametrize("columns, values", CHECKS, ids=[columns for columns, _ in CHECKS])
def test_inserts_check_constraints(columns, values, server, database, tambour, tmp_path):
    create = f"CREATE TABLE {{}} ({columns}) ENGINE = MergeTree ORDER BY a"
    server.run(create.format(f"{database}.t"))
    code, says = script(tambour, tmp_path, create.format("t"))
    assert code == 0, says
    for rows in values:
        try:
            server.run(f"INSERT INTO {database}.t VALUES {rows}")
            is_taken = True
        except RuntimeError:
            is_taken = False
        code, says = script(tambour, tmp_path, f"INSERT INTO t VALUES {rows}")
        assert (code == 0) == is_taken, (rows, says)
    rows = "SELECT * FROM {} ORDER BY ALL"
    assert tambour.rows(tmp_path / "t", rows.format("t")) == server.rows(rows.format(f"{database}.t"))


def test_imports_refuse_what_they_cannot_check(tambour, tmp_path):
    create = "CREATE TABLE t (k UInt32, CONSTRAINT c CHECK k > 0) ENGINE = MergeTree ORDER BY k"
    assert script(tambour, tmp_path, create)[0] == 0
    (tmp_path / "rows.csv").write_text("k\n0\n")
    for done in (tambour.call("import", tmp_path / "rows.csv", "--into", tmp_path / "t", "--append"),
                 tambour.call("import", tmp_path / "rows.csv", "--into", tmp_path / "u", "--create", create)):
        assert done.returncode != 0 and b"only INSERT checks them" in done.stderr, done.stderr
    assert tambour.rows(tmp_path / "t", "SELECT count() FROM t") == ["0"]
