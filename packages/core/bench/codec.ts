/**
 * Prints µs per call and ratio of the codec, by WASM and, where this Node has it, by node:zlib.
 *
 *   npx tsx packages/core/bench/codec.ts
 *   <a Node 22 or 24 binary> --import tsx packages/core/bench/codec.ts
 */
import { createCodec } from "../src/codec/codec.ts";
import { nativeZlib } from "../src/codec/nativeZlib.ts";
import { NativeZstd } from "../src/codec/nativeZstd.ts";
import { WasmZstd } from "../src/codec/wasmZstd.ts";
import type { Zstd } from "../src/codec/zstd.ts";
import { messageLike } from "../test/codec/messageLike.ts";

const sizes = [
  ["300 B", 300],
  ["2 kB", 2_000],
  ["20 kB", 20_000],
  ["32 kB", 32_768],
  ["64 kB", 65_536],
  ["200 kB", 200_000],
  ["5 MB", 5_000_000],
] as const;

function microseconds(run: () => unknown): number {
  const rounds: number[] = [];
  for (let i = 0; i < 3; i++) run();
  const end = performance.now() + 400;
  while (rounds.length < 5 || performance.now() < end) {
    const start = performance.now();
    run();
    rounds.push(performance.now() - start);
  }
  rounds.sort((a, b) => a - b);
  return (rounds[rounds.length >> 1] ?? 0) * 1000;
}

function row(zstd: Zstd, name: string, size: number, dictionary: boolean): string {
  const codec = createCodec(zstd);
  const raw = messageLike(size, 7);
  const packed = codec.pack(raw, { dictionary });
  const pack = microseconds(() => codec.pack(raw, { dictionary }));
  const unpack = microseconds(() => codec.unpack(packed, raw.length));
  const cells = [
    zstd.name,
    name,
    dictionary ? "yes" : "no",
    packed.length,
    (raw.length / packed.length).toFixed(2),
  ];
  return `| ${[...cells, pack.toFixed(0), unpack.toFixed(0)].join(" | ")} |\n`;
}

const wasm = new WasmZstd();
await wasm.ready();
const zlib = nativeZlib();
const implementations: Zstd[] = zlib === undefined ? [wasm] : [wasm, new NativeZstd(zlib)];
process.stdout.write(`Node ${process.version}\n\n`);
process.stdout.write(
  "| zstd | input | dictionary | packed, B | ratio | pack, µs | unpack, µs |\n|---|---|---|---|---|---|---|\n",
);
for (const zstd of implementations) {
  for (const [name, size] of sizes) {
    for (const dictionary of size <= 32_768 ? [true, false] : [false])
      process.stdout.write(row(zstd, name, size, dictionary));
  }
}
