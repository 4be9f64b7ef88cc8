import { createHash } from "node:crypto";
import type { Blob, CheckpointRecord } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import pg from "pg";
import { freshDatabase } from "../../../test/servers/shared.ts";

/** So many patches lead to a head's value. */
const chain = 100;

let close: () => Promise<void>;
let client: pg.Client;
/** How often the last fork looked at a page. */
let pages: number;
let tier: ReturnType<typeof postgres>;

beforeAll(async () => {
  const database = await freshDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  tier = postgres({ pool: { query: explainedForks } });
  await tier.setup?.();
  close = async () => {
    await client.end();
    await database.drop();
  };
});
afterAll(() => close());

/** Every fork is explained first, and taken back: twice, as the first one reads catalogues and plans. */
async function explainedForks(query: { text: string; values?: unknown[] }): Promise<{ rows: unknown[] }> {
  const text = `explain (analyze, buffers, format json) ${query.text}`;
  for (let n = 0; n < 2 && query.text.includes("fork_1($1"); n += 1) {
    await client.query("begin");
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>({
      ...query,
      text,
    });
    await client.query("rollback");
    const { Plan } = rows[0]!["QUERY PLAN"][0];
    pages = Plan["Shared Hit Blocks"]! + Plan["Shared Read Blocks"]!;
  }
  return await client.query(query);
}

const idOf = (n: number): string => String(n).padStart(6, "0");
const hashOf = (n: number): string => createHash("sha1").update(String(n)).digest("hex");

/** A thread whose every checkpoint has a value of its own, a patch on the one before; each chain begins with a whole one. */
async function grow(threadId: string, checkpoints: number): Promise<void> {
  for (let from = 0; from < checkpoints; from += chain) {
    const numbers = Array.from({ length: chain }, (_, n) => from + n);
    const records = numbers.map((n): CheckpointRecord => ({
      threadId,
      namespace: "",
      checkpointId: idOf(n),
      parentId: n === 0 ? undefined : idOf(n - 1),
      tags: [1],
      blobs: [hashOf(n)],
      body: Buffer.alloc(200, "r"),
    }));
    const blobs = numbers.map((n): Blob => ({
      hash: hashOf(n),
      base: n % chain === 0 ? undefined : hashOf(n - 1),
      bytes: Buffer.alloc(400, "b"),
    }));
    const expected = from === 0 ? [] : [idOf(from - 1)];
    const heads = [{ namespace: "", to: idOf(from + chain - 1), expected }];
    await tier.append({ threadId, records, blobs, heads, onConflict: "refuse" });
  }
}

async function forkHead(sourceId: string, targetId: string, checkpoints: number): Promise<void> {
  const tip = { namespace: "", checkpointId: idOf(checkpoints - 1), writes: [], ancestors: 0 };
  const { revision } = await tier.outline(sourceId);
  const also = { records: [], blobs: [], heads: [] };
  const copied = await tier.forkThread({ sourceId, targetId, seen: revision, tips: [tip], also });
  expect(copied).toEqual({ checkpoints: 1, bytes: 200 + chain * 400 });
  expect(await tier.blobs(targetId)).toHaveLength(chain);
}

test.each(["new", "analysed", "analysed with many forks"] as const)(
  "what a fork costs the server is what goes along, however long the thread (%s)",
  async (state) => {
    const [short, long] = [`${state} short`, `${state} long`];
    await grow(short, chain);
    await grow(long, 10 * chain);
    if (state === "analysed with many forks")
      for (let n = 0; n < 100; n += 1) await tier.copyThread(short, `${state} ${n}`);
    if (state !== "new") await client.query("analyze");
    // Plans are kept per connection: what is measured is planned with what is known now.
    await client.query("discard plans");
    await forkHead(short, `${short} fork`, chain);
    const least = pages;
    await forkHead(long, `${long} fork`, 10 * chain);
    expect(pages).toBeLessThan(1.2 * least);
  },
);
