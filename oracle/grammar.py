"""Random queries of ClickHouse's whole grammar, answered by ClickHouse and by Tambour over the same parts.

Where `compare.py` asks for one operator or function at a time, this nests them and puts them into the clauses of a query:
joins, groups, windows, subqueries, sets, ARRAY JOIN, LIMIT BY, combinators. Columns hold NULLs, extremes, negative zero, NaN,
bytes that are not UTF-8, times before 1970 and of several zones; one table is empty. `grammar.py --count 20000 --seed 7` prints
what differs; `test_grammar.py` asks a fixed seed. A refusal is not a wrong answer: it is only counted.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile

import compare

MARK = "=== end of an answer ==="
BATCH = 60

# Name, type and literals of the columns, by the class under which templates ask for them.
INTEGERS = {
    "u8": ("UInt8", ["0", "1", "2", "7", "100", "255"]),
    "u16": ("UInt16", ["0", "3", "256", "65535"]),
    "i8": ("Int8", ["0", "-1", "5", "-128", "127"]),
    "i32": ("Int32", ["0", "-7", "70000", "-2147483648", "2147483647"]),
    "ni": ("Nullable(Int32)", ["0", "NULL", "-5", "12", "3"]),
    "nu": ("Nullable(UInt8)", ["1", "NULL", "0", "200"]),
}
WIDE = {
    "u32": ("UInt32", ["0", "5", "65536", "4294967295"]),
    "u64": ("UInt64", ["0", "9", "9007199254740993", "18446744073709551615"]),
    "i64": ("Int64", ["0", "-9", "9007199254740993", "-9223372036854775808", "9223372036854775807"]),
}
FLOATS = {
    "f32": ("Float32", ["0", "-0.5", "1.25", "nan", "inf", "3e38", "-0."]),
    "f64": ("Float64", ["0", "-0.", "0.1", "-2.5", "nan", "-inf", "9007199254740992", "1e300"]),
    "nf": ("Nullable(Float64)", ["NULL", "1.5", "-1.5", "nan", "-0.", "0."]),
    "cf": ("Float64", ["0.5", "2.25", "-3.75", "10"]),
}
DECIMALS = {
    "dec": ("Decimal(9, 2)", ["'0'", "'-1.25'", "'99.99'", "'-300'"]),
    "nd": ("Nullable(Decimal(18, 4))", ["NULL", "'0.0001'", "'-12345.6789'", "'7'"]),
}
TEXTS = {
    "s": ("String", ["''", "'a'", "'B'", "'a_b'", "'10'", "'-3'", "'\\u00e4\\u00f6\\u00df'", "' x '", "'2020-01-02'", "'a,b,,c'",
                     "'Hello World'", "'abcABCabc'", "'%a%'"]),
    "ns": ("Nullable(String)", ["NULL", "''", "'b'", "'B'", "'12'", "'a b c'"]),
    "lc": ("LowCardinality(String)", ["'red'", "'green'", "''"]),
    "ln": ("LowCardinality(Nullable(String))", ["'red'", "NULL", "'blue'", "''"]),
    "by": ("String", ["'a'", "unhex('ff')", "unhex('61c3')", "unhex('e282')", "unhex('00ff61')", "'ab'", "unhex('c3a4ff')"]),
}
FIXED = {"fs": ("FixedString(3)", ["'abc'", "'b'", "''"])}
DAYS = {
    "d": ("Date", ["'1970-01-01'", "'2020-02-29'", "'2149-06-06'", "'2021-01-31'"]),
    "d32": ("Date32", ["'1900-01-01'", "'2020-02-29'", "'2299-12-31'", "'1969-12-28'"]),
    "n_d": ("Nullable(Date)", ["NULL", "'2000-12-31'", "'2020-03-01'"]),
}
TIMES = {
    "t": ("DateTime('UTC')", ["'1970-01-01 00:00:00'", "'2020-02-29 23:59:59'", "'2100-12-31 01:02:03'"]),
    "tz": ("DateTime('Europe/Berlin')", ["'2020-03-29 01:30:00'", "'2020-10-25 03:00:00'", "'1999-12-31 23:59:59'"]),
    "tk": ("DateTime('Asia/Kathmandu')", ["'2020-03-29 01:30:00'", "'1985-12-31 23:59:59'"]),
    "t64": ("DateTime64(3, 'UTC')", ["'1969-12-31 23:59:59.500'", "'2020-02-29 12:00:00.123'", "'1925-06-07 08:09:10.999'"]),
    "t6z": ("DateTime64(6, 'America/New_York')", ["'1969-12-31 23:59:59.000001'", "'2021-11-07 01:30:00.5'"]),
    "nt": ("Nullable(DateTime('UTC'))", ["NULL", "'2020-02-29 23:59:59'", "'2001-09-09 01:46:40'"]),
}
ENUMS = {
    "e": ("Enum8('a' = 1, 'b' = 2, 'c' = -3)", ["'a'", "'b'", "'c'"]),
    "ne": ("Nullable(Enum16('x' = 300, 'y' = -300))", ["'x'", "NULL", "'y'"]),
}
BOOLS = {"b": ("Bool", ["true", "false"]), "nb": ("Nullable(Bool)", ["true", "NULL", "false"])}
NUMBER_ARRAYS = {
    "ai": ("Array(Int32)", ["[]", "[1, 2, 3]", "[-1, 0]", "[5, 5, -5, 1]"]),
    "an": ("Array(Nullable(Int32))", ["[]", "[NULL, 2]", "[1]", "[NULL]"]),
    "au": ("Array(UInt8)", ["[]", "[255, 1]", "[0]", "[3, 2, 1]"]),
    "af": ("Array(Float64)", ["[]", "[0.5, -0.5]", "[2, 1.5, 2]"]),
}
TEXT_ARRAYS = {
    "ag": ("Array(String)", ["[]", "['a', '', 'b']", "['a', 'a']", "['B', 'ab']"]),
    "al": ("Array(LowCardinality(String))", ["[]", "['red', 'green']", "['red']"]),
}
OTHERS = {
    "m": ("Map(String, Int32)", ["map()", "map('a', 1, 'b', 2)", "map('b', -1)"]),
    "p": ("Tuple(Int32, String)", ["(1, 'a')", "(-1, '')", "(1, 'B')"]),
    "uuid": ("UUID", ["'00000000-0000-0000-0000-000000000001'", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"]),
    "ip4": ("IPv4", ["'1.2.3.4'", "'0.0.0.0'", "'255.255.255.255'"]),
    "i256": ("Int256", ["0", "-1", "256", "-70000"]),
    "i128": ("Int128", ["0", "-1", "170141183460469231731687303715884105727"]),
}
GROUPS = [INTEGERS, WIDE, FLOATS, DECIMALS, TEXTS, FIXED, DAYS, TIMES, ENUMS, BOOLS, NUMBER_ARRAYS, TEXT_ARRAYS, OTHERS]
COLUMNS = {name: column for group in GROUPS for name, column in group.items()}
ROWS = {"g": 40, "h": 12, "z": 0}
SCALARS = [name for name in COLUMNS if name not in NUMBER_ARRAYS and name not in TEXT_ARRAYS and name not in ("m", "p")]

# What stands for a class in a template: columns and constants.
LEAVES = {
    "I": [*INTEGERS, *INTEGERS, "0", "1", "-1", "7", "255", "3"],
    "W": [*WIDE, *INTEGERS],
    "F": [*FLOATS, "0.5", "-1.5", "2.25"],
    "C": ["cf", "toFloat64(u8)", "1.5"],
    "D": [*DECIMALS, "toDecimal32('1.5', 1)", "toDecimal64('-0.25', 3)"],
    "N": [*INTEGERS, *FLOATS, *DECIMALS, "1", "-2", "0.5"],
    "S": [*TEXTS, *TEXTS, *FIXED, "'a'", "''", "'B'", "'ab'", "'\\u00e4'"],
    "P": ["'a'", "''", "','", "'b'", "'ab'", "' '", "'B'", "'\\u00e4'"],
    "R": ["'^a'", "'[a-c]+'", "'(a)(b)?'", "'.'", "'\\\\d'", "'b$'", "'(?i)A'", "'\\\\w+'"],
    "L": ["'%a%'", "'a_'", "'%'", "''", "'_'", "'%\\\\%%'", "'%B'"],
    "n": ["0", "1", "2", "3", "-1", "-2", "10"],
    "p": ["1", "2", "3", "5"],
    "d": [*DAYS, "toDate('2020-02-28')"],
    "t": [*TIMES, "toDateTime('2020-02-28 01:02:03', 'UTC')"],
    "M": [*DAYS, *TIMES],
    "u": ["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"],
    "U": ["'second'", "'minute'", "'hour'", "'day'", "'week'", "'month'", "'quarter'", "'year'"],
    "z": ["'UTC'", "'Europe/Berlin'", "'Asia/Kathmandu'", "'America/New_York'"],
    "E": list(ENUMS),
    "B": [*BOOLS, "u8 > 5", "s = 'a'", "ni IS NULL", "e = 'a'", "u8", "nu"],
    "A": [*NUMBER_ARRAYS, "[1, 2, 3]", "[1, NULL, 3]"],
    "J": ["ai", "au", "[3, 1, 2]"],
    "G": [*TEXT_ARRAYS, "['a', 'b']", "splitByChar(',', s)"],
    "m": ["m", "map('a', 5)"],
    "X": SCALARS,
    "Y": list(COLUMNS),
    "K": ["u8", "i8", "ni", "s", "ns", "lc", "ln", "e", "d", "b", "u16", "nf", "ne", "dec", "n_d", "t", "fs", "uuid"],
    "T": ["UInt8", "Int16", "Int32", "Int64", "UInt64", "Float64", "Float32", "String", "Nullable(Int32)", "Nullable(String)",
          "Decimal(18, 3)", "LowCardinality(String)", "Int256", "Bool"],
}
TEMPLATES = {
    "I": """length({S}) | {I} + {I} | {I} - {I} | {I} % {p} | intDiv({I}, {p}) | abs({I}) | position({S}, {P}) | if({B}, {I}, {I}) |
            multiIf({B}, {I}, {B}, {I}, {I}) | ifNull({I}, {I}) | nullIf({I}, {I}) | coalesce({I}, {I}, 0) | greatest({I}, {I}) |
            least({I}, {I}) | toYear({M}) | toMonth({M}) | toDayOfWeek({M}) | toHour({t}) | dateDiff({U}, {M}, {M}) | length({A}) |
            length({G}) | indexOf({A}, {I}) | arraySum({J}) | arrayCount(x -> x > {n}, {A}) | ascii({S}) | bitAnd({I}, {I}) |
            bitOr({I}, {I}) | bitXor({I}, {I}) | toInt32OrZero({S}) | toInt32OrNull({S}) | toUInt8OrDefault({S}) | sign({I}) |
            toISOWeek({M}) | toDayOfYear({M}) | toRelativeDayNum({M}) | countSubstrings({S}, {P}) | {A}[{n}] | {m}[{P}] |
            arrayMax({J}) | arrayFirst(x -> x > {n}, {A}) | arrayLast(x -> x > {n}, {A}) | arrayFirstIndex(x -> x = {n}, {A}) |
            levenshteinDistance({S}, {S}) | lengthUTF8({S}) | CAST({E} AS Int16) | toInt16({I}) | modulo({I}, {p}) | positiveModulo({I}, {p}) |
            bitShiftRight({I}, {p}) | bitCount({I}) | toQuarter({M}) | toMinute({t}) | age({U}, {M}, {M}) | toUnixTimestamp({t}) |
            toWeek({M}) | toYYYYMM({M}) | toYYYYMMDD({M}) | negate({I}) | -{I} | p.1 | arrayUniq({A}) | countEqual({A}, {I}) |
            CASE WHEN {B} THEN {I} WHEN {B} THEN {I} ELSE {I} END | CASE {I} WHEN {n} THEN {I} ELSE {I} END | tupleElement(({I}, {S}), 1) |
            transform({I}, [0, 1, 7], [10, 20, 30], -1) | gcd({I}, {I}) | toUInt32OrZero({S}) | arrayReduce('max', {J})""",
    "F": """{N} + {N} | {N} - {N} | {N} * {F} | {N} / {N} | {I} / {I} | round({F}, {n}) | floor({F}) | ceil({F}) | sqrt({C}) | exp({C}) |
            toFloat64({N}) | toFloat32({I}) | toFloat64OrZero({S}) | toFloat64OrNull({S}) | abs({F}) | if({B}, {F}, {I}) | greatest({F}, {F}) |
            least({F}, {I}) | trunc({F}) | floor({F}, {n}) | round({D}, {n}) | pow({C}, {p}) | log({C}) | arrayAvg({J}) | ifNull({F}, {F}) |
            multiIf({B}, {F}, {I}) | coalesce({F}, {I}) | divide({N}, {N}) | -{F} | {F} % {p} | nullIf({F}, {F}) | roundBankers({F}, {n})""",
    "D": """{D} + {D} | {D} - {D} | {D} * {D} | {D} + {I} | {I} * {D} | if({B}, {D}, {D}) | -{D} | abs({D}) | toDecimal64({N}, 3) | greatest({D}, {D}) |
            toDecimal32OrNull({S}, 2) | toDecimal64OrZero({S}, 3) | CAST({N} AS Decimal(18, 4)) | coalesce({D}, {D}) | ifNull({D}, {D}) |
            multiIf({B}, {D}, {I}) | round({D}, {n}) | floor({D}) | least({D}, {I})""",
    "S": """lower({S}) | upper({S}) | concat({S}, {S}) | {S} || {S} | substring({S}, {n}, {n}) | substring({S}, {n}) | left({S}, {n}) | right({S}, {n}) |
            reverse({S}) | trimBoth({S}) | trimLeft({S}) | replaceAll({S}, {P}, {P}) | replaceOne({S}, {P}, {P}) | toString({X}) | hex({S}) |
            replaceRegexpAll({S}, {R}, 'x') | replaceRegexpOne({S}, {R}, '[\\\\0]') | extract({S}, {R}) | if({B}, {S}, {S}) | ifNull({S}, {S}) |
            coalesce({S}, {S}, 'z') | multiIf({B}, {S}, {S}) | nullIf({S}, {S}) | repeat({S}, {n}) | leftPad({S}, {p}, {P}) | rightPad({S}, {p}) |
            formatDateTime({M}, '%Y-%m-%d %H:%i:%S') | toString({M}) | toString({A}) | toString({N}) | arrayStringConcat({G}, {P}) | {G}[{n}] |
            substringUTF8({S}, {n}, {n}) | reverseUTF8({S}) | upperUTF8({S}) | lowerUTF8({S}) | base64Encode({S}) | splitByChar(',', {S})[{n}] |
            toString({E}) | toString({B}) | concat({S}, toString({I})) | format('{{}}-{{}}', {S}, {S}) | substringIndex({S}, {P}, {n}) | p.2 | leftUTF8({S}, {n}) |
            rightUTF8({S}, {n}) | leftPadUTF8({S}, {p}, 'x') | translate({S}, 'ab', 'xy') | appendTrailingCharIfAbsent({S}, ',') |
            toValidUTF8({S}) | CAST({X} AS String) | CAST({N}, 'String') | greatest({S}, {S}) | least({S}, {S}) | toFixedString(left({S}, 2), 3) |
            CASE WHEN {B} THEN {S} ELSE {S} END | concat({X}, {X}) | dateName({U}, {t}) | monthName({M}) | toTypeName({Y}) | toTypeName(if({B}, {X}, {X})) |
             toTypeName({N} + {N}) | toTypeName({I} / {I}) | toTypeName({N} * {N}) | hex({X}) | initcap({S}) |
            transform({S}, ['a', 'b'], ['x', 'y'], 'z') | arrayStringConcat(arrayMap(x -> toString(x), {A}), '-') | concatWithSeparator('-', {S}, {S}) |
            bin({I}) | hex({N}) | toJSONString({Y}) | regexpExtract({S}, {R}, 0) | char({p}) | soundex({S}) | toString(({I}, {S})) | formatReadableSize({p})""",
    "d": """toDate({M}) | {d} + {n} | {d} - {n} | toStartOfMonth({M}) | toMonday({M}) | toStartOfYear({M}) | toStartOfQuarter({M}) | addMonths({d}, {n}) |
            subtractYears({d}, {p}) | addWeeks({d}, {n}) | toStartOfWeek({M}, {p}) | if({B}, {d}, {d}) | toLastDayOfMonth({M}) | {d} + INTERVAL {n} MONTH |
            {d} - INTERVAL {p} DAY | toDate32({M}) | toStartOfInterval({d}, INTERVAL {p} MONTH) | toStartOfInterval({d}, INTERVAL {p} WEEK) | ifNull({d}, {d}) |
            toDateOrNull({S}) | greatest({d}, {d}) | date_trunc('month', {d}) | addDays({d}, {n}) | toDate({t}, {z}) | toDateOrZero({S})""",
    "t": """{t} + {n} | {t} + INTERVAL {n} {u} | {t} - INTERVAL {p} {u} | addHours({t}, {n}) | addMonths({t}, {n}) | toStartOfHour({t}) | toStartOfDay({M}) |
            toStartOfMinute({t}) | toDateTime({M}) | toDateTime64({t}, {p}) | date_trunc({U}, {t}) | toStartOfInterval({t}, INTERVAL {p} {u}) | toTimeZone({t}, {z}) |
            if({B}, {t}, {t}) | toStartOfFiveMinutes({t}) | addQuarters({t}, {n}) | {d} + INTERVAL {n} HOUR | dateAdd({u}, {n}, {t}) | dateSub({u}, {p}, {t}) |
            toDateTime({t}, {z}) | ifNull({t}, {t}) | greatest({t}, {t}) | addSeconds({t}, {n}) | subtractMinutes({t}, {p}) | toStartOfFifteenMinutes({t}) |
            toDateTimeOrNull({S}) | toStartOfSecond({t}) | toDateTime({d}, {z}) | fromUnixTimestamp64Milli(toInt64({I}), {z})""",
    "B": """{N} = {N} | {N} < {N} | {N} >= {I} | {S} = {S} | {S} < {S} | {S} != {S} | {M} < {M} | {d} = {d} | {t} >= {t} | {B} AND {B} | {B} OR {B} | NOT {B} |
            {S} LIKE {L} | {S} NOT LIKE {L} | {S} ILIKE {L} | match({S}, {R}) | {I} IN ({n}, {n}, 5) | {S} IN ({P}, {P}) | {S} NOT IN ({P}, 'red') |
            {X} IS NULL | {X} IS NOT NULL | isNull({Y}) | {I} BETWEEN {n} AND {p} | has({A}, {I}) | has({G}, {P}) | hasAny({G}, {G}) | hasAll({J}, {J}) |
            startsWith({S}, {P}) | endsWith({S}, {P}) | empty({S}) | notEmpty({G}) | empty({A}) | {E} = 'a' | {E} IN ('a', 'b') | {B} XOR {B} | isNaN({F}) |
            arrayExists(x -> x > {n}, {A}) | arrayAll(x -> x > {n}, {A}) | mapContains({m}, {P}) | ({I}, {S}) = ({I}, {S}) | ({I}, {S}) < ({I}, {S}) | {A} = {A} |
            {G} < {G} | {I} IS DISTINCT FROM {I} | {S} <=> {S} | {W} = {W} | {W} < {W} | {M} = {M} | {E} = {E} | {M} BETWEEN {M} AND {M} | {S} > {P} | uuid = uuid |
            ({I}, {S}) IN ((1, 'a'), (0, '')) | {d} = '2020-02-29' | {t} > '2020-01-01 00:00:00' | {I} IN (SELECT ni FROM h) | {S} IN (SELECT s FROM h) |
            {D} < {N} | {D} = {D} | {B} = {B} | hasToken({S}, 'a') | isValidUTF8({S}) | {S} IN (SELECT ns FROM h WHERE u8 > 1) | multiSearchAny({S}, ['a', 'B'])""",
    "A": """arrayMap(x -> x + {n}, {A}) | arrayFilter(x -> x > {n}, {A}) | arraySort({A}) | arrayReverse({A}) | arraySlice({A}, {n}, {p}) | arrayDistinct({A}) |
            arrayConcat({A}, {A}) | arrayPushBack({A}, {n}) | arrayEnumerate({A}) | range({p}) | arrayMap((x, y) -> x + y, {J}, {J}) | arrayCumSum({J}) |
            arrayDifference({J}) | arrayReverseSort({A}) | arraySort(x -> -x, {A}) | arrayResize({A}, {p}) | arrayPopBack({A}) | [{I}, {I}] | if({B}, {A}, {A}) |
            arrayIntersect({J}, {J}) | arrayMap(x -> if(x > {n}, x, {n}), {A}) | arrayEnumerateUniq({A}) | arrayMap(x -> x * x, arrayFilter(x -> x != {n}, {A})) |
            arrayCompact({A}) | arrayFill(x -> x > {n}, {A}) | emptyArrayToSingle({J}) | arrayMap(x -> (x % {p}) + u8, {A}) | arrayZip({A}, {A}) | arrayRotateLeft({A}, {n}) |
            arrayMap(x -> toString(x), {A}) | arrayMap(x -> length(x), {G}) | mapValues({m}) | arrayWithConstant({p}, {I}) | arraySplit(x -> x > {n}, {A}) | [{F}, {I}] |
            arrayFold((acc, x) -> acc + x, {J}, toInt64(0)) | arrayShiftRight({A}, {n}) | arrayRemove({A}, {n}) | array({I}, NULL)""",
    "G": """splitByChar(',', {S}) | splitByString({P}, {S}) | arrayMap(x -> concat(x, {P}), {G}) | arraySort({G}) | arrayFilter(x -> x != {P}, {G}) |
            arrayConcat({G}, {G}) | arrayDistinct({G}) | arrayReverse({G}) | extractAll({S}, {R}) | [{S}, {S}] | mapKeys({m}) | arraySlice({G}, {n}, {p}) |
            alphaTokens({S}) | arrayMap(x -> upper(x), {G}) | arrayPushFront({G}, {P}) | ngrams({S}, 2) | splitByNonAlpha({S}) | arraySort(x -> length(x), {G}) |
            splitByRegexp({R}, {S}) | splitByWhitespace({S}) | if({B}, {G}, {G}) | arrayCompact({G}) | arrayIntersect({G}, {G}) | tokens({S})""",
    "m": """map('a', {I}, 'b', {I}) | mapFilter((k, v) -> v > {n}, {m}) | mapUpdate({m}, {m}) | mapAdd({m}, {m}) | mapFromArrays(['x', 'y'], [{I}, {I}]) |
            mapApply((k, v) -> (k, v + 1), {m}) | mapSort({m})""",
    "Y": "{I} | {F} | {D} | {S} | {d} | {t} | {B} | {A} | {G} | ({I}, {S}) | {m} | CAST({X} AS {T}) | ({d}, {F}) | materialize({X}) | tuple({S}) | [({I}, {S})] | {E}",
    "X": "{I} | {F} | {S} | {d} | {t} | {B} | {D} | {I} | {S} | {E}",
    "N": "{I} | {F} | {D}",
    "M": "{d} | {t}",
}
TEMPLATES = {kind: [line.strip() for line in text.replace("\n", " ").split(" | ") if line.strip()] if kind != "S" else
             [line.strip() for line in text.replace("\n", " ").replace("{S} || {S}", "{S} @@ {S}").split(" | ")]
             for kind, text in TEMPLATES.items()}
AGGREGATES = """count() | count({Y}) | sum({I}) | sum({D}) | sum({C}) | avg({I}) | avg({C}) | min({X}) | max({X}) | uniq({K}) | uniqExact({X}) | sumIf({I}, {B}) |
    countIf({B}) | avgIf({C}, {B}) | argMin({K}, k) | argMax({X}, k) | groupArray({K}) | arraySort(groupUniqArray({K})) | any({p}) | median({C}) |
    quantile(0.5)({I}) | quantileExact(0.25)({I}) | groupArray(3)({K}) | sumArray({J}) | sumForEach({J}) | uniqArray({G}) | countDistinct({K}) | count(DISTINCT {K}) |
    sumDistinct({I}) | minIf({X}, {B}) | maxIf({I}, {B}) | stddevPop({C}) | varSamp({C}) | corr({C}, {C}) | groupBitOr({I}) | groupBitAnd(u8) | groupBitXor({I}) |
    sumOrNull({I}) | minOrNull({X}) | avgOrNull({I}) | sumMap({m}) | length(topK(2)(lc)) | anyLast({p}) | argMaxIf({K}, k, {B}) | groupArrayIf({K}, {B}) | uniqIf({K}, {B}) |
    minArray({J}) | maxArray({J}) | arraySort(groupUniqArrayIf({K}, {B})) | sumOrDefault({I}) | maxOrDefault({I}) | countArray({A}) | groupArrayArray({J}) | minDistinct({I}) | avgDistinct({I}) |
    quantiles(0.25, 0.75)({C}) | entropy({K}) | covarSamp({C}, {C}) | sumWithOverflow(u8) | uniqCombined({K}) | argMin(({I}, {S}), k) | groupArraySorted(3)({I}) |
    max(({I}, {S})) | min({A}) | any(7) | groupConcat(',')({S}) | countIf({B}) + sum({I}) | max({I}) - min({I}) | sum({I}) / count() | arraySum(groupArray({I})) | avgArray({J}) |
    sumKahan({C}) | skewPop({C}) | avgWeighted(u8, u16) | minMap({m}) | maxMap({m}) | maxIfOrNull({I}, {B}) | sumIfOrNull({I}, {B}) | uniqExactIf({K}, {B})"""
AGGREGATES = [line.strip() for line in AGGREGATES.replace("\n", " ").split(" | ")]
WINDOWS = """row_number() | rank() | dense_rank() | denseRank() | percentRank() | lag({K}) | lead({K}, {p}) | lagInFrame({I}) | leadInFrame({I}, 1, 0) | first_value({K}) | last_value({K}) | sum({I}) |
    count() | avg({C}) | min({I}) | max({X}) | nth_value({K}, 2) | ntile(3) | count({K}) | lag({I}, 2, 7) | groupArray({I}) | percent_rank() | cume_dist() | uniqExact({K}) | sumIf({I}, {B}) | any({p})"""
WINDOWS = [line.strip() for line in WINDOWS.replace("\n", " ").split(" | ")]


class Queries:
    """A stream of queries of one seed."""

    def __init__(self, seed):
        self.pick = random.Random(seed)

    def make(self, kind, depth):
        """An expression of a class."""
        if kind not in TEMPLATES or (depth <= 0 and kind in LEAVES) or (kind in LEAVES and self.pick.random() < 0.2):
            return self.pick.choice(LEAVES[kind])
        return self.fill(self.pick.choice(TEMPLATES[kind]), depth - 1)

    def fill(self, template, depth):
        def one(found):
            text = self.make(found[1], depth)
            plain = re.fullmatch(r"[\w.]+|'[^']*'|\w+\([^()]*\)|\[[^\[\]]*\]", text)
            return text if plain else f"({text})"
        text = re.sub(r"\{(\w)\}", one, template).replace("{{", "{").replace("}}", "}")
        return text.replace(" @@ ", " || ")

    def some(self, kind, depth=2):
        return self.make(kind, self.pick.randrange(1, depth + 1))

    def query(self):
        shapes = [self.rows] * 8 + [self.groups] * 4 + [self.windows, self.joins, self.joins, self.sets, self.nested, self.array_join,
                                                        self.limit_by, self.whole, self.ordered, self.constants, self.filters, self.filters,
                                                        self.with_clause, self.keyed_joins, self.modifiers]
        return self.pick.choice(shapes)()

    def rows(self):
        return f"SELECT k, {self.some('Y', 3)} AS r FROM g ORDER BY k"

    def constants(self):
        text = self.some("Y", 3)
        for name in sorted(COLUMNS, key=len, reverse=True):
            kind, values = COLUMNS[name]
            text = re.sub(rf"(?<![\w'.%]){name}(?![\w'(%])", lambda _, k=kind, v=values: f"CAST({self.pick.choice(v)} AS {k})", text)
        return f"SELECT {text} AS r"

    def filters(self):
        return f"SELECT k FROM g WHERE {self.some('B', 3)} ORDER BY k"

    def keys(self):
        return self.pick.choice([self.make("K", 0), self.make("K", 0), self.some("K", 1), self.some("X", 2)])

    def table(self):
        return "z" if self.pick.random() < 0.08 else "g"

    def aggregate(self):
        return self.fill(self.pick.choice(AGGREGATES), self.pick.randrange(0, 2))

    def inner(self):
        return f"(SELECT * FROM {self.table()} ORDER BY k)" if self.pick.random() < 0.1 else self.table()

    def groups(self):
        key, having = self.keys(), self.pick.choice(["", "", "", " HAVING count() > 2", f" HAVING {self.aggregate()} IS NOT NULL"])
        where = f" WHERE {self.some('B', 1)}" if self.pick.random() < 0.3 else ""
        return f"SELECT {key} AS a, {self.aggregate()} AS r FROM {self.inner()}{where} GROUP BY a{having} ORDER BY a, r"

    def modifiers(self):
        one, two = self.pick.sample(["u8", "lc", "e", "ni", "s", "b", "d", "ln"], 2)
        tail = self.pick.choice([f"GROUP BY {one}, {two} WITH ROLLUP", f"GROUP BY {one}, {two} WITH CUBE", f"GROUP BY ROLLUP({one}, {two})",
                                 f"GROUP BY CUBE({one}, {two})", f"GROUP BY GROUPING SETS (({one}, {two}), ({one}), ())", f"GROUP BY {one}, {two} WITH TOTALS"])
        extra = "" if "TOTALS" in tail else self.pick.choice(["", f", grouping({one})" if "SETS" in tail else ""])
        aggregate = self.aggregate()
        if aggregate.startswith("group"):
            # In which order values of several keys are gathered is up to the engines.
            aggregate = "count()"
        return f"SELECT {one}, {two}, {aggregate} AS r{extra} FROM g {tail} ORDER BY {one}, {two}, r{extra}"

    def whole(self):
        where = f" WHERE {self.some('B', 1)}" if self.pick.random() < 0.5 else ""
        return f"SELECT {self.aggregate()} AS r, {self.aggregate()} AS q FROM {self.table()}{where}"

    def windows(self):
        part = self.pick.choice(["", f"PARTITION BY {self.make('K', 0)} "])
        order = self.pick.choice(["ORDER BY k", "ORDER BY k DESC", "ORDER BY u8, k", "ORDER BY ni, k", "ORDER BY s DESC, k"])
        frame = self.pick.choice(["", "", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                                  " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", " RANGE BETWEEN 3 PRECEDING AND CURRENT ROW",
                                  " ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING"])
        if "RANGE" in frame:
            order = "ORDER BY k"
        return f"SELECT k, {self.fill(self.pick.choice(WINDOWS), 0)} OVER ({part}{order}{frame}) AS r FROM g ORDER BY k"

    def joins(self):
        kind = self.pick.choice(["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "ANY LEFT", "INNER", "CROSS", "ANY INNER"])
        a, b = self.pick.choice([("ni", "ni"), ("s", "s"), ("ns", "s"), ("lc", "lc"), ("u8", "u8"), ("e", "e"), ("d", "d"), ("ni", "u8"), ("ln", "lc"), ("nf", "nf"),
                                 ("t", "t"), ("dec", "dec"), ("u8", "i8"), ("f64", "f64"), ("uuid", "uuid"), ("d", "n_d")])
        on = "" if kind == "CROSS" else f" ON x.{a} = y.{b}" + self.pick.choice(["", "", f" AND x.{a} = y.{b}", " AND x.u16 = y.u16", " AND x.k < y.k" if "ANY" not in kind and kind != "FULL" else ""])
        other = self.pick.choice(["h", "h", "h", "z"])
        shown = "x.k" if kind in ("LEFT SEMI", "LEFT ANTI") else self.pick.choice([f"x.k, y.k, y.{self.pick.choice(SCALARS)}", f"x.k, x.{a}, y.{b}", "x.k, y.k"])
        if "ANY" in kind:
            shown = f"x.k, y.{b}"
        settings = self.pick.choice(["", " SETTINGS join_use_nulls = 1"])
        return f"SELECT {shown} FROM g AS x {kind} JOIN {other} AS y{on} ORDER BY ALL{settings}"

    def keyed_joins(self):
        if self.pick.random() < 0.3:
            key = self.pick.choice(["u16", "i32", "t", "d", "k"])
            sign = self.pick.choice([">=", ">", "<=", "<"])
            kind = self.pick.choice(["ASOF JOIN", "ASOF LEFT JOIN"])
            return f"SELECT x.k, y.{key} FROM g AS x {kind} h AS y ON x.lc = y.lc AND x.{key} {sign} y.{key} ORDER BY ALL"
        key = self.pick.choice(["ni", "s", "lc", "u8", "e", "ns", "u8, lc", "ln", "d"])
        kind = self.pick.choice(["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI"])
        return f"SELECT {key}, g.k{'' if 'SEMI' in kind or 'ANTI' in kind else ', h.k'} FROM g {kind} JOIN h USING ({key}) ORDER BY ALL"

    def sets(self):
        word = self.pick.choice(["UNION ALL", "UNION DISTINCT", "INTERSECT", "EXCEPT", "UNION ALL"])
        column = self.make("K", 0)
        other = self.pick.choice([column, column, self.make("K", 0)])
        return f"SELECT * FROM (SELECT {column} AS r FROM g {word} SELECT {other} AS r FROM h) ORDER BY r"

    def nested(self):
        return self.pick.choice([
            f"SELECT a, count() AS c, max(r) FROM (SELECT {self.keys()} AS a, {self.some('X', 2)} AS r FROM g) GROUP BY a ORDER BY a, c",
            f"SELECT k FROM g WHERE {self.make('I', 1)} > (SELECT avg(u8) FROM h) ORDER BY k",
            f"SELECT k, (SELECT {self.aggregate()} FROM h) AS r FROM g ORDER BY k",
            f"SELECT DISTINCT {self.make('I', 2)} AS r FROM g ORDER BY r",
            f"SELECT DISTINCT {self.some('S', 2)} AS r, {self.make('E', 0)} AS q FROM g ORDER BY r, q",
            f"SELECT k, {self.some('X')} AS r FROM (SELECT * FROM g WHERE {self.some('B', 1)}) ORDER BY k LIMIT 5",
            f"SELECT k FROM g WHERE u8 IN (SELECT u8 FROM h WHERE {self.some('B', 1)}) ORDER BY k",
        ])

    def with_clause(self):
        return self.pick.choice([
            f"WITH {self.some('X')} AS w SELECT k, w FROM g ORDER BY k",
            f"WITH c AS (SELECT {self.keys()} AS a, {self.aggregate()} AS r FROM g GROUP BY a) SELECT a, r FROM c ORDER BY a, r",
            f"WITH (SELECT max(k) FROM h) AS w SELECT k, {self.some('X', 1)} AS r FROM g WHERE k > w ORDER BY k",
            f"WITH x -> {self.pick.choice(['x + 1', 'x * 2', 'toString(x)'])} AS f SELECT k, f({self.make('I', 0)}) FROM g ORDER BY k",
        ])

    def array_join(self):
        kind = self.pick.choice(["ARRAY JOIN", "LEFT ARRAY JOIN"])
        array = self.some(self.pick.choice(["A", "G"]), 1)
        return self.pick.choice([
            f"SELECT k, v FROM g {kind} {array} AS v ORDER BY k, v",
            f"SELECT k, v, n FROM g {kind} {array} AS v, arrayEnumerate({array}) AS n ORDER BY k, n",
            f"SELECT k, arrayJoin({array}) AS v FROM g ORDER BY k, v",
            f"SELECT v, count(), {self.aggregate()} AS r FROM g {kind} {array} AS v GROUP BY v ORDER BY v, r",
        ])

    def limit_by(self):
        key = self.keys()
        if key in ("nf", "f64", "f32"):
            # Of the two zeros there is one in PARTITION BY, which LIMIT BY is made of here.
            key = "u8"
        limit = self.pick.choice(["1", "2", "1, 1", "1 OFFSET 1"])
        return f"SELECT {key} AS a, k FROM g ORDER BY k LIMIT {limit} BY a" + self.pick.choice(["", " LIMIT 3", " LIMIT 2, 3"])

    def ordered(self):
        order = self.pick.choice(["", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " DESC NULLS LAST"])
        tail = self.pick.choice(["", " LIMIT 5", " LIMIT 2, 4", " LIMIT 3 WITH TIES"])
        second = "" if "TIES" in tail else ", k"
        shown = "r" if "TIES" in tail else "k, r"
        return f"SELECT {shown} FROM (SELECT k, {self.some('X', 2)} AS r FROM g) ORDER BY r{order}{second}{tail}"


def create(session, call):
    """The three tables; where each is. The empty one is emptied by us: a directory without parts is not a table."""
    session.query("CREATE DATABASE IF NOT EXISTS grammar")
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    settings = "min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0, ratio_of_defaults_for_sparse_serialization = 1"
    generator, places = random.Random(20261123), {}
    for table, count in ROWS.items():
        session.query(f"DROP TABLE IF EXISTS grammar.{table} SYNC")
        session.query(f"CREATE TABLE grammar.{table} (k UInt32, {columns}) ENGINE = MergeTree ORDER BY k SETTINGS {settings}")
        rows = [f"({row}, " + ", ".join(generator.choice(values) for _, values in COLUMNS.values()) + ")" for row in range(count or 1)]
        session.query(f"INSERT INTO grammar.{table} VALUES {', '.join(rows)}")
        path = session.query(f"SELECT data_paths[1] FROM system.tables WHERE database = 'grammar' AND name = '{table}'", "TSV")
        places[table] = path.bytes().decode().strip()
        if not count:
            places[table] = shutil.copytree(places[table], f"{tempfile.mkdtemp()}/{table}")
            statement = f"CREATE TABLE {table} (k UInt32, {columns}) ENGINE = MergeTree ORDER BY k"
            pathlib.Path(places[table], "create.sql").write_text(statement, encoding="utf-8")
            done = call("sql", "--write", "--yes", f"{table}={places[table]}", f"TRUNCATE TABLE {table}", input=b"")
            assert done.returncode == 0, done.stderr.decode()
            session.query(f"TRUNCATE TABLE grammar.{table} SYNC")
    session.query("USE grammar")
    return places


def ask(call, places, queries):
    """Our answers, or the message of a refusal. A refusal ends a process, so the rest goes to the next one."""
    answers, rest = [], list(queries)
    while rest:
        few = rest[:BATCH]
        script = "".join(f"{query};\nSELECT '{MARK}' AS r;\n" for query in few)
        done = call("sql", *(f"{name}={place}" for name, place in places.items()), "--format", "tsv", "--no-header", input=script.encode())
        got = done.stdout.decode("utf-8", "surrogateescape").split(MARK + "\n")[:-1][:len(few)]
        answers += [(answer, None) for answer in got]
        rest = rest[len(got):]
        if len(got) < len(few):
            answers.append((None, done.stderr.decode(errors="replace") or f"exit {done.returncode}"))
            rest = rest[1:]
    return answers


# On purpose (docs/functions.md): what holds for all queries is asked for in ClickHouse's way.
WAYS = "SET aggregate_functions_null_for_empty = 0; SET join_use_nulls = 0;"


NUMBER = re.compile(r"(?<![\w.])-?(?:nan|inf|\d+\.?\d*(?:e[-+]?\d+)?)(?!\w)|\btrue\b|\bfalse\b")


def same_text(ours, theirs):
    """Equal but for the spelling of booleans and the last digits of floats, also inside of arrays."""
    if ours == theirs:
        return True
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    return all(map(close, NUMBER.findall(ours), NUMBER.findall(theirs)))


def close(a, b):
    words = {"true": "1", "false": "0"}
    a, b = words.get(a, a), words.get(b, b)
    if a == b:
        return True
    if not re.search(r"[.e]|nan|inf", a + b):
        return False
    x, y = float(a), float(b)
    return x == y or (x != x and y != y) or abs(x - y) <= 1e-9 * max(abs(x), abs(y))


# Not the beginning of another number, nor a part of a date.
NEGATIVE_ZERO = re.compile(r"(?<![\w.])-0(?![\w.])")


def same(ours, theirs):
    left, right = ours.split("\n"), theirs.split("\n")
    if NEGATIVE_ZERO.search(ours):
        # Which of the two zeros comes first in a sort is up to the engines.
        left, right = sorted(left), sorted(right)
    return len(left) == len(right) and all(map(same_text, left, right))


def first_difference(ours, theirs):
    for a, b in zip(ours.split("\n"), theirs.split("\n")):
        if not same_text(a, b):
            return f"ours {a[:200]!r}, ClickHouse {b[:200]!r}"
    return f"{len(ours.splitlines())} rows, ClickHouse has {len(theirs.splitlines())}"


def run(session, call, count, seed):
    """Counts of equal, refused and different answers; the different ones; the messages of refusals."""
    places, queries = create(session, call), Queries(seed)
    asked, counts, different, refused = [], collections.Counter(), [], []
    for query in dict.fromkeys(queries.query() for _ in range(count)):
        try:
            theirs = session.query(query, "TSV").bytes().decode("utf-8", "surrogateescape")
        except (RuntimeError, UnicodeDecodeError):  # the latter: a message with the bytes of a text
            counts["refused by ClickHouse"] += 1
            continue
        asked.append((query, theirs))
    for (query, theirs), (ours, message) in zip(asked, ask(call, places, [query for query, _ in asked])):
        if ours is None:
            bad = "panicked" in message or message.startswith("exit")
            counts["panicked" if bad else "refused"] += 1
            (different if bad else refused).append((query, theirs, message))
        elif same(ours, theirs):
            counts["equal"] += 1
        else:
            counts["different"] += 1
            different.append((query, theirs, ours))
    return counts, different, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bytes", action="store_true", help="with --strings binary")
    parser.add_argument("--refused", action="store_true", help="also print what was refused")
    parser.add_argument("--tambour", default=os.environ.get("TAMBOUR"))
    arguments = parser.parse_args()
    import subprocess

    from chdb import session as chdb_session

    def call(*words, input):
        strings = ["--strings", "binary"] if arguments.bytes and "--write" not in words else []
        return subprocess.run([arguments.tambour, *words, *strings], input=WAYS.encode() + input, capture_output=True, check=False)

    with tempfile.TemporaryDirectory() as directory:
        session = chdb_session.Session(str(pathlib.Path(directory) / "clickhouse"))
        session.query("SET session_timezone = 'UTC'")
        session.query("SET allow_suspicious_low_cardinality_types = 1")
        counts, different, refused = run(session, call, arguments.count, arguments.seed)
    for query, theirs, ours in different:
        text = ours.strip()[:300] if "panicked" in ours else first_difference(ours, theirs)
        print(query, "\n   ", text)
    if arguments.refused:
        for query, _, message in refused:
            print("REFUSED", query, "\n   ", message.strip().splitlines()[-1:])
    print(dict(counts))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
