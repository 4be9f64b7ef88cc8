import { loadavg } from "node:os";
import { query } from "../../servers/postgres.ts";
import { bytes, ms, ratio } from "../format.ts";
import type { StoreCallsInput, StoreCallsResult, StoreId } from "../jobs/storeCalls.ts";
import type { BenchContext, Table } from "../types.ts";

export const name = "store";
export const order = 75;
export const needsPostgresSaver = true;

type Results = Record<StoreId, StoreCallsResult>;

/** Our store on PostgreSQL beside LangGraph's PostgresStore on the same server, with InMemoryStore as the floor. */
export async function run(context: BenchContext): Promise<Table[]> {
  const sizes = context.options.quick ? [1000] : [1000, 1_000_000];
  const tables: Table[] = [];
  for (const items of sizes) {
    const url = new URL(context.postgresUrl);
    url.pathname = `/store_${items}`;
    await query(context.postgresUrl, `create database store_${items}`);
    const measured = async (...stores: readonly StoreId[]): Promise<Partial<Results>> =>
      await context.inChild(new URL("../jobs/storeCalls.ts", import.meta.url), {
        url: url.href,
        schema: "store",
        stores,
        items,
        calls: context.options.quick ? 50 : 200,
        scans: context.options.quick ? 2 : 15,
      } satisfies StoreCallsInput);
    const results = { ...(await measured("ours", "official")), ...(await measured("memory")) } as Results;
    tables.push(table(items, results));
    for (const [figure, call] of [
      ["get", "get"],
      ["put", "put, a new item"],
    ] as const)
      context.figures.set(`store.${items}.${figure}`, results.ours.calls[call]!.p50);
  }
  return tables;
}

function table(items: number, { ours, official, memory }: Results): Table {
  const rows = Object.keys(ours.calls).map((name) => {
    const [our, their, floor] = [ours, official, memory].map(({ calls }) => calls[name]!);
    return [
      name,
      `${ms(our!.p50)} / ${ms(our!.p99)}`,
      `${ms(their!.p50)} / ${ms(their!.p99)}`,
      ratio(our!.p50, their!.p50),
      `${our!.statements} / ${their!.statements}`,
      ms(floor!.p50),
    ];
  });
  return {
    title: `Stores with ${items} items: p50 / p99 of calls`,
    columns: ["", "ours", "PostgresStore", "ours is", "statements", "InMemoryStore"],
    rows: [
      ...rows,
      [
        "stored, per item",
        bytes(ours.bytesPerItem),
        bytes(official.bytesPerItem),
        ratio(ours.bytesPerItem, official.bytesPerItem),
        "",
        "",
      ],
      [
        "filled in batches of 1,000, per item",
        ms(ours.fillMs),
        ms(official.fillMs),
        ratio(ours.fillMs, official.fillMs),
        "",
        ms(memory.fillMs),
      ],
    ],
    notes: [
      "100 items in each namespace. Both stores are on one server and called in turns by one process. Statements are those of ours and of " +
        "PostgresStore, transactions' begin and commit included.",
      `Filled with synchronous_commit off. Load average ${loadavg()[0]!.toFixed(1)} at the end.`,
    ],
  };
}
