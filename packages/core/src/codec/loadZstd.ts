import { honoursDictionary } from "./honoursDictionary.ts";
import { MixedZstd } from "./mixedZstd.ts";
import { nativeZlib } from "./nativeZlib.ts";
import { NativeZstd } from "./nativeZstd.ts";
import { WasmZstd } from "./wasmZstd.ts";
import type { Zstd } from "./zstd.ts";

/** One per process: each has a heap of 16 MiB. */
const wasm = new WasmZstd();
let chosen: Zstd | undefined;

/**
 * The process's Zstandard, started at the first call. Calls of the result are synchronous; the result is cheap
 * to ask for again, and asking again is what waits for a restart after CodecError `unavailable`.
 *
 * WASM; together with node:zlib for large inputs, where this Node's has zstd.
 */
export async function loadZstd(): Promise<Zstd> {
  await wasm.ready();
  return (chosen ??= choose());
}

/** The same without waiting; undefined before it was started, and while it starts anew. */
export function runningZstd(): Zstd | undefined {
  return wasm.isRunning ? (chosen ??= choose()) : undefined;
}

function choose(): Zstd {
  const zlib = nativeZlib();
  return zlib === undefined ? wasm : new MixedZstd(new NativeZstd(zlib), wasm, honoursDictionary(zlib));
}
