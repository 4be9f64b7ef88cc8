import { honoursDictionary } from "./honoursDictionary.ts";
import { nativeZlib } from "./nativeZlib.ts";
import { NativeZstd } from "./NativeZstd.ts";
import { WasmZstd } from "./WasmZstd.ts";
import type { Zstd } from "./zstd.ts";

let shared: WasmZstd | undefined;
let native: Promise<Zstd | undefined> | undefined;

/**
 * The process's Zstandard, started at the first call. Calls of the result are synchronous.
 *
 * Native where node:zlib has zstd; where that ignores dictionaries (Node 22.15 to 22.18, 24.0 to 24.5), calls with one go
 * to WASM. WASM on Node 20.
 *
 * @param use `"wasm"` to pass node:zlib by
 */
export async function loadZstd(use: "auto" | "wasm" = "auto"): Promise<Zstd> {
  if (use === "auto") {
    native ??= loadNative();
    const found = await native;
    if (found !== undefined) return found;
  }
  return await loadWasm();
}

async function loadNative(): Promise<Zstd | undefined> {
  const zlib = nativeZlib();
  if (zlib === undefined) return undefined;
  return honoursDictionary(zlib) ? new NativeZstd(zlib) : new NativeZstd(zlib, await loadWasm());
}

async function loadWasm(): Promise<Zstd> {
  shared ??= new WasmZstd();
  await shared.ready();
  return shared;
}
