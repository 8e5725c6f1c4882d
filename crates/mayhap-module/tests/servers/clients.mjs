// What programs do with `client.bf`, through an unmodified node-redis: its path, protocol, port.
import assert from "node:assert";
import { createRequire } from "node:module";

const [path, protocol, port] = process.argv.slice(2);
const { createClient, commandOptions, RESP_TYPES } = createRequire(import.meta.url)(path);
const client = createClient({ socket: { host: "127.0.0.1", port: Number(port) }, RESP: Number(protocol) });
await client.connect();
await client.flushAll();
const bf = client.bf;

assert.equal(await bf.reserve("k", 0.01, 1000, { EXPANSION: 8 }), "OK");
assert.equal(await bf.add("k", "a"), true);
assert.equal(await bf.add("k", "a"), false);
assert.deepEqual(await bf.mAdd("k", ["a", "b"]), [false, true]);
assert.deepEqual(await bf.insert("new", ["x", "y"], { CAPACITY: 500, ERROR: 0.001 }), [true, true]);
assert.equal(await bf.exists("k", "a"), true);
assert.deepEqual(await bf.mExists("k", ["a", "x"]), [true, false]);
assert.equal(await bf.card("k"), 2);
const info = await bf.info("k");
assert.equal(info.Capacity ?? info.capacity, 1000);
assert.equal(info["Expansion rate"] ?? info.expansionRate, 8);

const raw = client.withTypeMapping?.({ [RESP_TYPES.BLOB_STRING]: Buffer });
if (raw) {
  let iterator = 0;
  const chunks = [];
  for (;;) {
    const got = await raw.bf.scanDump("k", iterator);
    iterator = got.iterator;
    if (iterator === 0) break;
    chunks.push(got);
  }
  for (const { iterator, chunk } of chunks) await client.bf.loadChunk("copy", iterator, chunk);
  assert.deepEqual(await bf.mExists("copy", ["a", "b", "x"]), [true, true, false]);
}
await client.close?.();
