import type { ZstdModule } from "zstd-codec";

/** Starts a fresh instance of zstd-codec. Loaded on demand: importing this package stays cheap (loading takes 40 ms). */
export async function startZstdCodec(): Promise<ZstdModule> {
  const { ZstdCodec } = await import("./zstdCodec.ts");
  return await new Promise((resolve) => {
    ZstdCodec.run(resolve);
  });
}
