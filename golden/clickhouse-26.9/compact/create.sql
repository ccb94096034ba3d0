CREATE TABLE compact
(
    `k` UInt32,
    `d` Date32,
    `n` Nullable(Int64),
    `s` String
)
ENGINE = MergeTree
ORDER BY k
SETTINGS index_granularity = 64
