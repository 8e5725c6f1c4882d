"""make-pyarrow FILE KEYS [long], make-duckdb FILE KEYS [long], ask FILE KEYS [long]: a column "c" with
a filter, written by pyarrow or DuckDB and asked by DuckDB. KEYS has one key a line; what is asked is
answered with a 0 or 1 a key."""

import sys

import duckdb
import pyarrow
import pyarrow.parquet

verb, path, key_file = sys.argv[1:4]
is_long = sys.argv[4:] == ["long"]
with open(key_file, encoding="utf-8", newline="\n") as lines:
    keys = lines.read().removesuffix("\n").split("\n")
if is_long:
    keys = [int(key) for key in keys]
kind = pyarrow.int64() if is_long else pyarrow.string()
column_c = pyarrow.table({"c": pyarrow.array(keys, kind), "d": pyarrow.array(range(len(keys)))})

if verb == "make-pyarrow":
    wish = {"c": {"ndv": len(keys), "fpp": 0.2}}
    pyarrow.parquet.write_table(column_c, path, bloom_filter_options=wish, row_group_size=400)
elif verb == "make-duckdb":
    # DuckDB makes filters for columns that it writes with a dictionary.
    duckdb.sql(
        f"COPY (SELECT c FROM column_c) TO '{path}' "
        "(FORMAT parquet, DICTIONARY_SIZE_LIMIT 1000000, BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.2)"
    )
elif verb == "ask":
    answers = []
    for key in keys:
        value = str(key) if is_long else "'" + key.replace("'", "''") + "'"
        rows = duckdb.sql(
            f"SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe('{path}', 'c', {value})"
        ).fetchall()
        answers.append("0" if rows[0][0] else "1")
    print("".join(answers))
else:
    sys.exit(f"no verb {verb}")
