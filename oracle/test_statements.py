"""Statements that make and change tables, one after another, beside ClickHouse: each is carried out by both or by neither, and queries have the same
rows. One that begins with `!` is carried out there only."""

import pytest

SCRIPTS = {
    "inserts": """
        CREATE TABLE t (p UInt8, a UInt32, b String DEFAULT 'x') ENGINE = MergeTree PARTITION BY p ORDER BY a
        INSERT INTO TABLE t VALUES (1, 2, 'c'), (2, 3, 'd')
        INSERT INTO t SETTINGS async_insert = 1, wait_for_async_insert = 1 VALUES (1, 5, 'e')
        INSERT INTO t (p, a) SETTINGS max_insert_threads = 2 SELECT 2, number FROM numbers(3)
        INSERT INTO t FORMAT Values (3, 7, 'f'), (3, 8, 'g')
        INSERT INTO t FORMAT VALUES (3, 9, 'f')
        INSERT INTO t SELECT 1, 31, 'z' SETTINGS max_threads = 1
        WITH 5 AS q INSERT INTO t SELECT 4, q, 'w'
        INSERT INTO t WITH 6 AS q SELECT 4, q, 'w'
        INSERT INTO t (a) WITH 6 AS q, x AS (SELECT 3 AS y) SELECT q + y FROM x
        WITH x AS (SELECT 8 AS y), 'n' AS z INSERT INTO t (a, b) SELECT y, z FROM x
        INSERT INTO t (a, b) WITH (SELECT max(a) FROM t) AS m SELECT m + 1, 'm'
        INSERT INTO t (a, b) SELECT a, b FROM (WITH 9 AS n SELECT n AS a, 'nn' AS b)
        INSERT INTO t(p,a,b)VALUES(4,41,'y')
        INSERT INTO t (p, q) VALUES (1, 2)
        INSERT INTO t (p, p) VALUES (1, 2)
        INSERT INTO t (p, a) VALUES (1, 'z')
        SELECT * FROM t ORDER BY ALL
        ALTER TABLE t DELETE IN PARTITION 3 WHERE a > 7
        ALTER TABLE t UPDATE b = 'upd' IN PARTITION 2 WHERE 1
        ALTER TABLE t UPDATE b = concat(b, '!'), b = 'twice' IN PARTITION 2 WHERE 1
        ALTER TABLE t UPDATE b = if(a IN (1, 2), 'in', b) IN PARTITION ID '2' WHERE a IN (0, 1)
        DELETE FROM t IN PARTITION 4 WHERE a = 41
        ALTER TABLE t DELETE IN PARTITION 'x' WHERE 1
        SELECT * FROM t ORDER BY ALL
        OPTIMIZE TABLE t PARTITION 1 FINAL
        OPTIMIZE TABLE t PARTITION ID '2' FINAL
        OPTIMIZE TABLE t FINAL SETTINGS optimize_skip_merged_partitions = 1
        OPTIMIZE TABLE t FINAL DEDUPLICATE
        INSERT INTO t SELECT * FROM t
        OPTIMIZE TABLE t FINAL DEDUPLICATE BY * EXCEPT (b)
        OPTIMIZE TABLE t DEDUPLICATE BY nope
        SELECT partition, count() FROM system.parts WHERE active AND table = 't' AND database = currentDatabase() GROUP BY partition ORDER BY ALL
        CHECK TABLE t SETTINGS check_query_single_value_result = 1
        TRUNCATE TABLE IF EXISTS nothing
        TRUNCATE TABLE nothing
        TRUNCATE TABLE t SYNC
        SELECT count() FROM t
        DROP TABLE t SYNC
        DROP TABLE IF EXISTS t NO DELAY
        DROP TABLE t
    """,
    "missing values": """
        CREATE TABLE t (p UInt8, a UInt32 DEFAULT p + 1, b String DEFAULT concat('x', toString(a)), c Nullable(UInt8) DEFAULT 3, d Nullable(UInt8), e Array(UInt8) DEFAULT [p], f UInt64, g LowCardinality(String), h Date) ENGINE = MergeTree ORDER BY p
        INSERT INTO t VALUES (1, NULL, NULL, NULL, NULL, [], NULL, NULL, NULL)
        INSERT INTO t VALUES (2, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT)
        INSERT INTO t VALUES (3, 1 + 1, DEFAULT, 4, 5, [], 1, 'q', '2020-01-01'), (4, DEFAULT, 'b', DEFAULT, 5, [9], DEFAULT, 'r', DEFAULT)
        INSERT INTO t SELECT 5, NULL, NULL, NULL, NULL, [1], NULL, NULL, NULL
        INSERT INTO t SELECT NULL, 1, 'x', NULL, NULL, [1], 5, NULL, NULL
        INSERT INTO t (p, e) VALUES (7, NULL)
        INSERT INTO t (p, b) VALUES (NULL, NULL)
        INSERT INTO t (p, f) SELECT number, if(number % 2, NULL, number) FROM numbers(20, 4)
        INSERT INTO t (p, f) SELECT number, if(number % 2, NULL, number) FROM numbers(30, 4) SETTINGS insert_null_as_default = 0
        INSERT INTO t (p, a) VALUES (8, null), (9, Default)
        INSERT INTO t (p, a) VALUES (10, 'DEFAULT')
        SELECT * FROM t ORDER BY ALL
    """,
    "materialized": """
        CREATE TABLE t (p UInt8, a UInt32, b String, m UInt32 MATERIALIZED a * 2 + p, n String MATERIALIZED concat(b, toString(m)), o UInt8 MATERIALIZED p, l UInt32 ALIAS m + 1, q Array(UInt32) MATERIALIZED arrayMap(x -> x + p, [1, a])) ENGINE = MergeTree ORDER BY p SETTINGS index_granularity = 4
        INSERT INTO t (p, a, b) SELECT number, number * 3, 'b' FROM numbers(10)
        ALTER TABLE t UPDATE a = a + 1 WHERE p < 3
        ALTER TABLE t UPDATE b = concat(b, '!'), a = 100 WHERE p = 4
        ALTER TABLE t UPDATE b = 'z' WHERE m > 200
        ALTER TABLE t UPDATE a = toUInt8(a * 2), b = upper(b) WHERE p IN (6, 7)
        ALTER TABLE t UPDATE m = 1 WHERE 1
        ALTER TABLE t UPDATE l = 1 WHERE 1
        SELECT *, m, n, o, l, q FROM t ORDER BY p
        OPTIMIZE TABLE t FINAL
        SELECT *, m, n, o, l, q FROM t ORDER BY p
        CREATE TABLE u (p UInt8, a UInt32, q Array(UInt32) MATERIALIZED arrayMap(a -> a + p, [1, a])) ENGINE = MergeTree ORDER BY p
        INSERT INTO u VALUES (1, 2)
        !ALTER TABLE u UPDATE a = a + 1 WHERE 1
    """,
    "aliases": """
        CREATE TABLE t (a Int32, b Int32, x Int64 ALIAS a + 1, y Int64 ALIAS x + 1, z Int64 ALIAS y + x) ENGINE = MergeTree ORDER BY a
        INSERT INTO t (a, b) SELECT number, 1 FROM numbers(9)
        SELECT x FROM t ORDER BY a
        SELECT y, z, a FROM t WHERE z > 5 ORDER BY a
        ALTER TABLE t ADD COLUMN w Int64 ALIAS z * 2
        SELECT sum(w) FROM t
        ALTER TABLE t DROP COLUMN z
        ALTER TABLE t DELETE WHERE x = 7
        DELETE FROM t WHERE z = 5
        ALTER TABLE t UPDATE b = z * 10 WHERE x > 3
        SELECT *, x, y, z FROM t ORDER BY a
        ALTER TABLE t MODIFY COLUMN x ALIAS w + 1
        CREATE TABLE u (a Int32, x Int64 ALIAS y, y Int64 ALIAS x) ENGINE = MergeTree ORDER BY a
    """,
    "added columns": """
        CREATE TABLE t (a Int32, s String) ENGINE = MergeTree ORDER BY a
        INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')
        ALTER TABLE t ADD COLUMN c String DEFAULT concat(s, toString(a))
        ALTER TABLE t ADD COLUMN d Array(UInt8) DEFAULT [1, 2], ADD COLUMN e UInt32 DEFAULT if(a > 1, length(c), 7), ADD COLUMN f UInt8
        ALTER TABLE t ADD COLUMN g String MATERIALIZED upper(concat(c, toString(e)))
        SELECT *, g FROM t ORDER BY a
        INSERT INTO t (a, s) VALUES (9, 'q')
        SELECT *, g FROM t ORDER BY a
        ALTER TABLE t RENAME COLUMN s TO w, ADD COLUMN h String DEFAULT concat(w, '!'), MODIFY COLUMN e Int64
        SELECT *, g FROM t ORDER BY a
        ALTER TABLE t ADD COLUMN al String ALIAS concat(w, '?'), ADD COLUMN i String DEFAULT concat(al, c)
        ALTER TABLE t ADD COLUMN k UInt8 DEFAULT 3, ADD COLUMN l String DEFAULT repeat('x', k + f)
        ALTER TABLE t ADD COLUMN j DateTime64(3) DEFAULT toDateTime64('2020-01-01 00:00:00.123', 3, 'UTC')
        SELECT *, al FROM t ORDER BY a
        ALTER TABLE t ADD COLUMN bad String DEFAULT concat(nope, '1')
        ALTER TABLE t ADD COLUMN bad UInt8 DEFAULT arrayJoin([1, 2])
        DELETE FROM t WHERE a = 2
        ALTER TABLE t ADD COLUMN m String DEFAULT concat(w, '-') AFTER a, DROP COLUMN h
        INSERT INTO t (a, w) VALUES (10, 'r')
        SELECT * FROM t ORDER BY a
        OPTIMIZE TABLE t FINAL
        SELECT *, g FROM t ORDER BY a
        CREATE TABLE u (a Int32, `n.x` Array(Int32), p Date) ENGINE = MergeTree PARTITION BY p ORDER BY a SETTINGS min_bytes_for_wide_part = 0, index_granularity = 128
        INSERT INTO u SELECT number, range(number % 4), toDate('2020-01-01') + number % 3 FROM numbers(1000)
        ALTER TABLE u ADD COLUMN `n.y` Array(String) DEFAULT arrayMap(x -> toString(x), `n.x`)
        ALTER TABLE u ADD COLUMN z LowCardinality(Nullable(String)) DEFAULT nullIf(toString(a), '1')
        ALTER TABLE u ADD COLUMN t Tuple(x UInt8, y String) DEFAULT (a, toString(p)), ADD COLUMN o Map(String, UInt32) DEFAULT map('a', a)
        DELETE FROM u WHERE a % 5 = 1
        ALTER TABLE u ADD COLUMN later String DEFAULT toString(tupleElement(t, 'y')), RENAME COLUMN z TO zz, MODIFY COLUMN p DEFAULT today()
        INSERT INTO u (a, p) VALUES (2000, '2020-01-02')
        SELECT * FROM u ORDER BY a
        ALTER TABLE u CLEAR COLUMN zz
        ALTER TABLE u CLEAR COLUMN t IN PARTITION '2020-01-02'
        SELECT * FROM u ORDER BY a
        ALTER TABLE t ADD COLUMN u1 DateTime('UTC') DEFAULT '2024-01-01 00:00:00', ADD COLUMN u2 Nullable(DateTime('UTC')) DEFAULT if(a > 1, toDateTime(a, 'UTC'), NULL)
        ALTER TABLE t (ADD COLUMN u3 String DEFAULT 'x' FIRST)
        ALTER TABLE t ADD COLUMN u4 Int32, ADD COLUMN u5 String, ADD COLUMN u6 Array(UInt8), ADD COLUMN u7 String DEFAULT concat(toString(u4), u5, toString(u6))
        SELECT * FROM t ORDER BY a
        CREATE TABLE e (a Int32) ENGINE = MergeTree ORDER BY a
        ALTER TABLE e ADD COLUMN b String DEFAULT concat('x', toString(a))
        INSERT INTO e (a) VALUES (1)
        SELECT * FROM e
    """,
    "several commands": """
        CREATE TABLE t (k UInt32, a Int32, s String DEFAULT concat('x', toString(k)), m Int64 MATERIALIZED a * 2, al Int64 ALIAS a + 1, b Array(Int32), n Nullable(Int8), d Date) ENGINE = MergeTree PARTITION BY k % 2 ORDER BY k
        INSERT INTO t (k, a, b, n, d) SELECT number, number, range(number), number, '2024-01-01' FROM numbers(12)
        ALTER TABLE t UPDATE a = a + 100 WHERE k < 4, DELETE WHERE a = 101, UPDATE a = a + 1 WHERE a > 100, UPDATE s = concat(s, toString(a), '/', toString(m)) WHERE a > 100
        SELECT *, m FROM t ORDER BY k
        ALTER TABLE t UPDATE a = 1 WHERE k = 5, UPDATE s = toString(m) IN PARTITION 1 WHERE al > 1
        ALTER TABLE t UPDATE a = (SELECT max(a) FROM t) WHERE k = 4, UPDATE a = (SELECT max(a) FROM t) + 1 WHERE k = 6, DELETE WHERE a IN (SELECT a FROM t WHERE k = 7)
        ALTER TABLE t UPDATE n = NULL WHERE k = 8, DELETE WHERE n IS NULL, UPDATE b = arrayMap(x -> x + a, b), n = length(b) WHERE has(b, 1)
        SELECT *, m FROM t ORDER BY k
        ALTER TABLE t (DELETE WHERE k = 9), (UPDATE s = 'new' WHERE 1)
        ALTER TABLE t UPDATE s = concat('DELETE WHERE, ', s) WHERE k IN (1, 2) AND s != ', DELETE', DELETE WHERE startsWith(s, 'DELETE') AND k = 2 SETTINGS mutations_sync = 2
        ALTER TABLE t DELETE WHERE k = 9, UPDATE k = 1 WHERE 1
        ALTER TABLE t UPDATE a = 1 WHERE 1, UPDATE nope = 1 WHERE 1
        ALTER TABLE t UPDATE a = 1 WHERE 1, DELETE WHERE nope
        ALTER TABLE t UPDATE a = 1, a = 2 WHERE 1
        ALTER TABLE t UPDATE a = 1 WHERE 1, UPDATE a = a + 1, s = toString(a) WHERE 1
        ALTER TABLE t DELETE WHERE k = 9,
        ALTER TABLE t DELETE WHERE k = 9, UPDATE s
        SELECT *, m FROM t ORDER BY k
        DELETE FROM t WHERE k < 4
        ALTER TABLE t APPLY DELETED MASK IN PARTITION 1
        SELECT partition, has_lightweight_delete, rows FROM system.parts WHERE active AND table = 't' AND database = currentDatabase() ORDER BY ALL
        ALTER TABLE t APPLY DELETED MASK, UPDATE s = 'z' WHERE 1, APPLY DELETED MASK
        SELECT partition, has_lightweight_delete, rows FROM system.parts WHERE active AND table = 't' AND database = currentDatabase() ORDER BY ALL
        ALTER TABLE t DELETE WHERE 1, UPDATE a = throwIf(1) WHERE 1
        SELECT *, m FROM t ORDER BY k
    """,
    "materialized again": """
        CREATE TABLE t (k UInt32, a Int32, s String DEFAULT concat('x', toString(k)), m Int64 MATERIALIZED a * 2, p Int64 MATERIALIZED m + 1, d Date) ENGINE = MergeTree PARTITION BY k % 2 ORDER BY k
        INSERT INTO t (k, a, d) SELECT number, number, '2024-01-01' FROM numbers(6)
        ALTER TABLE t MATERIALIZE COLUMN d
        ALTER TABLE t MATERIALIZE COLUMN k
        ALTER TABLE t MATERIALIZE COLUMN nope
        ALTER TABLE t ADD COLUMN c UInt8 DEFAULT 5, ADD COLUMN e Int16, ADD COLUMN f LowCardinality(Nullable(String)) DEFAULT NULL, ADD COLUMN g Int64 DEFAULT a + 1
        INSERT INTO t (k, a, c) VALUES (100, 7, 9)
        ALTER TABLE t MATERIALIZE COLUMN c IN PARTITION 1, MATERIALIZE COLUMN f, MATERIALIZE COLUMN g
        ALTER TABLE t MATERIALIZE COLUMN e
        ALTER TABLE t MODIFY COLUMN s DEFAULT 'later', MODIFY COLUMN c DEFAULT 6, MODIFY COLUMN g DEFAULT 0
        SELECT *, m, p FROM t ORDER BY k
        ALTER TABLE t MATERIALIZE COLUMN s, MATERIALIZE COLUMN c
        DELETE FROM t WHERE k = 2
        ALTER TABLE t MODIFY COLUMN m MATERIALIZED toUInt8(a + 255)
        SELECT *, m, p FROM t ORDER BY k
        ALTER TABLE t MATERIALIZE COLUMN m
        SELECT *, m, p FROM t ORDER BY k
        ALTER TABLE t MATERIALIZE COLUMN m, UPDATE a = m WHERE k = 3, MATERIALIZE COLUMN m, MATERIALIZE COLUMN p
        SELECT *, m, p FROM t ORDER BY k
        ALTER TABLE t MATERIALIZE TTL
        CREATE TABLE u (k UInt32, d DateTime('UTC'), v String TTL d + INTERVAL 1 DAY, w String DEFAULT 'x' TTL d + INTERVAL 1 DAY) ENGINE = MergeTree PARTITION BY k % 2 ORDER BY k SETTINGS min_bytes_for_wide_part = 0
        !SYSTEM STOP TTL MERGES u
        INSERT INTO u VALUES (1, '2101-01-01 00:00:00', 'a', 'b'), (2, '2101-01-01 00:00:00', 'a', 'b'), (3, now() - 864000, 'a', 'b'), (4, '2001-01-01 00:00:00', 'a', 'b'), (5, '2001-01-01 00:00:00', 'a', 'b')
        ALTER TABLE u MODIFY TTL d + INTERVAL 10 YEAR SETTINGS materialize_ttl_after_modify = 0
        ALTER TABLE u MATERIALIZE TTL IN PARTITION 1, DELETE WHERE k = 3
        SELECT k, v, w FROM u WHERE k % 2 ORDER BY k
        ALTER TABLE u UPDATE d = '2101-01-01 00:00:00' WHERE k = 4, MATERIALIZE TTL
        SELECT k, v, w FROM u ORDER BY k
    """,
    "words": """
        CREATE TABLE t (a Int32, b String, m Int32 MATERIALIZED a + 1, al Int32 ALIAS a + 2, d Int32 DEFAULT a + 3) ENGINE = MergeTree ORDER BY a
        INSERT INTO t VALUES (1, 'x', 0), (2, 'y', 1), (3, 'z', 1)
        ALTER TABLE t DELETE WHERE a = 1 SETTINGS mutations_sync = 2
        ALTER TABLE t UPDATE b = 'q' WHERE a = 2 SETTINGS mutations_sync = 1, max_threads = 2
        DELETE FROM t WHERE a = 2 SETTINGS lightweight_deletes_sync = 2
        ALTER TABLE t ADD COLUMN c UInt8 DEFAULT 3 SETTINGS alter_sync = 2
        ALTER TABLE t (ADD COLUMN e UInt8), (DROP COLUMN c)
        ALTER TABLE t (UPDATE b = 'paren' WHERE a = 3)
        ALTER TABLE t UPDATE b = 'paren' WHERE a = 3, UPDATE b = 'paren' WHERE a = 3
        ALTER TABLE t UPDATE b = concat(b, '!') WHERE a = 300, DELETE WHERE a IN (1, 2)
        INSERT INTO t (a) VALUES (5) (6)
        INSERT INTO t (a, b) VALUES (7, 'x'), (8, 'y') (9, 'z');
        INSERT INTO t (* EXCEPT b) VALUES (10, 1, 2)
        INSERT INTO t (* EXCEPT (b, d)) VALUES (11, 1)
        INSERT INTO t (*) VALUES (11, 'star', 2, 3)
        INSERT INTO t (a, b) FORMAT JSONEachRow {"a": 11, "b": "x"} {"a": 12, "b": "y;"}
        INSERT INTO t (a, b) FORMAT JSONEachRow [{"a": 13, "b": "[{"}, {"a": 14, "b": "y\\"}"}]
        INSERT INTO t (a, b) FORMAT JSONEachRow {"a": 13, "b": "[{"}, {"a": 14 "b": 3}
        INSERT INTO t (a, b) FORMAT CSV 15,"q"
        INSERT INTO t (a, b) FORMAT TSV 16	q'x
        INSERT INTO t (a, b) FORMAT TSV 17	x; DROP TABLE t; SELECT 1
        INSERT INTO t (a, b) FORMAT CSV 18,x INTO OUTFILE 'y' -- ;
        INSERT INTO t (a, b) FORMAT JSONEachRow {"A": 19, "B": "Case"} {"a": 20, "B": "c"}
        INSERT INTO t (a, b) FORMAT JSONEachRow {"a": 21}; {"a": 22}
        INSERT INTO t (a) VALUES (15.0), (1e2), (-1.50e1)
        INSERT INTO t (b) VALUES (15.50), (1e3), (-5), (007), (0.1), (1e22)
        INSERT INTO t (a, b) VALUES (1.0, concat('x', 'y')), (2e0, 1.10)
        SELECT * FROM t ORDER BY a, b, d
        ALTER TABLE t MODIFY COLUMN m REMOVE MATERIALIZED
        ALTER TABLE t MODIFY COLUMN d REMOVE ALIAS
        ALTER TABLE t MODIFY COLUMN a REMOVE DEFAULT
        SELECT * FROM t ORDER BY a, b, d
        OPTIMIZE TABLE t FINAL SETTINGS optimize_throw_if_noop = 1
        TRUNCATE TABLE t SETTINGS alter_sync = 1
        DROP TABLE t SETTINGS alter_sync = 1
    """,
    "replacement": """
        CREATE TABLE t (a Int32) ENGINE = MergeTree ORDER BY a
        INSERT INTO t VALUES (1), (2)
        CREATE OR REPLACE TABLE t ENGINE = MergeTree ORDER BY a AS SELECT a, a * 2 AS b FROM t
        SELECT * FROM t ORDER BY a
        CREATE OR REPLACE TABLE n (a Int32) ENGINE = MergeTree ORDER BY a
        INSERT INTO n VALUES (7)
        EXCHANGE TABLES t AND n
        SELECT * FROM t ORDER BY a
        SELECT * FROM n ORDER BY a
        CREATE OR REPLACE TABLE t (a Int32, b UInt8 DEFAULT nofunc(a)) ENGINE = MergeTree ORDER BY a
        CREATE OR REPLACE TABLE n ENGINE = MergeTree ORDER BY x AS SELECT throwIf(number = 3) AS x FROM numbers(10)
        SELECT * FROM n ORDER BY a
        EXCHANGE TABLES t AND nothing
        REPLACE TABLE typo (x UInt8) ENGINE = MergeTree ORDER BY x
        CREATE OR REPLACE TABLE n AS t
        SELECT * FROM n
        REPLACE TABLE n (x UInt8) ENGINE = MergeTree ORDER BY x
        SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name
    """,
    "refusals": """
        CREATE TABLE d (a Int32, d Date32) ENGINE = MergeTree ORDER BY a
        INSERT INTO d VALUES (2, DEFAULT), (3, NULL)
        INSERT INTO d (a) VALUES (4)
        INSERT INTO d SELECT 5, NULL
        SELECT * FROM d ORDER BY a
        ALTER TABLE d ADD COLUMN x Array(Int32)
        ALTER TABLE d MODIFY COLUMN x Int16
        ALTER TABLE d MODIFY COLUMN d Map(String, String)
        ALTER TABLE d ADD COLUMN c Int32 CODEC(Foo)
        ALTER TABLE d MODIFY COLUMN a CODEC(ZSTD(77))
        ALTER TABLE d MODIFY COLUMN a CODEC(ZSTD(7))
        SELECT * FROM d ORDER BY a
        CREATE TABLE y (a Int32, s String) ENGINE = MergeTree ORDER BY tuple()
        ALTER TABLE y MODIFY COLUMN s DEFAULT toString(a)
        ALTER TABLE y MODIFY COLUMN a DEFAULT toInt32(s)
        INSERT INTO y (a) VALUES (5)
        SELECT * FROM y
        CREATE TABLE e0 (a Int32 DEFAULT 1 MATERIALIZED 2) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e1 (a Int32, s String, e Float64 EPHEMERAL CAST(s, 'Int64')) ENGINE = MergeTree ORDER BY a
        INSERT INTO e1 (a, s) VALUES (1, DEFAULT)
        CREATE TABLE e2 (a UInt8 CODEC(Nope)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e3 (a UInt8, INDEX i a TYPE nope) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e4 (a DateTime('Nope/Zone')) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e5 (a UInt8, INDEX i a TYPE minmax, INDEX i a TYPE set(0)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e6 (a String CODEC(Delta)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e7 (a UInt8, INDEX i a TYPE set) ENGINE = MergeTree ORDER BY a
        CREATE TABLE e8 (a UInt8) ENGINE = MergeTree ORDER BY a TTL a
        CREATE TABLE e9 (a UInt8 TTL a) ENGINE = MergeTree ORDER BY tuple()
        CREATE TABLE f1 (a UInt8, b UInt8) ENGINE = MergeTree ORDER BY a SAMPLE BY b
        CREATE TABLE f2 (a Float64 CODEC(T64)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE f3 (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS index_granularty = 3
        CREATE TABLE f4 (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS max_threads = 3
        SELECT toUInt8(toIPv4('1.2.3.4'))
        SELECT toUInt32(toIPv4('1.2.3.4')), toUInt64(toIPv4('1.2.3.4'))
        SELECT toInt16(toDateTime64('2024-02-29 12:00:00.123', 3, 'UTC'))
        SELECT toInt64(toDateTime64('1924-02-29 12:00:00.123', 3, 'UTC'))
    """,
    "definitions": """
        CREATE TABLE t (a UInt8, b UInt8, l UInt16 ALIAS a + b, m UInt16 MATERIALIZED a * 2, INDEX i b TYPE minmax GRANULARITY 1, PROJECTION p (SELECT b, count() GROUP BY b)) ENGINE = MergeTree ORDER BY a SETTINGS index_granularity = 512
        INSERT INTO t VALUES (1, 2), (3, 4)
        ALTER TABLE t MODIFY SETTING index_granularity = 1024
        ALTER TABLE t MODIFY SETTING max_parts_in_total = 7, parts_to_throw_insert = 5
        ALTER TABLE t MODIFY SETTING nonsense = 7
        ALTER TABLE t RESET SETTING parts_to_throw_insert
        ALTER TABLE t RESET SETTING parts_to_throw_insert
        ALTER TABLE t RESET SETTING nonsense
        ALTER TABLE t RESET SETTING index_granularity
        ALTER TABLE t ADD COLUMN x UInt8 ALIAS a + 1 AFTER a
        ALTER TABLE t ADD COLUMN x UInt8 ALIAS a + 1 AFTER a
        ALTER TABLE t ADD COLUMN IF NOT EXISTS x UInt8 ALIAS a + 1
        ALTER TABLE t ADD COLUMN y UInt8 MATERIALIZED b + 1
        ALTER TABLE t ADD COLUMN z UInt8 EPHEMERAL 3
        ALTER TABLE t ADD COLUMN w UInt8 ALIAS nowhere + 1
        ALTER TABLE t ADD COLUMN w UInt8 DEFAULT nowhere + 1
        ALTER TABLE t ADD COLUMN w UInt8 DEFAULT NULL
        ALTER TABLE t ADD COLUMN v UInt8 DEFAULT z * 2
        SELECT v FROM t ORDER BY a
        INSERT INTO t (a, b, z) VALUES (5, 6, 7)
        INSERT INTO t (a, b) VALUES (6, 7)
        SELECT a, x, b, y, l, m FROM t ORDER BY a
        ALTER TABLE t DROP COLUMN v
        ALTER TABLE t DROP COLUMN b
        ALTER TABLE t DROP COLUMN l
        ALTER TABLE t DROP COLUMN x
        ALTER TABLE t DROP COLUMN x
        ALTER TABLE t DROP COLUMN IF EXISTS x
        ALTER TABLE t MODIFY COLUMN l ALIAS a * 3
        ALTER TABLE t ADD COLUMN l UInt16 ALIAS a * 3
        ALTER TABLE t MODIFY COLUMN l UInt32 ALIAS a * 4
        ALTER TABLE t COMMENT COLUMN l 'alias'
        ALTER TABLE t RENAME COLUMN l TO k
        SELECT k FROM t ORDER BY a
        ALTER TABLE t RENAME COLUMN b TO bb
        ALTER TABLE t ADD INDEX j a TYPE set(10) GRANULARITY 2
        ALTER TABLE t ADD INDEX j a TYPE set(10) GRANULARITY 2
        ALTER TABLE t ADD INDEX IF NOT EXISTS j a TYPE set(10)
        ALTER TABLE t ADD INDEX k a TYPE minmax FIRST
        ALTER TABLE t ADD INDEX k2 zz TYPE minmax AFTER k
        ALTER TABLE t ADD INDEX k2 (a, lower(toString(b))) TYPE minmax AFTER k
        ALTER TABLE t ADD INDEX k3 a TYPE minmax AFTER nothing
        ALTER TABLE t DROP INDEX k
        ALTER TABLE t DROP INDEX k
        ALTER TABLE t DROP INDEX IF EXISTS k
        !ALTER TABLE t MATERIALIZE INDEX j
        ALTER TABLE t ADD PROJECTION q (SELECT a, sum(m) GROUP BY a)
        ALTER TABLE t DROP PROJECTION q
        ALTER TABLE t ADD CONSTRAINT n CHECK a < 100
        ALTER TABLE t ADD CONSTRAINT n CHECK a < 100
        ALTER TABLE t ADD CONSTRAINT IF NOT EXISTS n CHECK a < 100
        ALTER TABLE t ADD CONSTRAINT n2 CHECK nowhere < 100
        ALTER TABLE t ADD CONSTRAINT both CHECK nowhere < 100, ADD INDEX both a TYPE minmax
        ALTER TABLE t ADD CONSTRAINT both
        INSERT INTO t (a, b) VALUES (100, 1)
        INSERT INTO t (a, b) VALUES (99, 1)
        ALTER TABLE t DROP CONSTRAINT n
        ALTER TABLE t DROP CONSTRAINT n
        ALTER TABLE t DROP CONSTRAINT IF EXISTS n
        INSERT INTO t (a, b) VALUES (100, 1)
        SELECT * FROM t ORDER BY ALL
        OPTIMIZE TABLE t FINAL
        SELECT * FROM t ORDER BY ALL
    """,
    "creation": """
        CREATE TABLE t (p UInt8, a UInt32, b String DEFAULT 'x', INDEX i a TYPE minmax) ENGINE = ReplacingMergeTree(a) PARTITION BY p PRIMARY KEY b ORDER BY (b, p) TTL toDate(a) + INTERVAL 100 YEAR SETTINGS index_granularity = 100 COMMENT 'cc'
        CREATE TABLE t1 AS t
        CREATE TABLE t1 AS t
        CREATE TABLE IF NOT EXISTS t1 AS t
        CREATE TABLE t2 AS t ENGINE = MergeTree ORDER BY p
        CREATE TABLE t3 AS t ENGINE = MergeTree PARTITION BY a ORDER BY (b, a)
        CREATE TABLE t4 ORDER BY (b, a, p) AS t
        CREATE TABLE t5 AS t ORDER BY a
        CREATE TABLE t6 AS t SETTINGS index_granularity = 5 COMMENT 'x'
        CREATE TABLE t7 AS nothing
        CREATE TABLE t8 ENGINE = MergeTree ORDER BY a EMPTY AS SELECT a, b FROM t
        INSERT INTO t1 VALUES (1, 1, 'a'), (1, 2, 'a')
        INSERT INTO t3 VALUES (1, 1, 'a'), (1, 2, 'a')
        INSERT INTO t4 VALUES (1, 1, 'a'), (1, 2, 'a')
        SELECT * FROM t1 ORDER BY ALL
        SELECT * FROM t3 ORDER BY ALL
        SELECT * FROM t4 ORDER BY ALL
        SELECT count() FROM t8
        RENAME TABLE t1 TO t9, t8 TO t1
        SELECT * FROM t9 ORDER BY ALL
        DROP TABLE t1, t3 SYNC
        DROP TABLE IF EXISTS t1, t3
        DROP TABLE t1, t3
        SELECT name, engine, partition_key, sorting_key, primary_key, comment FROM system.tables WHERE database = currentDatabase() ORDER BY name
        SELECT table, name, type, default_kind, default_expression FROM system.columns WHERE database = currentDatabase() ORDER BY ALL
        CREATE TABLE u1 (a UInt8, c UInt8 DEFAULT zz) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u2 (a UInt8, c UInt8 DEFAULT arrayJoin([1])) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u3 (a UInt8, c UInt8 DEFAULT count()) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u4 (a UInt8, c UInt8 DEFAULT (SELECT 1)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u5 (a UInt8, c UInt8 DEFAULT d, d UInt8 DEFAULT c) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u6 (a UInt8, c UInt8 DEFAULT 'x') ENGINE = MergeTree ORDER BY a
        CREATE TABLE u7 (a UInt8, c UInt8 DEFAULT toDate(a) + INTERVAL 1 DAY) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u8 (a UInt8 DEFAULT 3, c UInt8 DEFAULT nofunc(a)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE u9 (a UInt8, c UInt8, b UInt8 MATERIALIZED d, d UInt8 ALIAS a + 1) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v1 (a UInt8, c LowCardinality(String) DEFAULT NULL) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v2 (a UInt8, c Map(String, UInt8) DEFAULT NULL) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v3 (a UInt8, c UInt8 NOT NULL DEFAULT NULL) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v4 (a UInt8, c UInt8 ALIAS NULL) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v5 (a UInt8, c UInt8 DEFAULT (NULL), d UInt8 DEFAULT if(a > 1, NULL, 5)) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v6 (a UInt8, INDEX i zz TYPE minmax) ENGINE = MergeTree ORDER BY a
        CREATE TABLE v7 (a UInt8, CONSTRAINT c CHECK zz > 1) ENGINE = MergeTree ORDER BY a
        INSERT INTO u7 (a) VALUES (1), (200)
        INSERT INTO u9 (a, c) VALUES (1, 2)
        INSERT INTO v1 (a) VALUES (1)
        INSERT INTO v5 (a) VALUES (1)
        SELECT *, toTypeName(c) FROM v1
        SELECT *, toTypeName(c) FROM v5
        SELECT a, b, c, d FROM u9
        SELECT * FROM u7 ORDER BY a
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_does_the_same(name, server, database, tambour, tmp_path):
    server.run(f"USE {database}")
    wrong = []
    for line in SCRIPTS[name].strip().splitlines():
        is_only_theirs = line.strip().startswith("!")
        statement = line.strip().removeprefix("!")
        try:
            theirs, told = server.rows(statement), ""
        except RuntimeError as error:
            theirs, told = None, str(error)
        done = tambour.call("sql", "--database", tmp_path, "--write", "--yes", "--format", "tsv", "--no-header", statement)
        says = done.stderr.decode(errors="replace").strip()
        ours = done.stdout.decode("utf-8", "surrogateescape").splitlines() if done.returncode == 0 else None
        if is_only_theirs:
            if ours is not None or theirs is None:
                wrong.append(f"{statement}: {says}, ClickHouse: {told}")
        elif (ours is None) != (theirs is None):
            wrong.append(f"{statement}: {says}, ClickHouse: {told or 'does it'}")
        elif theirs and theirs != ours:
            wrong.append(f"{statement}: {ours}, ClickHouse: {theirs}")
    server.run("USE default")
    assert not wrong, "\n".join(wrong)
