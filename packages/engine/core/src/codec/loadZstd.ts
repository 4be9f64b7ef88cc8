import { honoursDictionary } from "./honoursDictionary.ts";
import { MixedZstd } from "./mixedZstd.ts";
import { nativeZlib } from "./nativeZlib.ts";
import { NativeZstd } from "./nativeZstd.ts";
import { WasmZstd } from "./wasmZstd.ts";
import type { Zstd } from "./zstd.ts";

/** There is one instance per process, because each has a heap of 16 MiB. */
const wasm = new WasmZstd();
let chosen: Zstd | undefined;

/**
 * The Zstandard of this process, which the first call starts. Its own methods are synchronous. After a CodecError `unavailable`,
 * call this again: it waits for the restart.
 *
 * It is zstd-codec (WASM), together with node:zlib for large inputs where this Node's zlib has zstd.
 */
export async function loadZstd(): Promise<Zstd> {
  await wasm.ready();
  return (chosen ??= choose());
}

/** As {@link loadZstd}, without a promise; undefined before it was started and while it restarts. */
export function runningZstd(): Zstd | undefined {
  return wasm.isRunning ? (chosen ??= choose()) : undefined;
}

/** Starts what {@link loadZstd} waits for. A failure is reported by the call that waits. */
export function startZstd(): void {
  void wasm.ready().catch(() => undefined);
}

function choose(): Zstd {
  const zlib = nativeZlib();
  return zlib === undefined ? wasm : new MixedZstd(new NativeZstd(zlib), wasm, honoursDictionary(zlib));
}
