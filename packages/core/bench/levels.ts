/**
 * What zstd's levels make of the literals of recorded conversations' patches, with the shipped dictionary:
 * `npx tsx packages/core/bench/levels.ts`. Mean bytes of a literal, and microseconds for compressing it.
 */
import { CURRENT_DICTIONARY, shippedDictionary } from "../src/codec/dictionaries.ts";
import { diff } from "../src/patch/index.ts";
import { StratigraphSerializer } from "../src/serde/index.ts";
import { recordedMessages } from "./recorded.ts";
import { openCompression } from "./zstd.ts";

const RUNS = 5;

const serde = new StratigraphSerializer();
const literals: Uint8Array[] = [];
for (const messages of recordedMessages() ?? []) {
  let before: Uint8Array = new Uint8Array(0);
  for (const [last] of messages.entries()) {
    const [, state] = serde.dumps(messages.slice(0, last + 1));
    literals.push(diff(before, state).literals);
    before = state;
  }
}

for (const [name, shortest, longest] of [
  ["all", 1, 32 * 1024],
  ["up to 600 bytes", 1, 600],
  ["longer", 601, 32 * 1024],
] as const) {
  const some = literals.filter(({ length }) => length >= shortest && length <= longest);
  if (some.length === 0) continue;
  console.log(`${name}: ${some.length} of ${mean(some)} bytes`);
  for (const level of [1, 3, 4, 5, 6, 7]) {
    const compress = openCompression(shippedDictionary(CURRENT_DICTIONARY), level);
    const frames = some.map(compress);
    const start = performance.now();
    for (let run = 0; run < RUNS; run += 1) for (const each of some) compress(each);
    const us = ((performance.now() - start) * 1000) / RUNS / some.length;
    compress.close();
    console.log(`  level ${level}: ${mean(frames)} bytes, ${us.toFixed(0)} µs`);
  }
}

function mean(all: readonly Uint8Array[]): string {
  return (all.reduce((sum, { length }) => sum + length, 0) / all.length).toFixed(1);
}
