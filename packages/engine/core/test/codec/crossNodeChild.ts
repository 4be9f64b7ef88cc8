/**
 * Runs under any Node: `write <folder>` compresses the samples with everything this Node has, `read <folder>…`
 * decompresses what others wrote, `refuse` feeds hostile frames. Prints one line of JSON.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCodec, loadCodec } from "../../src/codec/codec.ts";
import { CodecError } from "../../src/codec/codecError.ts";
import { shippedDictionary } from "../../src/codec/dictionaries.ts";
import { honoursDictionary } from "../../src/codec/honoursDictionary.ts";
import { loadZstd } from "../../src/codec/loadZstd.ts";
import { nativeZlib } from "../../src/codec/nativeZlib.ts";
import { NativeZstd } from "../../src/codec/nativeZstd.ts";
import { WasmZstd } from "../../src/codec/wasmZstd.ts";
import type { Zstd } from "../../src/codec/zstd.ts";
import { hostileFrames } from "./hostileFrames.ts";
import { messageLike } from "./messageLike.ts";

/** What the parent reads. */
export interface ChildReport {
  readonly native: boolean;
  readonly nativeDictionary: boolean;
  readonly files: number;
  readonly failures: readonly string[];
}

const sizes = [0, 1, 40, 300, 5_000, 20_000, 64_000, 300_000, 1_048_576, 2_500_000];
const dictionaries = {
  none: undefined,
  shipped: shippedDictionary(1),
  own: messageLike(64 * 1024, 99),
} as const;
const kinds = Object.keys(dictionaries) as (keyof typeof dictionaries)[];

const contents = sizes.map((size, index) => messageLike(size, index));

const zlib = nativeZlib();
const nativeDictionary = zlib !== undefined && honoursDictionary(zlib);
const wasm = new WasmZstd();
await wasm.ready();
const native = zlib && new NativeZstd(zlib);
const all: readonly [string, Zstd][] = [
  ["wasm", wasm],
  ["chosen", await loadZstd()],
  ...(native ? [["native", native] as [string, Zstd]] : []),
];

function can(name: string, kind: keyof typeof dictionaries): boolean {
  return name !== "native" || kind === "none" || nativeDictionary;
}

function write(folder: string): number {
  let files = 0;
  for (const [index, content] of contents.entries()) {
    for (const [name, zstd] of all) {
      for (const kind of kinds) {
        if (!can(name, kind)) continue;
        writeFileSync(
          join(folder, `${index}.${kind}.${name}`),
          zstd.compress(content, 3, dictionaries[kind]),
        );
        files++;
      }
      writeFileSync(join(folder, `${index}.packed.${name}`), createCodec(zstd).pack(content));
      files++;
    }
  }
  return files;
}

function read(folder: string, failures: string[]): number {
  const names = readdirSync(folder);
  for (const file of names) {
    const [index, kind] = file.split(".") as [string, keyof typeof dictionaries | "packed"];
    const content = contents[Number(index)]!;
    const bytes = new Uint8Array(readFileSync(join(folder, file)));
    for (const [name, zstd] of all) {
      if (!can(name, kind === "packed" ? "shipped" : kind)) continue;
      try {
        const dictionary = kind === "packed" ? undefined : dictionaries[kind];
        const options = { maxSize: content.length, ...(dictionary && { dictionary }) };
        const found =
          kind === "packed"
            ? createCodec(zstd).unpack(bytes, content.length)
            : zstd.decompress(bytes, options);
        if (Buffer.compare(found, content) !== 0)
          failures.push(`${name} read other bytes from ${folder}/${file}`);
      } catch (error) {
        failures.push(`${name} could not read ${folder}/${file}: ${String(error)}`);
      }
    }
  }
  return names.length;
}

/** Hostile frames, then random flips in a real one; the codec must refuse, and work afterwards. */
async function refuse(failures: string[]): Promise<number> {
  const content = messageLike(60_000, 1);
  for (const [name, zstd] of all) {
    const attempt = (label: string, bytes: Uint8Array, wanted: readonly string[]): void => {
      let result = "nothing thrown";
      try {
        zstd.decompress(bytes, { maxSize: 2 ** 40 });
      } catch (error) {
        result = CodecError.is(error) ? error.reason : String(error);
      }
      if (!wanted.includes(result)) failures.push(`${name}, ${label}: ${result}`);
    };
    for (const [label, bytes, reason] of hostileFrames) attempt(label, bytes, [reason]);
    const valid = zstd.compress(content, 3);
    for (let length = 0; length < valid.length; length += 7)
      attempt(`cut at ${length}`, valid.subarray(0, length), ["corrupt"]);
    for (let i = 0; i < 2000; i++) {
      const bytes = Uint8Array.from(valid);
      const at = (i * 7919) % (i % 2 === 0 ? 90 : bytes.length);
      bytes[at] = bytes[at]! ^ (1 + ((i * 31) % 255));
      attempt(`byte ${at} changed`, bytes, ["corrupt", "too-large", "unsupported", "nothing thrown"]);
    }
  }
  const codec = await loadCodec();
  if (Buffer.compare(codec.unpack(codec.pack(content), content.length), content) !== 0)
    failures.push("broken afterwards");
  return hostileFrames.length;
}

const [mode, ...folders] = process.argv.slice(2);
const failures: string[] = [];
let files = 0;
if (mode === "write") files = write(folders[0]!);
else if (mode === "read") for (const folder of folders) files += read(folder, failures);
else files = await refuse(failures);
const report: ChildReport = { native: native !== undefined, nativeDictionary, files, failures };
process.stdout.write(JSON.stringify(report) + "\n");
