"""Skip indexes of ClickHouse's parts: queries leave granules out by them and answer as ClickHouse does, and as without them."""

import json
import random
import re
import shutil

import pytest

# A column: its type, an expression of a number `n` that clusters and one that does not, constants for conditions, and whether it is compared by size.
COLUMNS = {
    "u8": ("UInt8", "intDiv(n, 40) % 200", "cityHash64(n) % 250", ["0", "7", "41", "199", "255"], True),
    "i16": ("Int16", "toInt16(intDiv(n, 9)) - 200", "toInt16(cityHash64(n, 1) % 3000) - 1500", ["-200", "-1", "0", "17", "1499"], True),
    "i32": ("Int32", "toInt32(n) - 3000", "toInt32(cityHash64(n, 2) % 100000) - 50000", ["-3000", "-7", "0", "2999", "49999"], True),
    "u64": ("UInt64", "n * 1000003", "cityHash64(n, 3)", ["0", "1000003", "5000015000", "18446744073709551615"], True),
    "i128": ("Int128", "toInt128(n) * -1000003", "toInt128(cityHash64(n, 4)) * -7", ["0", "-1000003", "-3000009"], True),
    "f32": ("Float32", "if(n % 500 = 3, nan, n / 4)", "if(n % 11 = 3, -0.0, toFloat32(cityHash64(n, 5) % 90) / 8)", ["0", "0.25", "100.5", "1e9"], True),
    "f64": ("Float64", "if(n % 700 = 3, nan, n / 3)", "if(n % 13 = 3, -0.0, toFloat64(cityHash64(n, 6) % 90) / 7)", ["0", "1", "77", "1e300"], True),
    "dec": ("Decimal(18, 3)", "toDecimal64(n, 3) / 4", "toDecimal64(cityHash64(n, 7) % 900, 3) / 8", ["0", "12.5", "100.125"], True),
    "day": ("Date", "toDate('2020-01-01') + intDiv(n, 10)", "toDate('2020-01-01') + cityHash64(n, 8) % 900", ["'2020-01-01'", "'2020-03-04'", "'2021-06-30'"], True),
    "at": ("DateTime('UTC')", "toDateTime('2020-01-01 00:00:00', 'UTC') + n * 60", "toDateTime('2020-01-01 00:00:00', 'UTC') + cityHash64(n, 9) % 100000",
           ["'2020-01-01 00:00:00'", "'2020-01-02 03:04:00'"], True),
    "fine": ("DateTime64(3, 'UTC')", "toDateTime64('1969-12-31 23:00:00', 3, 'UTC') + n", "toDateTime64('2020-01-01 00:00:00', 3, 'UTC') + cityHash64(n, 10) % 100000",
             ["'1969-12-31 23:00:07.000'", "'2020-01-01 10:00:00.000'"], True),
    "s": ("String", "concat('row ', leftPad(toString(intDiv(n, 3)), 5, '0'))", "concat('x', toString(cityHash64(n, 11) % 700), ' Wort-', toString(n % 17), ' é')",
          ["'row 00017'", "'x17 Wort-3 é'", "''", "'row 01000'"], True),
    "fs": ("FixedString(6)", "toFixedString(leftPad(toString(intDiv(n, 5)), 6, '0'), 6)", "toFixedString(toString(cityHash64(n, 12) % 900), 6)", ["'000017'", "'000700'"], False),
    "lc": ("LowCardinality(String)", "concat('l', toString(intDiv(n, 300)))", "concat('l', toString(cityHash64(n, 13) % 12))", ["'l3'", "'l11'", "'none'"], True),
    "ln": ("LowCardinality(Nullable(String))", "if(n % 400 < 200, NULL, concat('l', toString(intDiv(n, 400))))", "if(n % 3 = 0, NULL, concat('m', toString(cityHash64(n, 14) % 12)))",
           ["'l3'", "'m11'", "'none'"], True),
    "ns": ("Nullable(String)", "if(n % 900 < 300, NULL, concat('q', toString(intDiv(n, 100))))", "if(n % 5 = 0, NULL, concat('q', toString(cityHash64(n, 15) % 40)))", ["'q3'", "'q17'", "''"], True),
    "ni": ("Nullable(Int32)", "if(n % 900 < 300, NULL, toInt32(n) - 500)", "if(n % 5 = 0, NULL, toInt32(cityHash64(n, 16) % 500))", ["-500", "0", "17", "2000"], True),
    "e": ("Enum8('a' = -5, 'b' = 3, 'c' = 100)", "['a', 'b', 'c'][1 + intDiv(n, 1100) % 3]", "['a', 'b', 'c'][1 + cityHash64(n, 17) % 3]", ["'a'", "'c'"], False),
    "id": ("UUID", "toUUID(concat('00000000-0000-0000-0000-', leftPad(toString(intDiv(n, 7)), 12, '0')))", "toUUID(concat('00000000-0000-0000-0000-', leftPad(toString(cityHash64(n, 18) % 500), 12, '0')))",
           ["'00000000-0000-0000-0000-000000000017'"], False),
    "ip": ("IPv4", "toIPv4(toUInt32(n))", "toIPv4(toUInt32(cityHash64(n, 19) % 5000))", ["'0.0.0.17'", "'0.0.3.4'"], False),
    "six": ("IPv6", "toIPv6(concat('::', hex(n)))", "toIPv6(concat('::', hex(cityHash64(n, 20) % 5000)))", ["'::17'", "'::3f4'"], False),
    "b": ("Bool", "n > 2000", "cityHash64(n, 21) % 2 = 0", ["true", "false"], False),
    "an": ("Array(UInt32)", "[toUInt32(n), toUInt32(n + 7)]", "arrayMap(x -> toUInt32(cityHash64(n, x) % 2000), range(n % 4))", ["17", "1234", "999999"], None),
    "as": ("Array(String)", "[concat('t', toString(intDiv(n, 10)))]", "arrayMap(x -> concat('t', toString(cityHash64(n, x) % 900)), range(n % 3))", ["'t17'", "'t444'", "'none'"], None),
}
FLOATS = ("f32", "f64")
NO_BLOOM = ("dec",)
TEXTS = ("s", "fs", "lc", "ns", "ln")


def kinds_of(name, random):
    kinds = [] if COLUMNS[name][4] is None else ["minmax", "minmax", f"set({random.choice([0, 10, 100])})"]
    if name not in NO_BLOOM:
        kinds += ["bloom_filter", f"bloom_filter({random.choice([0.3, 0.1, 0.01, 0.001, 0.00001])})"]
    if name in ("s", "lc", "fs", "as"):
        kinds += [f"tokenbf_v1({random.choice([64, 100, 256])}, 2, {random.choice([0, 9])})", "ngrambf_v1(3, 256, 2, 7)", "ngrambf_v1(2, 128, 3, 0)"]
    return kinds


def condition(random, names):
    name = random.choice(names)
    constants, sized = COLUMNS[name][3:]
    constant = random.choice(constants)
    if sized is None:
        return f"has(`{name}`, {constant})"
    roll = random.random()
    if roll < 0.3:
        return f"`{name}` = {constant}"
    if roll < 0.45:
        return f"`{name}` {random.choice(['IN', 'IN', 'NOT IN'])} ({', '.join(random.sample(constants, random.randint(1, len(constants))))})"
    if roll < 0.55 and name in TEXTS and name != "fs":
        return f"`{name}` LIKE '{random.choice(constants).strip(chr(39))[:random.randint(1, 9)]}%'"
    if roll < 0.65 and COLUMNS[name][0].startswith(("Nullable", "LowCardinality(Nullable")):
        return f"`{name}` IS {random.choice(['', 'NOT '])}NULL"
    if sized and roll < 0.85:
        return f"`{name}` {random.choice(['<', '<=', '>', '>='])} {constant}"
    if sized:
        return f"`{name}` BETWEEN {constant} AND {random.choice(constants)}"
    return f"`{name}` != {constant}"


def made(server, database, random, number):
    """A table of some columns with some indexes, in two parts or more; some older than some indexes, some rows deleted. The names of its columns."""
    table = f"{database}.t{number}"
    names = random.sample(sorted(COLUMNS), 7)
    columns = [f"`{name}` {COLUMNS[name][0]}" for name in names]
    indexes = []
    for name in names:
        for kind in random.sample(kinds_of(name, random), random.randint(1, 2)):
            indexes.append(f"i{len(indexes)} `{name}` TYPE {kind} GRANULARITY {random.choice([1, 1, 2, 3, 7])}")
    pair = [name for name in names if COLUMNS[name][4] is not None][:2]
    if len(pair) == 2:
        indexes.append(f"pair (`{pair[0]}`, `{pair[1]}`) TYPE {random.choice(['minmax', 'set(50)', 'set(0)'])} GRANULARITY 2")
    later = indexes.pop(random.randrange(len(indexes)))
    settings = f"index_granularity = {random.choice([64, 100, 128])}"
    settings += random.choice(["", ", min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"])
    settings += random.choice(["", ", packed_skip_index_max_bytes = 0"])
    settings += random.choice(["", ", compress_marks = 0"])
    listed = ", ".join(columns + [f"INDEX {index}" for index in indexes])
    server.run(f"CREATE TABLE {table} (n UInt64, {listed}) ENGINE = MergeTree ORDER BY n SETTINGS {settings}")

    def insert(first, count):
        values = ", ".join(COLUMNS[name][1 if random.random() < 0.6 else 2] for name in names)
        server.run(f"INSERT INTO {table} SELECT n, {values} FROM (SELECT number + {first} AS n FROM numbers({count}))")

    insert(0, 1700)
    server.run(f"ALTER TABLE {table} ADD INDEX {later}")
    insert(1700, 1300)
    insert(3000, random.choice([1, 60, 500]))
    if random.random() < 0.3:
        server.run(f"OPTIMIZE TABLE {table} FINAL")
    if random.random() < 0.4:
        server.run(f"DELETE FROM {table} WHERE n % 9 = 4")
    return table, names, len(indexes) + 1


@pytest.mark.parametrize("number", range(24))
def test_answers_are_those_of_clickhouse(server, tambour, database, tmp_path, number):
    chance = random.Random(f"indexes {number}")
    table, names, count = made(server, database, chance, number)
    place = server.directory(database, table.split(".")[1])
    copy = tmp_path / "t"
    shutil.copytree(place, copy)
    create = server.run(f"SELECT create_table_query FROM system.tables WHERE database = '{database}' AND name = '{table.split('.')[1]}' FORMAT TSVRaw")
    (copy / "t.sql").write_text(create)
    tambour.run("verify", copy)
    listed = tambour.rows(copy, "SELECT name, type_full, expr, granularity, data_compressed_bytes, marks_bytes FROM system.data_skipping_indices ORDER BY name")
    server_lists = server.rows(f"SELECT name, type_full, replaceAll(expr, '`', ''), granularity, data_compressed_bytes, marks_bytes FROM system.data_skipping_indices "
                               f"WHERE database = '{database}' AND table = '{table.split('.')[1]}' ORDER BY name")
    names_and_sizes = [[(fields[0], *fields[3:]) for fields in (row.split("\t") for row in rows)] for rows in (listed, server_lists)]
    assert len(listed) == count and names_and_sizes[0] == names_and_sizes[1]
    questions = []
    for _ in range(60):
        parts = [condition(chance, names) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
        questions.append(chance.choice([" AND ", " OR "]).join(parts) if len(parts) < 3 else f"({parts[0]} OR {parts[1]}) AND {parts[2]}")
    queries = [f"SELECT count(), ifNull(sum(n), 0), ifNull(min(n), 0) FROM {{}} WHERE {question}" for question in questions]
    script = "".join(query.format("t") + " FORMAT TSV;\n" for query in queries)
    answers = {}
    for is_on in ("1", "0"):
        done = tambour.call("sql", copy, "--format", "tsv", "--no-header", "--ignore-error", "-c", f"SET tambour.scan_indexes = {is_on == '1'}", "-c", script)
        assert b"panicked" not in done.stderr
        answers[is_on] = done.stdout.decode("utf-8", "surrogateescape")
    assert answers["1"] == answers["0"]
    lines = answers["1"].splitlines()
    assert len(lines) == len(queries), done.stderr.decode()
    for query, line in zip(queries, lines):
        expected = server.run(query.format(table) + " SETTINGS use_skip_indexes = 0").rstrip("\n")
        if any(name in query for name in FLOATS) and line != expected:
            # NaN is compared otherwise; both answers of ours are the same.
            continue
        assert line == expected, query


def stats(tambour, table, query, kind):
    done = tambour.call("sql", table, "--stats", "-c", query)
    assert done.returncode == 0, done.stderr.decode()
    found = re.search(rf"(\d+) by skip indexes \({kind}\)", done.stderr.decode())
    return done.stdout.decode().split()[-1], int(found[1]) if found else 0


@pytest.fixture
def indexed(server, database, tmp_path):
    """One part of 100 granules; each index by itself leaves most of them out."""
    server.run(f"""CREATE TABLE {database}.t (k UInt64, v Int32, s String, u UUID, a Array(UInt32), w String,
        INDEX iv v TYPE minmax GRANULARITY 2, INDEX is s TYPE set(0) GRANULARITY 1, INDEX iu u TYPE bloom_filter(0.001) GRANULARITY 1,
        INDEX ia a TYPE bloom_filter(0.001) GRANULARITY 1, INDEX iw w TYPE tokenbf_v1(1024, 3, 0) GRANULARITY 1)
        ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100, min_bytes_for_wide_part = 0, packed_skip_index_max_bytes = 0""")
    server.run(f"""INSERT INTO {database}.t SELECT number, intDiv(number, 10), concat('s', toString(intDiv(number, 50))), toUUID(concat('00000000-0000-0000-0000-',
        leftPad(toString(number), 12, '0'))), [toUInt32(number)], concat('one w', toString(number), ' two') FROM numbers(10000)""")
    copy = tmp_path / "t"
    shutil.copytree(server.directory(database, "t"), copy)
    create = server.run(f"SELECT create_table_query FROM system.tables WHERE database = '{database}' AND name = 't' FORMAT TSVRaw")
    (copy / "t.sql").write_text(create)
    return copy


QUESTIONS = [
    ("v = 500", "minmax", "10"), ("v BETWEEN 20 AND 25", "minmax", "60"), ("v < 3", "minmax", "30"), ("s = 's7'", "set", "50"), ("s IN ('s7', 's190')", "set", "100"),
    ("s LIKE 's199%'", "set", "50"), ("u = '00000000-0000-0000-0000-000000000077'", "bloom filter", "1"), ("has(a, 4711)", "bloom filter", "1"),
    ("w = 'one w4711 two'", "bloom filter", "1"), ("w LIKE 'one w4711 %'", "bloom filter", "1"),
]


@pytest.mark.parametrize("question,kind,rows", QUESTIONS)
def test_granules_are_left_out(tambour, indexed, question, kind, rows):
    answer, left_out = stats(tambour, indexed, f"SELECT count() FROM t WHERE {question}", kind)
    assert answer == rows and left_out >= 90, left_out
    answer, left_out = stats(tambour, indexed, f"SET tambour.scan_indexes = false; SELECT count() FROM t WHERE {question}", kind)
    assert answer == rows and left_out == 0
    assert f"by skip indexes ({kind})" in tambour.run("sql", indexed, f"EXPLAIN ANALYZE SELECT count() FROM t WHERE {question}")


@pytest.mark.parametrize("harm", ["lost", "lost marks", "short", "flipped", "flipped marks", "swapped"])
def test_damaged_indexes_change_no_answer(tambour, indexed, harm):
    part = next(indexed.glob("all_*"))
    entries = sorted(part.glob("skp_idx_*.idx*"))
    assert len(entries) == 5
    if harm == "swapped":
        # Both are sound, and neither is the one that it is called.
        files = {name: (part / f"skp_idx_{name}").read_bytes() for name in ("ia.idx", "ia.cmrk2", "iu.idx", "iu.cmrk2")}
        for name, content in files.items():
            (part / f"skp_idx_{name.translate(str.maketrans('au', 'ua')) if name.startswith('i') else name}").write_bytes(content)
    for path in entries:
        marks = path.with_suffix(".cmrk2")
        target = marks if "marks" in harm else path
        content = bytearray(target.read_bytes())
        if harm.startswith("lost"):
            target.unlink()
        elif harm == "short":
            target.write_bytes(content[: len(content) // 2])
        elif harm.startswith("flipped"):
            content[len(content) // 2] ^= 4
            target.write_bytes(content)
    for question, kind, rows in QUESTIONS:
        answer, _ = stats(tambour, indexed, f"SELECT count() FROM t WHERE {question}", kind)
        assert answer == rows, question
    done = tambour.call("verify", indexed)
    assert done.returncode != 0 and b"skp_idx_i" in done.stdout + done.stderr


@pytest.mark.parametrize("statement", [("INDEX iv v", "INDEX iv k"), ("INDEX is s TYPE set(0)", "INDEX is w TYPE set(0)"), ("INDEX iu u TYPE bloom_filter(0.001)", "INDEX iu w TYPE bloom_filter(0.001)"),
                                       ("INDEX ia a TYPE bloom_filter(0.001)", "INDEX ia u TYPE bloom_filter(0.001)")])
def test_another_definition_changes_no_answer(tambour, indexed, statement):
    """The CREATE beside the parts is of another table: what the index says is not about the column that it names."""
    text = (indexed / "t.sql").read_text().replace("`", "")
    assert statement[0] in text
    (indexed / "t.sql").write_text(text.replace(*statement))
    for question, kind, rows in [*QUESTIONS, ("k = 70", "minmax", "1"), ("k > 5000", "minmax", "4999")]:
        answer, _ = stats(tambour, indexed, f"SELECT count() FROM t WHERE {question}", kind)
        assert answer == rows, question
    done = tambour.call("verify", indexed)
    assert done.returncode != 0 and statement[1].split()[1].encode() in done.stdout + done.stderr


def test_changed_types_and_columns(server, tambour, database, tmp_path):
    """A column gets another type, and mutations do not wait: parts have the index of the type of before, or none."""
    server.run(f"""CREATE TABLE {database}.t (k UInt64, v UInt8, INDEX iv v TYPE minmax GRANULARITY 1, INDEX ib v TYPE bloom_filter GRANULARITY 1, INDEX is v TYPE set(0) GRANULARITY 1)
        ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100""")
    server.run(f"INSERT INTO {database}.t SELECT number, intDiv(number, 10) FROM numbers(1000)")
    server.run(f"SYSTEM STOP MERGES {database}.t")
    server.run(f"ALTER TABLE {database}.t MODIFY COLUMN v Int64 SETTINGS alter_sync = 0, mutations_sync = 0")
    server.run(f"INSERT INTO {database}.t SELECT 1000 + number, intDiv(number, 10) - 50 FROM numbers(1000)")
    copy = tmp_path / "t"
    shutil.copytree(server.directory(database, "t"), copy)
    create = server.run(f"SELECT create_table_query FROM system.tables WHERE database = '{database}' AND name = 't' FORMAT TSVRaw")
    (copy / "t.sql").write_text(create)
    for question in ("v = 17", "v < 0", "v > 95", "v IN (3, -3)"):
        assert tambour.rows(copy, f"SELECT count() FROM t WHERE {question}") == server.rows(f"SELECT count() FROM {database}.t WHERE {question}")
    server.run(f"SYSTEM START MERGES {database}.t")


def test_inspect_lists_them(tambour, indexed):
    found = json.loads(tambour.run("inspect", indexed, "--json"))["skip_indexes"]
    assert [(it["name"], it["parts"], it["prunes"], it["parts_refused"]) for it in found] == [(name, 1, True, 0) for name in ("iv", "is", "iu", "ia", "iw")]
    assert "tokenbf_v1(1024, 3, 0)" in tambour.run("inspect", indexed)


@pytest.mark.parametrize("statement", ["ALTER TABLE t UPDATE v = v + 100000 WHERE k % 3 = 0", "ALTER TABLE t UPDATE w = 'new' WHERE k < 100", "DELETE FROM t WHERE k % 7 = 1",
                                       "ALTER TABLE t DELETE WHERE k % 5 = 1", "INSERT INTO t SELECT * FROM t WHERE k < 500", "OPTIMIZE TABLE t FINAL"])
def test_our_writers_leave_no_wrong_index(server, tambour, database, tmp_path, indexed, statement):
    """What is written keeps indexes only where their columns stay; ClickHouse takes the parts and answers by its own indexes and without them."""
    tambour.run("sql", indexed, "--write", "-c", statement)
    tambour.run("verify", indexed)
    create = (indexed / "t.sql").read_text()
    table = re.search(r"CREATE TABLE (\S+)", create)[1]
    server.run(create.replace(table, f"{database}.u", 1))
    server.attach(database, "u", [path for path in sorted(indexed.iterdir()) if path.is_dir() and path.name in
                                  tambour.rows(indexed, "SELECT name FROM system.parts")])
    assert server.check(database, "u")
    for question in [question for question, _, _ in QUESTIONS] + ["v = 100018", "w = 'new'"]:
        query = f"SELECT count(), ifNull(sum(k), 0) FROM {{}} WHERE {question}"
        ours = {tambour.run("sql", indexed, "--format", "tsv", "--no-header", "-c", f"SET tambour.scan_indexes = {switch}", "-c", query.format("t")) for switch in ("true", "false")}
        theirs = {server.run(query.format(f"{database}.u") + f" SETTINGS use_skip_indexes = {switch}") for switch in (0, 1)}
        assert len(ours) == 1 and ours == theirs, question


# Of indexes of the kind `text`: a tokenizer, and columns that it is over with expressions of a number `n`.
TOKENIZERS = ["splitByNonAlpha", "ngrams(3)", "ngrams(2)", "splitByString([' ', '-'])", "array", "splitByNonAlpha", "sparseGrams(3, 6)"]
SENTENCE = "concat('row ', toString(intDiv(n, 3)), if(n % 7 = 0, ' Wort-', ' wort '), toString(cityHash64(n) % 90), if(n % 900 = 5, ' rare_one', ''), if(n % 2 = 0, ' é', ''))"
TEXT_COLUMNS = {
    "s": ("String", SENTENCE),
    "f": ("FixedString(40)", f"toFixedString(substring({SENTENCE}, 1, 40), 40)"),
    "l": ("LowCardinality(String)", "concat('kind ', toString(intDiv(n, 200)), ' of wort')"),
    "m": ("Nullable(String)", f"if(n % 5 = 0, NULL, {SENTENCE})"),
    "e": ("String", "if(n < 2500, '', 'late row')"),
    "a": ("Array(String)", "if(n % 11 = 0, [], [concat('t', toString(intDiv(n, 10))), '', 'row wort'])"),
    "h": ("Array(LowCardinality(Nullable(String)))", "[NULL, concat('t', toString(intDiv(n, 50)))]"),
}
WORDS = ["row", "17", "wort", "Wort", "rare", "one", "nowhere", "é", "444", "late", "t17", "kind", "9"]


def text_condition(random, names):
    name = random.choice(names)
    word, other = random.choice(WORDS), random.choice(WORDS)
    number = random.choice([0, 5, 905, 1500, 2999])
    if TEXT_COLUMNS[name][0].startswith("Array"):
        return f"has(`{name}`, '{random.choice(['t17', 't3', 'row wort', 'row', 't299', ''])}')"
    if name == "f":
        return f"`f` = '{random.choice(['row 17', 'nowhere at all'])}'"
    forms = [f"`{name}` = '{word} {other}'", f"`{name}` LIKE '%{word}%'", f"`{name}` LIKE '% {word} %'", f"`{name}` LIKE '{word} {other}%'", f"`{name}` LIKE '%{word}%{other}'",
             f"`{name}` LIKE '%_{word}-9%'", f"startsWith(`{name}`, 'row {number // 3} ')", f"endsWith(`{name}`, ' {word}')", f"hasAnyTokens(`{name}`, '{word} {other}')",
             f"hasAllTokens(`{name}`, '{word} {other}')", f"`{name}` IN ('late row', 'row {number // 3} wort 7', '{word}')", f"`{name}` = 'row {number // 3} Wort-{random.randrange(90)}'",
             f"hasToken(`{name}`, '{word}')", f"hasToken(`{name}`, '{other}') AND hasToken(`{name}`, '{word}')", f"hasToken(`{name}`, '{word}') = 1", f"NOT hasToken(`{name}`, '{word}')",
             f"hasToken(`{name}`, '{word}') != 0 OR n < 70", f"`{name}` NOT LIKE '%{word}%'"]
    return random.choice(forms)


def made_of_texts(server, database, random, number):
    """A table with indexes of the kind `text`, in several parts, some of them merged, some with deleted rows. The names of its columns."""
    table = f"{database}.t{number}"
    names = random.sample(sorted(TEXT_COLUMNS), 4)
    elements = [f"`{name}` {TEXT_COLUMNS[name][0]}" for name in names]
    for name in names:
        arguments = [f"tokenizer = {random.choice(TOKENIZERS)}"]
        if random.random() < 0.3 and not TEXT_COLUMNS[name][0].startswith("Array"):
            arguments.append(f"preprocessor = {random.choice(['lower', 'lower', 'upper'])}({name})")
        arguments += random.choice([[], ["posting_list_codec = 'bitpacking'"], ["posting_list_codec = 'bitpacking'", "posting_list_block_size = 128"], ["posting_list_block_size = 50"]])
        arguments += random.choice([[], ["dictionary_block_size = 16"], ["dictionary_block_frontcoding_compression = 0", "dictionary_block_size = 3"]])
        arguments += random.choice([[], [], ["support_phrase_search = 1"]])
        elements.append(f"INDEX i_{name} `{name}` TYPE text({', '.join(arguments)})")
    settings = f"index_granularity = {random.choice([64, 100, 128])}, allow_experimental_text_index_phrase_search = 1"
    settings += random.choice(["", ", min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0"]) + random.choice(["", ", compress_marks = 0"])
    settings += random.choice(["", ", text_index_serialization_version = 'v0_initial'", ", text_index_serialization_version = 'v1_with_codec'"])
    server.run(f"CREATE TABLE {table} (n UInt64, {', '.join(elements)}) ENGINE = MergeTree ORDER BY n SETTINGS {settings}")
    for first, count in ((0, 1700), (1700, 1300), (3000, random.choice([1, 60, 500]))):
        values = ", ".join(TEXT_COLUMNS[name][1] for name in names)
        server.run(f"INSERT INTO {table} SELECT n, {values} FROM (SELECT number + {first} AS n FROM numbers({count}))")
    if random.random() < 0.4:
        server.run(f"DELETE FROM {table} WHERE n % 9 = 4")
    if random.random() < 0.4:
        server.run(f"OPTIMIZE TABLE {table} FINAL")
    if random.random() < 0.3:
        server.run(f"DELETE FROM {table} WHERE n % 10 = 5")
    return table, names


def copied(server, database, name, target):
    """The files of a table of the server, with its statement beside them."""
    shutil.copytree(server.directory(database, name), target)
    create = server.run(f"SELECT create_table_query FROM system.tables WHERE database = '{database}' AND name = '{name}' FORMAT TSVRaw")
    (target / "t.sql").write_text(create)
    return target


@pytest.mark.parametrize("number", range(16))
def test_texts_are_found_as_clickhouse_does(server, tambour, database, tmp_path, number):
    chance = random.Random(f"texts {number}")
    table, names = made_of_texts(server, database, chance, number)
    copy = copied(server, database, table.split(".")[1], tmp_path / "t")
    tambour.run("verify", copy)
    listed = tambour.rows(copy, "SELECT name, type_full, granularity, data_compressed_bytes, data_uncompressed_bytes, marks_bytes FROM system.data_skipping_indices ORDER BY name")
    assert listed == server.rows("SELECT name, type_full, granularity, data_compressed_bytes, data_uncompressed_bytes, marks_bytes FROM system.data_skipping_indices "
                                 f"WHERE database = '{database}' AND table = '{table.split('.')[1]}' ORDER BY name")
    assert all(it["parts_refused"] == 0 for it in json.loads(tambour.run("inspect", copy, "--json"))["skip_indexes"])
    queries = []
    for _ in range(60):
        parts = [text_condition(chance, names) for _ in range(chance.choice([1, 1, 1, 2]))]
        queries.append(f"SELECT count(), ifNull(sum(n), 0) FROM {{}} WHERE {chance.choice([' AND ', ' OR ']).join(parts)}")
    script = "".join(query.format("t") + " FORMAT TSV;\n" for query in queries)
    answers = []
    for is_on in ("true", "false"):
        answers.append(tambour.run("sql", copy, "--format", "tsv", "--no-header", "-c", f"SET tambour.scan_indexes = {is_on}", "-c", script))
    assert answers[0] == answers[1]
    lines = answers[0].splitlines()
    assert len(lines) == len(queries)
    # Functions of tokens take the tokenizer of the index there: without any they are those of letters and digits.
    server.run(f"CREATE TABLE {database}.plain ENGINE = MergeTree ORDER BY n AS SELECT * FROM {table}")
    for query, line in zip(queries, lines):
        assert line == server.run(query.format(f"{database}.plain")).rstrip("\n"), query


@pytest.fixture
def found(server, database, tmp_path):
    """One part of 100 granules with inverted indexes; each by itself leaves most of them out."""
    server.run(f"""CREATE TABLE {database}.t (k UInt64, s String, w String, a Array(String), p String, q String,
        INDEX xs s TYPE text(tokenizer = splitByNonAlpha), INDEX xw w TYPE text(tokenizer = ngrams(4), dictionary_block_size = 64),
        INDEX xa a TYPE text(tokenizer = array), INDEX xp p TYPE text(tokenizer = splitByString([', ']), preprocessor = lower(p)),
        INDEX xq q TYPE text(tokenizer = splitByNonAlpha, posting_list_codec = 'bitpacking', posting_list_block_size = 256))
        ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 100, min_bytes_for_wide_part = 0""")
    server.run(f"""INSERT INTO {database}.t SELECT number, concat('line ', toString(number), ' of text'), concat('<', hex(cityHash64(number)), '>'), [concat('e', toString(number)), 'all'],
        concat('P', toString(number), ', even'), if(number BETWEEN 3000 AND 3500, 'in the middle', concat('out of it', if(number < 40, ' start', ''))) FROM numbers(10000)""")
    return copied(server, database, "t", tmp_path / "t")


TEXT_QUESTIONS = [
    ("hasToken(s, '4711')", "1", 99), ("s = 'line 4711 of text'", "1", 99), ("s IN ('line 7 of text', 'line 9999 of text')", "2", 98), ("s LIKE '% 4711 %'", "1", 99),
    ("s LIKE 'line 4711 %'", "1", 99), ("hasAllTokens(s, 'text 4711')", "1", 99), ("hasAnyTokens(s, '17 4711')", "2", 98), ("startsWith(s, 'line 4711 of')", "1", 99),
    ("hasToken(s, '4711') OR hasToken(s, '9')", "2", 98), ("hasToken(s, '4711') AND hasToken(s, '9')", "0", 100), ("s = 'nothing at all'", "0", 100), ("has(a, 'e4711')", "1", 99),
    ("p = 'P4711, even'", "1", 99), ("hasToken(q, 'middle')", "501", 94), ("q LIKE '% the middle'", "501", 94), ("hasToken(q, 'start')", "40", 99), ("endsWith(q, ' start')", "40", 99),
]


@pytest.mark.parametrize("question,rows,least", TEXT_QUESTIONS)
def test_granules_without_a_token_are_left_out(tambour, found, question, rows, least):
    answer, left_out = stats(tambour, found, f"SELECT count() FROM t WHERE {question}", "text")
    # A scan of nothing counts nothing.
    assert answer == rows and left_out == (0 if least == 100 else least), left_out
    answer, left_out = stats(tambour, found, f"SET tambour.scan_indexes = false; SELECT count() FROM t WHERE {question}", "text")
    assert answer == rows and left_out == 0


def test_n_grams_are_looked_up(server, tambour, database, found):
    code = server.run("SELECT hex(cityHash64(4711))").strip()
    for question in (f"w LIKE '%{code[2:12]}%'", f"w = '<{code}>'", f"endsWith(w, '{code[-9:]}>')"):
        answer, left_out = stats(tambour, found, f"SELECT count() FROM t WHERE {question}", "text")
        assert answer == "1" and left_out >= 90, question


@pytest.mark.parametrize("harm", ["lost", "lost marks", "short", "flipped", "flipped marks", "swapped", "swapped lists"])
@pytest.mark.parametrize("file", ["", ".dct", ".pst"])
def test_damaged_inverted_indexes_change_no_answer(tambour, found, harm, file):
    part = next(found.glob("all_*"))
    names = ["xs", "xw", "xa", "xp", "xq"]
    if harm.startswith("swapped"):
        # All of them are sound, and none is the one that it is called.
        kinds = [file] if harm == "swapped lists" else ["", ".dct", ".pst"]
        for kind in kinds:
            for extension in (".idx", ".cmrk2"):
                files = [(part / f"skp_idx_{name}{kind}{extension}").read_bytes() for name in names]
                for name, content in zip(names, files[1:] + files[:1]):
                    (part / f"skp_idx_{name}{kind}{extension}").write_bytes(content)
    for name in names if not harm.startswith("swapped") else []:
        target = part / f"skp_idx_{name}{file}{'.cmrk2' if 'marks' in harm else '.idx'}"
        content = bytearray(target.read_bytes())
        if harm.startswith("lost"):
            target.unlink()
        elif harm == "short":
            target.write_bytes(content[: len(content) // 2])
        elif content:
            content[len(content) // 2] ^= 4
            target.write_bytes(content)
    for question, rows, _ in TEXT_QUESTIONS:
        answer, _ = stats(tambour, found, f"SELECT count() FROM t WHERE {question}", "text")
        assert answer == rows, question
    done = tambour.call("verify", found)
    assert done.returncode != 0 and b"skp_idx_x" in done.stdout + done.stderr


@pytest.mark.parametrize("statement", [("INDEX xs s TYPE", "INDEX xs w TYPE"), ("tokenizer = splitByNonAlpha)", "tokenizer = array)"), ("tokenizer = ngrams(4)", "tokenizer = ngrams(5)"),
                                       ("INDEX xa a TYPE", "INDEX xa s TYPE"), (", preprocessor = lower(p)", "")])
def test_another_definition_of_a_text_index_changes_no_answer(tambour, found, statement):
    text = (found / "t.sql").read_text().replace("`", "")
    assert statement[0] in text
    (found / "t.sql").write_text(text.replace(*statement))
    for question, rows, _ in [*TEXT_QUESTIONS, ("p = 'P4711, even' AND s LIKE '%4711%'", "1", 0)]:
        answer, _ = stats(tambour, found, f"SELECT count() FROM t WHERE {question}", "text")
        assert answer == rows, question
    done = tambour.call("verify", found)
    assert done.returncode != 0 and b"index `x" in done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["text(tokenizer = ngrams(3))", "text(tokenizer = splitByNonAlpha)", "ngrambf_v1(3, 256, 2, 0)", "tokenbf_v1(256, 2, 0)"])
def test_texts_that_are_not_utf8(server, tambour, database, tmp_path, kind):
    """A byte that begins a character takes others for its rest, and n-grams begin after them."""
    server.run(f"CREATE TABLE {database}.t (k UInt64, s String, INDEX i s TYPE {kind}) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 10")
    server.run(f"""INSERT INTO {database}.t SELECT number, concat(if(number % 90 < 9, unhex(['C3', 'E2', 'F0', 'F7', 'F8', 'FC', 'FF', '80', '61'][1 + number % 9]), 'z'),
        if(number % 90 < 60, 'abcdefghijk', 'xyz'), if(number % 7 = 0, 'é', '')) FROM numbers(2000)""")
    copy = copied(server, database, "t", tmp_path / "t")
    tambour.run("verify", copy)
    for wanted in ("abc", "abcd", "bcdefg", "cdefghijk", "kéé", "ké", "z", "xyz"):
        for question in (f"s LIKE '%{wanted}%'", f"s LIKE '%{wanted}'", f"s LIKE 'z{wanted}%'", f"s LIKE '% {wanted} %'", f"s = 'z{wanted}'"):
            assert tambour.rows(copy, f"SELECT count() FROM t WHERE {question}") == server.rows(f"SELECT count() FROM {database}.t WHERE {question} SETTINGS use_skip_indexes = 0"), question


def test_inspect_lists_inverted_indexes(tambour, found):
    listed = json.loads(tambour.run("inspect", found, "--json"))["skip_indexes"]
    assert [(it["name"], it["parts"], it["prunes"], it["parts_refused"]) for it in listed] == [(name, 1, True, 0) for name in ("xs", "xw", "xa", "xp", "xq")]
