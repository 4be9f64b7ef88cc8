import type { ZstdModule } from "zstd-codec";

/** Starts a fresh instance of zstd-codec. Loaded on demand: a Node with native zstd never pays for it. */
export async function startZstdCodec(): Promise<ZstdModule> {
  const { ZstdCodec } = await import("zstd-codec");
  return await new Promise((resolve) => {
    ZstdCodec.run(resolve);
  });
}
