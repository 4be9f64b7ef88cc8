import type { ZstdBinding } from "zstd-codec/lib/module.js";

/** A running instance; in an object, as emscripten gives it a `then` that promises would call for ever. */
export interface Started {
  readonly binding: ZstdBinding;
}

/** Starts a fresh instance of zstd-codec. Loaded on demand: importing this package stays cheap (loading takes 40 ms). */
export async function startZstdCodec(): Promise<Started> {
  const { run } = await import("./zstdCodec.ts");
  return await new Promise((resolve) => {
    run((binding) => resolve({ binding }));
  });
}
