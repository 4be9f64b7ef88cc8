import { loadavg } from "node:os";
import { startRedis } from "../../servers/redis.ts";
import { bytes, ms } from "../format.ts";
import type { StoreCallsInput, StoreCallsResult } from "../jobs/storeCalls.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "storeRedis";
export const order = 76;

/** A store on Redis: the calls of the section "store". */
export async function run(context: BenchContext): Promise<Table> {
  const sizes = context.options.quick ? [1000] : [1000, 100_000];
  const results: { readonly result: StoreCallsResult; readonly bytesPerItem: number }[] = [];
  for (const items of sizes) {
    const server = await startRedis({ appendonly: true, extraArgs: ["--maxmemory-policy", "noeviction"] });
    const used = async (): Promise<number> =>
      Number(/used_memory:(\d+)/.exec(String(await server.command("info", "memory")))?.[1]);
    try {
      const before = await used();
      const { redis } = await context.inChild<{ redis: StoreCallsResult }>(
        new URL("../jobs/storeCalls.ts", import.meta.url),
        {
          url: server.url,
          schema: "store",
          stores: ["redis"],
          items,
          calls: context.options.quick ? 50 : 200,
          scans: context.options.quick ? 2 : 15,
        } satisfies StoreCallsInput,
      );
      results.push({ result: redis, bytesPerItem: ((await used()) - before) / items });
    } finally {
      await server.stop();
    }
  }
  const names = Object.keys(results[0]!.result.calls);
  return {
    title: "A store on Redis: p50 / p99 of calls",
    columns: ["", ...sizes.map((items) => `${items} items`)],
    rows: [
      ...names.map((call) => [
        call,
        ...results.map(({ result }) => `${ms(result.calls[call]!.p50)} / ${ms(result.calls[call]!.p99)}`),
      ]),
      ["memory of the server, per item", ...results.map(({ bytesPerItem }) => bytes(bytesPerItem))],
      ["filled in batches of 1,000, per item", ...results.map(({ result }) => ms(result.fillMs))],
    ],
    notes: [
      `100 items in each namespace, appendonly on. Load average ${loadavg()[0]!.toFixed(1)} at the end.`,
    ],
  };
}
