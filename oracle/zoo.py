"""Every supported type, as a column that ClickHouse can fill: name, type, expression over `number`."""

PLAIN = "min_bytes_for_wide_part=0, min_rows_for_wide_part=0, index_granularity_bytes=0, compress_marks=0, " \
    "compress_primary_key=0, string_serialization_version='single_stream', serialization_info_version='basic', " \
    "ratio_of_defaults_for_sparse_serialization=1"

# How ClickHouse is told to write parts.
SETTINGS = {
    "default": "",
    "wide": "min_bytes_for_wide_part=0, min_rows_for_wide_part=0",
    "plain": PLAIN,
    "plain-cmrk": PLAIN.replace("compress_marks=0", "compress_marks=1").replace("compress_primary_key=0", "compress_primary_key=1"),
    "adaptive-inline": "min_bytes_for_wide_part=0, min_rows_for_wide_part=0, compress_marks=0, compress_primary_key=0, "
                       "string_serialization_version='single_stream', ratio_of_defaults_for_sparse_serialization=1",
    "compact-mrk3": "min_bytes_for_wide_part=1000000000, write_marks_for_substreams_in_compact_parts=0",
    "compact-plain-marks": "min_bytes_for_wide_part=1000000000, compress_marks=0, compress_primary_key=0",
    "small-granules": "min_bytes_for_wide_part=0, min_rows_for_wide_part=0, index_granularity=100",
    "sparse": "min_bytes_for_wide_part=0, min_rows_for_wide_part=0, ratio_of_defaults_for_sparse_serialization=0.5",
    "zstd": "min_bytes_for_wide_part=0, min_rows_for_wide_part=0, default_compression_codec='ZSTD(3)'",
}

ZOO = [
    ("bool", "Bool", "number % 3 = 0"),
    ("u8", "UInt8", "number % 256"),
    ("u16", "UInt16", "number * 7 % 65536"),
    ("u32", "UInt32", "cityHash64(number) % 4294967296"),
    ("u64", "UInt64", "cityHash64(number)"),
    ("u128", "UInt128", "toUInt128(cityHash64(number)) * toUInt128('18446744073709551615') + number"),
    ("u256", "UInt256", "if(number % 5 = 0, toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935') - number, toUInt256(cityHash64(number)))"),
    ("i8", "Int8", "toInt8(number % 256 - 128)"),
    ("i16", "Int16", "toInt16(number % 65536 - 32768)"),
    ("i32", "Int32", "reinterpretAsInt32(toUInt32(cityHash64(number) % 4294967296))"),
    ("i64", "Int64", "reinterpretAsInt64(cityHash64(number))"),
    ("i128", "Int128", "toInt128(reinterpretAsInt64(cityHash64(number))) * toInt128('9223372036854775807')"),
    ("i256", "Int256", "if(number % 5 = 0, toInt256('-57896044618658097711785492504343953926634992332820282019728792003956564819968') + number, -toInt256(number))"),
    ("f32", "Float32", "toFloat32(number / 3 - 1000)"),
    ("f64", "Float64", "multiIf(number % 101 = 1, nan, number % 101 = 2, inf, number % 101 = 3, -inf, number % 101 = 4, 1e300 * number, number / 7 - 100)"),
    ("bf16", "BFloat16", "toBFloat16(number % 250)"),
    ("dec32", "Decimal(9, 2)", "toDecimal32(number, 2) / 4 - 500"),
    ("dec64", "Decimal(18, 4)", "toDecimal64(number, 4) * -37"),
    ("dec128", "Decimal(38, 10)", "toDecimal128(cityHash64(number), 10) * -1"),
    ("dec256", "Decimal(76, 20)", "toDecimal256(cityHash64(number), 20) * 123456789"),
    ("date", "Date", "toDate(number % 65536)"),
    ("day", "Date", "toDate('1972-03-15') + number % 100"),
    ("date32", "Date32", "toDate32('1900-01-01') + number % 100000"),
    ("dt", "DateTime", "toDateTime(cityHash64(number) % 4294967296)"),
    ("dt_utc", "DateTime('UTC')", "toDateTime(number * 100003 % 4294967296, 'UTC')"),
    ("dt_berlin", "DateTime('Europe/Berlin')", "toDateTime(number * 1800, 'Europe/Berlin')"),
    ("dt64_0", "DateTime64(0)", "toDateTime64(number * 1000, 0)"),
    ("dt64_3", "DateTime64(3)", "toDateTime64('2024-02-29 12:00:00.123', 3) + number"),
    ("dt64_4", "DateTime64(4)", "toDateTime64('1969-12-31 23:59:59.1234', 4) + number"),
    ("dt64_6", "DateTime64(6, 'America/New_York')", "toDateTime64('2024-11-03 00:30:00.123456', 6, 'America/New_York') + number * 600"),
    ("dt64_9", "DateTime64(9)", "toDateTime64('2024-02-29 12:00:00.123456789', 9) + number"),
    ("s", "String", "multiIf(number % 10 = 0, '', number % 97 = 0, repeat(toString(number), 60), number % 11 = 0, 'tab\\there\\nand\\\\ there', concat('value ', toString(number % 500)))"),
    ("s_utf8", "String", "concat('\u00fc\u20ac\U0001F600 ', toString(number))"),
    ("fs", "FixedString(5)", "toFixedString(toString(number % 100000), 5)"),
    ("uuid", "UUID", "reinterpretAsUUID(concat(reinterpretAsFixedString(cityHash64(number)), reinterpretAsFixedString(cityHash64(number, 1))))"),
    ("ip4", "IPv4", "toIPv4(toUInt32(cityHash64(number) % 4294967296))"),
    ("ip6", "IPv6", "toIPv6(concat('2001:db8::', hex(number % 65536)))"),
    ("e8", "Enum8('a' = -128, 'b' = 0, 'c\\'d' = 127)", "CAST([-128, 0, 127][number % 3 + 1], 'Enum8(\\'a\\' = -128, \\'b\\' = 0, \\'c\\\\\\'d\\' = 127)')"),
    ("e16", "Enum16('x' = -3000, 'y' = 1, 'z' = 3000)", "CAST([-3000, 1, 3000][number % 3 + 1], 'Enum16(\\'x\\' = -3000, \\'y\\' = 1, \\'z\\' = 3000)')"),
    ("n_u32", "Nullable(UInt32)", "if(number % 3 = 0, NULL, toUInt32(number))"),
    ("n_s", "Nullable(String)", "if(number % 4 = 0, NULL, toString(number))"),
    ("n_f64", "Nullable(Float64)", "if(number % 4 = 1, NULL, number / 8)"),
    ("n_dt64", "Nullable(DateTime64(3))", "if(number % 5 = 1, NULL, toDateTime64(number, 3))"),
    ("n_e8", "Nullable(Enum8('a' = 1, 'b' = 2))", "if(number % 5 = 1, NULL, CAST(number % 2 + 1, 'Enum8(\\'a\\' = 1, \\'b\\' = 2)'))"),
    ("n_all", "Nullable(String)", "NULL"),
    ("lc", "LowCardinality(String)", "concat('low ', toString(number % 40))"),
    ("lc_many", "LowCardinality(String)", "toString(cityHash64(number) % 30000)"),
    ("lc_n", "LowCardinality(Nullable(String))", "if(number % 3 = 0, NULL, toString(number % 7))"),
    ("lc_fs", "LowCardinality(FixedString(3))", "toFixedString(toString(number % 100), 3)"),
    ("lc_u", "LowCardinality(UInt32)", "number % 300"),
    ("lc_d", "LowCardinality(Date)", "toDate(number % 1000)"),
    ("mostly0", "UInt32", "if(number % 50 = 7, number, 0)"),
    ("mostly_empty", "String", "if(number % 50 = 7, toString(number), '')"),
    ("mostly_null", "Nullable(UInt64)", "if(number % 50 = 7, number, NULL)"),
    ("a_u8", "Array(UInt8)", "arrayMap(x -> toUInt8(x), range(number % 5))"),
    ("a_s", "Array(String)", "arrayMap(x -> concat('it\\'s ', toString(x)), range(number % 4))"),
    ("a_n", "Array(Nullable(Int32))", "arrayMap(x -> if(x % 2 = 0, NULL, toInt32(x)), range(number % 4))"),
    ("a_a", "Array(Array(UInt16))", "arrayMap(x -> arrayMap(y -> toUInt16(y), range(x)), range(number % 4))"),
    ("a_lc", "Array(LowCardinality(String))", "arrayMap(x -> toString(x % 3), range(number % 5))"),
    ("a_empty", "Array(String)", "[]"),
    ("t", "Tuple(UInt8, String)", "(toUInt8(number % 256), toString(number))"),
    ("t_named", "Tuple(a UInt32, b Nullable(String), c Array(Date))", "(toUInt32(number), if(number % 2 = 0, NULL, toString(number)), [toDate(number % 1000)])"),
    ("t_deep", "Tuple(x Tuple(y LowCardinality(String), z Float32))", "tuple((toString(number % 9), toFloat32(number)))"),
    ("a_t", "Array(Tuple(p UInt8, q Nullable(String)))", "arrayMap(x -> (toUInt8(x), if(x = 1, NULL, toString(x))), range(number % 3))"),
    ("m", "Map(String, UInt64)", "mapFromArrays(arrayMap(x -> concat('k', toString(x)), range(number % 3)), arrayMap(x -> number + x, range(number % 3)))"),
    ("m_lc", "Map(LowCardinality(String), Array(Nullable(String)))", "map('a', ['x', NULL], 'b', [])"),
    ("odd.name %\u00fc`q", "UInt32", "number"),
    ("nest.x", "Array(UInt16)", "arrayMap(x -> toUInt16(x), range(number % 4))"),
    ("nest.y", "Array(String)", "arrayMap(x -> toString(x), range(number % 4))"),
]

# What ClickHouse 18.16 knows, for dialect `old`.
NEW_TYPES = ("Bool", "Int128", "Int256", "BFloat16", "Date32", "DateTime64", "IPv", "Map", "Decimal(76", "Tuple(a", "Tuple(x", "Tuple(p", "LowCardinality(Date", "LowCardinality(UInt32")


def quoted(name):
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def create(table, columns, tail):
    lines = ",\n".join(f"    {quoted(name)} {kind}" for name, kind, _ in columns)
    return f"CREATE TABLE {table}\n(\n    k UInt64,\n{lines}\n)\nENGINE = MergeTree\n{tail}"


def select(columns, rows, start=0):
    # The casts matter: the difference of two UInt256 is an Int256.
    values = ", ".join(f"CAST({expression} AS {kind}) AS {quoted(name)}" for name, kind, expression in columns)
    return f"SELECT toUInt64(number) AS k, {values} FROM numbers({start}, {rows})"
