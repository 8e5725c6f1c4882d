"""numpy and Arrow, in place."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymayhap as mh

polars = pytest.importorskip("polars")


def filled(keys):
    f = mh.Filter(max(1000, len(keys)), 1e-4)
    f.update(keys)
    return f


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i8", ">u4"])
def test_numpy_integers_of_every_width(dtype):
    keys = np.array([0, 1, 7, 100, 127], dtype)
    if np.dtype(dtype).kind == "i":
        keys[1] = -5
    f = filled([int(key) for key in keys])
    assert f.contains_many(keys).all()
    assert filled(keys) == f
    for strided in [keys[::2], keys[::-1], np.repeat(keys, 2)[::2][1:]]:
        assert f.contains_many(strided).all() and filled(strided).contains_many(strided).all()
        assert filled(strided) == filled(strided.tolist())


def test_the_largest_and_the_smallest_integer():
    large = np.array([2**64 - 1, 2**63], np.uint64)
    small = np.array([-1, -(2**63)], np.int64)
    assert filled(large) == filled([2**64 - 1, 2**63]) == filled(small) == filled([-1, -(2**63)])


def test_records_and_unaligned_fields():
    records = np.zeros(50, np.dtype([("flag", "u1"), ("id", "<i8")]))
    records["id"] = np.arange(50)
    assert filled(records["id"]) == filled(list(range(50)))


def test_numpy_strings_bytes_and_objects():
    text = ["ada", "é", "", "eve"]
    f = filled(text)
    assert filled(np.array(text)) == f
    assert filled(np.array(text, object)) == f
    raw = [b"ada", b"eve\x01", b"\x00x"]
    assert filled(np.array(raw)) == filled(raw)
    assert filled(np.array(raw)[::2]) == filled(raw[::2])
    nulls = np.array(["ada", None, float("nan"), "eve"], object)
    assert f.contains_many(nulls).tolist() == [True, False, False, True]
    for wrong in [np.array([1.5]), np.array([True]), np.array(["2020-01-01"], "M8[D]")]:
        with pytest.raises(TypeError, match="holds no keys"):
            f.update(wrong)


STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.mark.parametrize("kind", STRINGS, ids=str)
def test_arrow_text_and_bytes(kind):
    text = ["ada", None, "", "a longer string than fits into a view", "é", None]
    column = pa.array(text, pa.string()).cast(kind)
    f = filled([key for key in text if key is not None])
    assert f.contains_many(column).tolist() == [key is not None for key in text]
    assert filled(column) == f
    assert f.add_many(column).tolist() == [False] * 6
    fresh = mh.Filter(1000, 1e-4)
    assert fresh.add_many(column).tolist() == [True, False, True, True, True, False]
    assert filled(column.slice(2)) == filled(text[2:5])
    chunked = pa.chunked_array([column, column.slice(3, 2), column.slice(0, 0)])
    assert f.contains_many(chunked).tolist() == [key is not None for key in text + text[3:5]]
    assert filled(chunked) == f
    assert filled(pa.table({"k": chunked})) == f


INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_arrow_integers(kind):
    numbers = [0, None, 100, 7, None, 5]
    column = pa.array(numbers, kind)
    f = filled([0, 100, 7, 5])
    assert filled(column) == f
    assert f.contains_many(column).tolist() == [True, False, True, True, False, True]
    assert filled(column.slice(1, 3)) == filled([100, 7])
    dictionary = pa.array([3, 3, None, 3, 5], kind).dictionary_encode()
    assert filled([3]).contains_many(dictionary).tolist() == [True, True, False, True, False]


def test_dictionaries_nulls_and_what_is_no_key():
    column = pa.array(["ada", "eve", None, "ada"]).dictionary_encode()
    assert filled(column) == filled(["ada", "eve"])
    holed = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None]), pa.array(["ada", None]))
    f = filled(["ada"])
    assert f.contains_many(holed).tolist() == [True, False, True, False]
    assert filled(holed) == f
    fixed = pa.array([b"abcd", None, b"efgh"], pa.binary(4))
    assert filled(fixed) == filled([b"abcd", b"efgh"])
    assert f.contains_many(pa.nulls(3)).tolist() == [False] * 3
    f.update(pa.nulls(3))
    assert f == filled(["ada"])
    for wrong in [pa.array([1.5]), pa.array([True]), pa.array([[1]]), pa.table({"a": [1], "b": [2]})]:
        with pytest.raises(TypeError, match="holds no keys"):
            f.update(wrong)


def test_polars_columns():
    series = polars.Series(["ada", None, "eve"])
    f = filled(["ada", "eve"])
    assert filled(series) == f and f.contains_many(series).tolist() == [True, False, True]
    assert filled(polars.Series([1, None, 3])) == filled([1, 3])
    assert filled(series.cast(polars.Categorical)) == f
    frame = polars.DataFrame({"name": ["ada", "bob"], "n": [1, 2]})
    kept = frame.filter(
        polars.col("name").map_batches(
            lambda names: polars.Series(f.contains_many(names)), return_dtype=polars.Boolean
        )
    )
    assert kept["n"].to_list() == [1]


@given(st.lists(st.one_of(st.none(), st.binary(max_size=20))), st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_any_slice_of_any_column_is_its_keys(keys, start, end):
    column = pa.array(keys, pa.binary()).slice(start, max(len(keys) - start - end, 0))
    f = filled([key for key in column.to_pylist() if key is not None])
    assert filled(column) == f
    assert f.contains_many(column).tolist() == [key is not None for key in column.to_pylist()]


def test_rules_of_a_filters_keys_hold_for_columns(command, tmp_path):
    path = tmp_path / "urls"
    command("build", "-o", path, "--normalize", "url", stdin="HTTP://A.example/#top\n")
    f = mh.open(path)
    asked = pa.array(["http://a.example/", "http://b.example/"])
    assert f.contains_many(asked).tolist() == [True, False]
    before = bytes(f)
    with pytest.raises(TypeError, match="normalized by url"):
        f.update(np.arange(3))
    with pytest.raises(TypeError, match="normalized by url"):
        f.update(["http://c.example/", 7])
    assert bytes(f) == before
