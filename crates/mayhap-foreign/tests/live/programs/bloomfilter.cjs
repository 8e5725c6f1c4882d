// make FILE KEYS M K, ask FILE KEYS K: with the bloomfilter package that BLOOMFILTER names. KEYS has
// one key a line; what is asked is answered with a 0 or 1 a key.

const fs = require("node:fs");

const [verb, file, keyFile, ...numbers] = process.argv.slice(2);
const keys = fs.readFileSync(keyFile, "utf8").replace(/\n$/, "").split("\n");

async function main() {
  const { BloomFilter } = await import(process.env.BLOOMFILTER);
  if (verb === "make") {
    const filter = new BloomFilter(Number(numbers[0]), Number(numbers[1]));
    keys.forEach((key) => filter.add(key));
    fs.writeFileSync(file, JSON.stringify([].slice.call(filter.buckets)));
    return;
  }
  const filter = new BloomFilter(JSON.parse(fs.readFileSync(file, "utf8")), Number(numbers[0]));
  console.log(keys.map((key) => (filter.test(key) ? "1" : "0")).join(""));
}

main();
