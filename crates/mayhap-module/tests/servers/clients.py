"""What programs do with `r.bf()`, through an unmodified client: library, protocol, port."""

import importlib
import sys

library, protocol, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
module = importlib.import_module(library)
connect = module.Redis if library == "redis" else module.Valkey
r = connect(host="127.0.0.1", port=port, protocol=protocol)
r.flushall()
bf = r.bf()

assert bf.create("k", 0.01, 1000)
assert bf.create("fixed", 0.01, 1000, noScale=True)
assert bf.create("grows", 0.01, 1000, expansion=8)
assert bf.add("k", "a") == 1
assert bf.add("k", "a") == 0
assert bf.madd("k", "a", "b") == [0, 1]
assert bf.insert("new", ["x", "y"], capacity=500, error=0.001) == [1, 1]
assert bf.insert("new", ["x", "z"], noCreate=True) == [0, 1]
assert bf.exists("k", "a") == 1
assert bf.exists("k", "x") == 0
assert bf.mexists("k", "a", "x") == [1, 0]
assert bf.card("k") == 2
try:
    bf.create("k", 0.01, 1000)
    raise SystemExit("created twice")
except module.ResponseError as error:
    assert "item exists" in str(error)


def field(info, name, short):
    if not isinstance(info, dict):
        return info.get(short)
    return info[name] if name in info else info[name.encode()]


for key, rate in (("k", 4), ("grows", 8), ("fixed", None)):
    info = bf.info(key)
    assert field(info, "Capacity", "capacity") == 1000, info
    assert field(info, "Expansion rate", "expansionRate") == rate, info
    assert field(info, "Number of filters", "filterNum") == 1, info
assert field(bf.info("k"), "Number of items inserted", "insertedNum") == 2

for item in range(5000):
    bf.add("k", item)
iterator, chunks = 0, []
while True:
    iterator, chunk = bf.scandump("k", iterator)
    if iterator == 0:
        break
    chunks.append((iterator, chunk))
for iterator, chunk in chunks:
    assert bf.loadchunk("copy", iterator, chunk)
assert bf.card("copy") == bf.card("k")
assert all(bf.mexists("copy", *range(5000)))

pipe = r.pipeline(transaction=False)
pipe.execute_command("BF.ADD", "p", "1")
pipe.execute_command("BF.EXISTS", "p", "1")
assert pipe.execute() == [1, 1]

# `r.cf()`, where the library has it.
if hasattr(r, "cf"):
    cf = r.cf()
    assert cf.create("cuckoo", 1000)
    assert cf.create("tuned", 1000, expansion=1, bucket_size=4, max_iterations=10)
    assert cf.add("cuckoo", "a") == 1
    assert cf.addnx("cuckoo", "a") == 0
    assert cf.addnx("cuckoo", "b") == 1
    assert cf.insert("new-cuckoo", ["x", "y"], capacity=500) == [1, 1]
    assert cf.insertnx("new-cuckoo", ["x", "z"], nocreate=True) == [0, 1]
    assert cf.exists("cuckoo", "a") == 1
    assert cf.mexists("cuckoo", "a", "nobody") == [1, 0]
    assert cf.count("cuckoo", "a") == 1
    assert cf.delete("cuckoo", "a") == 1
    assert cf.delete("cuckoo", "a") == 0
    info = cf.info("tuned")
    assert field(info, "Bucket size", "bucketSize") == 4, info
    assert field(info, "Max iterations", "maxIteration") == 10, info
    assert field(info, "Number of items inserted", "insertedNum") == 0, info
    for item in range(3000):
        cf.add("cuckoo", item)
    iterator, chunks = 0, []
    while True:
        iterator, chunk = cf.scandump("cuckoo", iterator)
        if iterator == 0:
            break
        chunks.append((iterator, chunk))
    for iterator, chunk in chunks:
        assert cf.loadchunk("cuckoo-copy", iterator, chunk)
    assert all(cf.mexists("cuckoo-copy", *range(3000)))
    assert cf.count("cuckoo-copy", "b") >= 1
    # Its secret is random, so any one absent item may be a false positive; a tenth of them may not.
    assert sum(cf.mexists("cuckoo-copy", *[f"absent {n}" for n in range(1000)])) < 100
