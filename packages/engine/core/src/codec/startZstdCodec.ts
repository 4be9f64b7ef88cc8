import type { ZstdBinding } from "zstd-codec/lib/module.js";

/**
 * A running instance. It is wrapped in an object, because emscripten gives it a `then` method that a promise would call for ever.
 */
export interface Started {
  readonly binding: ZstdBinding;
}

/** Starts a new instance of zstd-codec. It is imported on demand, because loading it takes 40 ms. */
export async function startZstdCodec(): Promise<Started> {
  const { run } = await import("./zstdCodec.ts");
  return await new Promise((resolve) => {
    run((binding) => resolve({ binding }));
  });
}
