"""One filter: keys, algebra, files."""

import copy
import json
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymayhap as mh

KINDS = ["blocked", "classic", "quotient", "scalable", "windowed", "counting", "sharded"]

integers = st.integers(-(2**63), 2**64 - 1)
keys = st.lists(st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.binary(), integers))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_what_is_new_and_forgets_nothing(kind):
    f = mh.Filter(1000, 0.01, kind=kind)
    assert f.kind == kind and f.capacity >= 1000
    new = [f.add(f"key {i}") for i in range(1000)]
    assert sum(new) > 950
    assert all(f"key {i}" in f for i in range(1000))
    assert sum(f"other {i}" in f for i in range(10_000)) < 250
    assert f.keys_added > 950
    assert 900 < f.estimate() < 1100
    assert 0 < f.fpr_now() < 0.015


@given(keys)
@settings(max_examples=100, deadline=None)
def test_a_key_is_found_however_it_came(given):
    one, many, listed = (mh.Filter(1000, 0.001) for _ in range(3))
    for key in given:
        one.add(key)
    many.update(iter(given))
    new = listed.add_many(given)
    assert len(new) == len(given)
    assert one == many == listed
    assert one.contains_many(given).all()
    assert all(key in listed for key in given)


def test_keys_are_text_bytes_and_integers_and_nothing_else():
    f = mh.Filter(1000, 1e-6)
    f.add("é")
    assert "é".encode() in f and bytearray("é".encode()) in f and memoryview("é".encode()) in f
    f.add(2**64 - 1)
    assert -1 in f  # the same 64 bits
    f.add(np.int32(-7))
    assert -7 in f and np.int64(-7) in f and (-7).to_bytes(8, "little", signed=True) in f
    for wrong, name in [(1.5, "float"), (True, "bool"), (None, "NoneType"), ((1, 2), "tuple")]:
        with pytest.raises(TypeError, match=f"a {name} is no key"):
            f.add(wrong)
        with pytest.raises(TypeError, match=f"a {name} is no key"):
            wrong in f
        with pytest.raises(TypeError, match=f"a {name} is no key"):
            f.update(["a", wrong])
    with pytest.raises(TypeError, match="bool"):
        f.add(np.bool_(True))
    for wrong in [2**64, -(2**63) - 1, 10**30]:
        with pytest.raises(OverflowError, match="2\\*\\*64 - 1"):
            f.add(wrong)
        with pytest.raises(OverflowError):
            f.update([1, wrong])
    with pytest.raises(UnicodeEncodeError):
        f.add("\ud800")
    for wrong in ["ada", b"ada"]:
        with pytest.raises(TypeError, match="put it into a list"):
            f.update(wrong)
    with pytest.raises(TypeError, match="holds no keys"):
        f.update(7)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_leaves_the_filter_as_it_was(kind):
    f = mh.Filter(100, 0.01, kind=kind)
    f.update(["a", 1])
    before = bytes(f)
    wrong = [
        ["b", None],
        [*range(5000), 1.5],
        iter([1, 2, 2**64]),
        np.array([1.5]),
        np.array([[1, 2]]),
        (x for x in [1, 2, [3]]),
    ]
    for keys in wrong:
        with pytest.raises((TypeError, OverflowError, ValueError)):
            f.update(keys)
    with pytest.raises(ZeroDivisionError):
        f.add_many(1 // (3 - i) for i in range(5))
    assert bytes(f) == before


def test_algebra():
    f, g = mh.Filter(1000, 0.001), mh.Filter(1000, 0.001)
    f.update(["a", "b"])
    g.update(["b", "c"])
    both, common = f | g, f & g
    assert all(key in both for key in "abc")
    assert "b" in common and "a" not in common and "c" not in common
    h = f.copy()
    assert h == f and h is not f and copy.deepcopy(f) == f
    h |= g
    assert h == both and h != f
    h &= f
    assert "c" not in h
    h.clear()
    assert "a" not in h and h.keys_added == 0
    assert f != "f" and not (f == 7)
    with pytest.raises(ValueError, match="capacity|keys"):
        f | mh.Filter(50_000, 0.001)
    with pytest.raises(TypeError):
        f | {"a"}
    f |= f
    assert "a" in f
    with pytest.raises(TypeError, match="keys_added"):
        len(f)
    assert f


@pytest.mark.parametrize("kind", ["quotient", "counting", "bitmap"])
def test_keys_are_taken_out_again(kind):
    f = mh.Filter(1000, 0.001, kind=kind)
    f.update([1, 2, 3])
    f.discard(2)
    assert 2 not in f and 1 in f
    f.discard(99)
    with pytest.raises(KeyError):
        f.remove(99)
    f.remove(3)
    assert f.discard_many([1, 77]) == 1
    with pytest.raises(ValueError, match="cannot be removed"):
        mh.Filter(10).discard("a")


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_and_pickles_come_back(kind, tmp_path):
    f = mh.Filter(1000, 0.01, kind=kind, seed=7, meta={"source": "test"})
    f.update(["a", 1, b"\xff"])
    for again in [
        mh.Filter.from_bytes(bytes(f)),
        pickle.loads(pickle.dumps(f)),
        pickle.loads(pickle.dumps(f, protocol=2)),
    ]:
        assert again == f and "a" in again and 1 in again
        assert again.info()["meta"] == {"source": "test"} and again.info()["seed"] == 7
        again.add("more")
        assert again != f
    path = tmp_path / "f.may"
    f.save(path)
    opened = mh.open(path)
    assert opened == f and bytes(opened) == bytes(f) == path.read_bytes()
    assert pickle.loads(pickle.dumps(opened)) == f


def test_a_keyed_filter_goes_with_its_secret(tmp_path):
    f = mh.Filter(1000, secret=True)
    f.add("a")
    assert len(f.secret) == 16
    path = tmp_path / "f.may"
    f.save(path)
    with pytest.raises(ValueError, match="secret="):
        mh.open(path)
    assert "a" in mh.open(path, secret=f.secret)
    assert "a" in mh.open(path, secret=f.secret.hex())
    with pytest.raises(ValueError):
        mh.open(path, secret=bytes(16))
    (tmp_path / "f.may.key").write_text(f.secret.hex() + "\n")
    assert "a" in mh.open(path)
    again = pickle.loads(pickle.dumps(f))
    assert again == f and "a" in again
    assert f.copy() == f and "a" in f.copy()


def test_errors_of_files_are_pythons(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        mh.open(tmp_path / "none")
    assert str(raised.value.filename) == str(tmp_path / "none")
    with pytest.raises(OSError):
        mh.open(tmp_path)
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\x89MAY\r\n\x1a\n" + bytes(100))
    with pytest.raises(ValueError):
        mh.open(garbage)
    with pytest.raises(ValueError):
        mh.Filter.from_bytes(b"")
    f = mh.Filter(100)
    text = tmp_path / "notes.txt"
    text.write_text("not a filter")
    with pytest.raises(OSError, match="not a filter"):
        f.save(text)
    assert text.read_text() == "not a filter"
    f.save(tmp_path / "f")
    data = bytearray((tmp_path / "f").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "g").write_bytes(data)
    with pytest.raises(ValueError, match="g"):
        mh.open(tmp_path / "g")
    mh.open(tmp_path / "g", verify=False)


def test_what_makes_no_sense_is_refused():
    for make in [
        lambda: mh.Filter(-1),
        lambda: mh.Filter(10, 2.0),
        lambda: mh.Filter(10, kind="cuckoo"),
        lambda: mh.Filter(10, kind="ribbon"),
        lambda: mh.Filter(10, kind="blocked", window=60),
        lambda: mh.Filter(10, kind="classic", growth=2),
        lambda: mh.Filter(10, seed=1, secret=True),
        lambda: mh.Filter(10, secret=b"short"),
        lambda: mh.Filter(10, key_type="i63"),
        lambda: mh.Filter(10, memory="many"),
        lambda: mh.Filter(10, colour="red"),
        lambda: mh.Filter.from_bytes(b"x", format="gauva"),
    ]:
        with pytest.raises((ValueError, OverflowError, TypeError)):
            make()
    with pytest.raises(MemoryError):
        mh.Filter(2**47, 0.01)


def test_sizes_and_kinds_are_chosen_as_the_command_does(command, tmp_path):
    f = mh.Filter(memory="1MB", fpr=0.01)
    assert 900_000 < f.nbytes <= 1_000_000
    grows = mh.Filter()
    assert grows.kind == "scalable"
    assert mh.Filter(1000, window=3600).info()["window"]["milliseconds"] == 3_600_000
    assert mh.Filter(1000, shards=8).kind == "sharded"
    for kind in ["blocked", "classic", "quotient", "scalable"]:
        path = tmp_path / kind
        command("build", "-o", path, "-n", 5000, "-p", "0.1%", "--kind", kind, stdin="a\nb\n")
        f = mh.Filter(5000, 0.001, kind=kind)
        f.update(["a", "b"])
        assert f == mh.open(path)


def test_info_is_the_commands(command, tmp_path):
    f = mh.Filter(1000, 0.01)
    f.update(range(500))
    f.save(tmp_path / "f")
    theirs = json.loads(command("info", "--json", tmp_path / "f"))
    ours = mh.open(tmp_path / "f").info()
    assert ours == theirs
    assert repr(f).startswith("<pymayhap.Filter blocked: capacity=1000")


def test_a_window_of_time_forgets():
    f = mh.Filter(1000, 0.001, kind="windowed", window=0.2, generations=2)
    assert f.add("a") and not f.add("a")
    import time

    time.sleep(0.5)
    assert "a" not in f
    assert f.add_many(["a", "b"]).tolist() == [True, True]


def test_threads_ask_and_add_at_once():
    f = mh.Filter(400_000, 0.001)
    keys = np.arange(100_000)
    failed = []

    def work(part):
        try:
            mine = keys * 4 + part
            for chunk in np.array_split(mine, 20):
                f.update(chunk)
                if not f.contains_many(chunk).all():
                    failed.append(part)
                if not all(int(key) in f for key in chunk[:50]):
                    failed.append(part)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed
    alone = mh.Filter(400_000, 0.001)
    alone.update(np.arange(400_000))
    assert f.contains_many(np.arange(400_000)).all()
    assert abs(f.keys_added - alone.keys_added) < 1000


def test_merging_into_each_other_from_two_threads_ends():
    f, g = mh.Filter(10_000), mh.Filter(10_000)
    f.add("a"), g.add("b")

    def merge(this, that):
        for _ in range(200):
            this |= that
            this == that

    threads = [threading.Thread(target=merge, args=pair) for pair in [(f, g), (g, f)]]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not any(thread.is_alive() for thread in threads)
    assert "b" in f and "a" in g


@given(st.lists(st.tuples(st.sampled_from(["add", "discard", "in"]), st.integers(0, 30)), max_size=80))
@settings(max_examples=60, deadline=None)
def test_a_quotient_filter_is_a_multiset_that_may_err(steps):
    f, model = mh.Filter(64, 1e-9, kind="quotient"), {}
    for step, key in steps:
        if step == "add":
            f.add(key)
            model[key] = model.get(key, 0) + 1
        elif step == "discard":
            f.discard(key)
            model[key] = max(model.get(key, 0) - 1, 0)
        else:
            assert (key in f) == (model.get(key, 0) > 0)


def test_another_programs_filter_is_made_and_asked(command, tmp_path):
    f = mh.Filter(1000, 0.01, kind="guava")
    assert f.add("ada") and "ada" in f
    f.save(tmp_path / "g")
    assert command("check", "--format", "guava", tmp_path / "g", stdin="ada\neve\n") == "ada\n"
    again = mh.open(tmp_path / "g", format="guava")
    assert again.kind == "guava" and "ada" in again and "eve" not in again
    with pytest.raises(TypeError, match="integer 7 is no key"):
        7 in again
    numbers = mh.Filter(1000, 0.01, kind="guava", key_type="i64")
    numbers.update([7, -7])
    numbers.save(tmp_path / "n")
    args = ["--format", "guava", "--key-type", "i64", tmp_path / "n"]
    assert command("check", *args, stdin="7\n8\n-7\n") == "7\n-7\n"
    assert np.array([7, 8, -7]).tolist() == [7, 8, -7]
    opened = mh.open(tmp_path / "n", format="guava", key_type="i64")
    assert opened.contains_many(np.array([7, 8, -7])).tolist() == [True, False, True]


def test_filters_that_come_and_go_leave_nothing():
    import os
    import resource

    def used():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def come_and_go(times):
        for _ in range(times):
            f = mh.Filter(10_000)
            f.add("a")
            f.update(["b", 7])
            f.contains_many(["a", 2])
            bytes(f)

    come_and_go(500)
    before = used()
    come_and_go(1_000_000 if os.environ.get("MAYHAP_SOAK") else 3000)
    # 3000 of 12 kB each would be 36 MB.
    assert used() - before < 8 << 10, f"{used() - before} KiB"
