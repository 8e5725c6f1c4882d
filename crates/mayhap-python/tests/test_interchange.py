"""A key added here is found by the command and by Redis, and the reverse: through the real programs."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import pymayhap as mh

KINDS = ["blocked", "classic", "scalable", "quotient", "counting"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_and_python_write_the_same_bytes(kind, command, tmp_path):
    keys = [f"key {i}" for i in range(5000)]
    text = "".join(key + "\n" for key in keys)
    command("build", "-o", tmp_path / "theirs", "--kind", kind, "-n", 5000, "-p", "1%", stdin=text)
    ours = mh.build(tmp_path / "ours", keys, kind=kind, fpr=0.01, capacity=5000)
    theirs = mh.open(tmp_path / "theirs")
    assert ours == theirs
    command("check", tmp_path / "ours", stdin=text)
    assert command("check", tmp_path / "ours", stdin="nobody at all\n", code=1) == ""
    assert theirs.contains_many(keys).all()
    command("add", tmp_path / "ours", stdin="added\n")
    assert "added" in mh.open(tmp_path / "ours") and "added" not in theirs


@pytest.mark.parametrize("kind", ["ribbon", "fuse"])
def test_static_kinds(kind, command, tmp_path):
    keys = [f"key {i}" for i in range(20_000)]
    text = "".join(key + "\n" for key in keys)
    command("build", "-o", tmp_path / "theirs", "--kind", kind, "-p", "0.1%", stdin=text)
    for given in [keys, iter(keys), keys + keys[:100]]:
        ours = mh.build(tmp_path / "ours", given, kind=kind, fpr=0.001)
        assert ours.contains_many(keys).all()
        assert sum(f"other {i}" in ours for i in range(10_000)) < 40
    assert mh.build(None, keys, kind=kind, fpr=0.001, capacity=20_000).contains_many(keys).all()
    assert mh.open(tmp_path / "theirs").contains_many(keys).all()
    command("check", tmp_path / "ours", stdin=text)
    with pytest.raises(ValueError, match=kind):
        ours.add("more")
    with pytest.raises(FileExistsError):
        mh.build(tmp_path / "ours", keys, kind=kind, overwrite=False)


def test_integers_are_the_commands(command, tmp_path):
    numbers = [0, 1, -1, 2**63 - 1, -(2**63), 123456789]
    text = "".join(f"{number}\n" for number in numbers)
    command("build", "-o", tmp_path / "f", "--key-type", "i64", "-n", 1000, stdin=text)
    f = mh.open(tmp_path / "f")
    assert all(number in f for number in numbers) and 2 not in f
    assert "123456789" in f  # text is read as the file says
    with pytest.raises(ValueError, match="integers of 64 bits"):
        "ada" in f
    ours = mh.Filter(1000, 0.01, key_type="i64")
    ours.update(numbers)
    assert ours == f
    ours.save(tmp_path / "g")
    assert command("check", tmp_path / "g", stdin="-1\n2\n") == "-1\n"


def test_a_cascade_is_exact(command, tmp_path):
    include = [f"in {i}" for i in range(2000)]
    exclude = [f"out {i}" for i in range(20_000)]
    f = mh.Cascade.build(include, iter(exclude), fpr=0.01, path=tmp_path / "c")
    assert f.kind == "cascade"
    assert f.contains_many(include).all() and not f.contains_many(exclude).any()
    assert command("check", tmp_path / "c", stdin="in 7\nout 7\n") == "in 7\n"
    with pytest.raises(ValueError, match="both lists"):
        mh.Cascade.build(["a", "b"], ["b"])
    assert "b" in mh.Cascade.build(["a", "b"], ["b"], on_conflict="include")


def test_dedup_goes_on_where_the_command_stopped(command, tmp_path):
    for exact in [False, True]:
        state = tmp_path / f"state-{exact}"
        flags = ["--exact"] if exact else []
        assert command("dedup", "--state", state, *flags, stdin="ada\neve\nada\n") == "ada\neve\n"
        assert list(mh.dedup(["eve", "bob", "bob"], state=state, exact=exact)) == ["bob"]
        assert command("dedup", "--state", state, *flags, stdin="bob\nzoe\n") == "zoe\n"
        with pytest.raises(ValueError, match="exact"):
            mh.dedup([], state=state, exact=not exact)
        fresh = tmp_path / f"fresh-{exact}"
        lines = mh.dedup(["a", "b", "c"], state=fresh, exact=exact)
        assert next(lines) == "a"
        lines.close()
        assert command("dedup", "--state", fresh, *flags, stdin="a\nb\n") == "b\n"
    assert list(mh.dedup(range(5), window=2)) == list(range(5))


def test_a_plan_is_the_commands(command):
    import json

    theirs = json.loads(command("plan", "-n", "10M", "-p", "1%", "--json"))
    plan = mh.plan(keys=10_000_000, fpr=0.01)
    assert str(plan.bytes) in json.dumps(theirs)
    assert "blocked" in repr(plan) and "<svg" in plan._repr_html_() and "<table>" in plan._repr_html_()
    assert mh.plan(keys=2_000_000_000, memory="500MB").fpr > 0.3
    assert mh.plan(memory="1GB").keys > 700_000_000
    with pytest.raises(TypeError):
        mh.plan()
    with pytest.raises(TypeError):
        mh.plan(1, 0.1, 10)
    with pytest.raises(ValueError):
        mh.plan(10, kind="bitmap")


def test_seen_lists_are_the_commands(command, tmp_path):
    store = tmp_path / "feed.seen"
    with mh.Seen(store, policy="ids=200") as seen:
        assert seen.mark("u", ["a", b"b"]) == 2
        assert seen.unseen("u", ["a", "c", "c", b"b", b"d"]) == ["c", "c", b"d"]
        assert seen.mark_unseen("u", ["c", "a", "c"]) == ["c"]
        offered = seen.offer("u", ["e", "f"], ttl=30)
        assert offered == ["e", "f"] and seen.explain("u", "e")["offered"]
        assert seen.confirm("u", ["e"]) == 1
        assert seen.explain("u", "e")["seen"] and not seen.explain("u", "zzz")["seen"]
        assert "ids=200" in seen.policy and seen.stats()["owners"] == 1
        with pytest.raises(TypeError, match="int"):
            seen.mark("u", [7])
        with pytest.raises(TypeError, match="a list of ids"):
            seen.mark("u", "a")
    with pytest.raises(ValueError, match="closed"):
        seen.mark("u", ["x"])
    assert command("seen", "unseen", "--store", store, "u", "a", "x") == "x\n"
    command("seen", "mark", "--store", store, "u", "x")
    seen = mh.Seen(store)
    assert seen.unseen("u", ["x", "y"]) == ["y"]
    assert seen.forget("u") and not seen.forget("u")
    with pytest.raises((ConnectionError, ValueError)):
        mh.Seen("redis://127.0.0.1:1/0?timeout=1").mark("u", ["a"])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A Redis with the module that was built beside the extension."""
    program, module = shutil.which("redis-server"), os.environ.get("MAYHAP_MODULE")
    if not program or not module or not os.path.exists(module):
        pytest.skip("no redis-server, or no module")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    args = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    process = subprocess.Popen([program, *args, "--loadmodule", module], stdout=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        if process.poll() is not None:
            pytest.skip("redis-server does not load the module")
        time.sleep(0.05)
    yield port
    process.terminate()
    process.wait()


def ask(port, *words):
    """One command, its reply as text."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        connection.sendall(request)
        return connection.makefile("rb").readline().decode().strip()


def test_redis_finds_the_keys_and_gives_them_back(server, command, tmp_path):
    url = f"redis://127.0.0.1:{server}"
    f = mh.Filter(1000, 0.001)
    f.update(["ada", 7, b"\xff"])
    f.save(tmp_path / "f")
    command("redis", "load", url, "f", tmp_path / "f")
    assert ask(server, "BF.EXISTS", "f", "ada") == ":1"
    assert ask(server, "BF.EXISTS", "f", (7).to_bytes(8, "little")) == ":1"
    assert ask(server, "BF.EXISTS", "f", b"\xff") == ":1"
    assert ask(server, "BF.EXISTS", "f", "eve") == ":0"
    assert ask(server, "BF.ADD", "f", "eve") == ":1"
    command("redis", "save", url, "f", tmp_path / "g")
    g = mh.open(tmp_path / "g")
    assert "eve" in g and "ada" in g and 7 in g and "bob" not in g
    seen = mh.Seen(f"{url}/0")
    assert seen.mark_unseen("user", ["a", "b"]) == ["a", "b"]
    assert mh.Seen(f"{url}/0").unseen("user", ["a", "c"]) == ["c"]


def test_ctrl_c_is_answered_within_a_second(tmp_path):
    program = (
        "import sys, numpy as np, pymayhap as mh\n"
        "keys = np.arange(30_000_000)\n"
        "print('go', flush=True)\n"
        "mh.build(sys.argv[1], keys, kind='ribbon', fpr=1e-6)\n"
        "print('done', flush=True)\n"
    )
    path = tmp_path / "large"
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout.readline() == b"go\n"
    time.sleep(random.uniform(0.5, 1.5))
    child.send_signal(signal.SIGINT)
    out, error = child.communicate()
    assert b"KeyboardInterrupt" in error and b"done" not in out
    assert not path.exists()


def test_import_brings_no_numpy():
    program = "import sys, pymayhap as mh; f = mh.Filter(10); f.add(1); f.update(['a']); 1 in f; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert out.stdout == b"False\n"


def test_other_threads_run_meanwhile():
    import threading

    import numpy as np

    f, ticks, stop = mh.Filter(20_000_000, 0.01), [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    keys = np.arange(20_000_000)
    thread.start()
    before = len(ticks)
    f.update(keys)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during >= 3


def test_asyncio_goes_on():
    import asyncio

    import numpy as np

    async def main():
        f = mh.Filter(1_000_000)
        await asyncio.gather(*(asyncio.to_thread(f.update, np.arange(i, 1_000_000, 4)) for i in range(4)))
        return f

    assert asyncio.run(main()).contains_many(np.arange(1_000_000)).all()
