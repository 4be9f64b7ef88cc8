import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { moveThreads } from "@stratigraph/migrate";
import { ShardedTier } from "@stratigraph/postgres";
import { createCheckpointer, PostgresSaver, TieredSaver } from "stratigraph";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { loadConfig } from "../src/settings/loadConfig.ts";

let databases: FreshDatabase[];
beforeAll(async () => {
  databases = await Promise.all([freshDatabase(), freshDatabase(), freshDatabase()]);
});
afterAll(async () => {
  for (const database of databases) await database.drop();
});

test("a list of databases is one storage, alone, as the warm tier of a stack, and in a config file", async () => {
  const urls = databases.slice(0, 2).map(({ url }) => url);
  const alone = await createCheckpointer({ postgres: urls, schema: "alone", deleteAfter: "90d" });
  expect(alone).toBeInstanceOf(PostgresSaver);
  expect(alone.tier).toBeInstanceOf(ShardedTier);
  expect(alone.tier).toMatchObject({ shards: 2, schema: "alone" });
  await alone.end();
  const stack = await createCheckpointer({ hot: "memory:", warm: urls });
  expect(stack).toBeInstanceOf(TieredSaver);
  expect((await stack.listThreads()).threads).toEqual([]);
  await stack.end();

  const folder = mkdtempSync(join(tmpdir(), "stratigraph-shards-"));
  const file = join(folder, "stratigraph.config.json");
  writeFileSync(file, JSON.stringify({ checkpointer: { postgres: ["${SHARD_1}", "${SHARD_2}"] } }));
  [process.env["SHARD_1"], process.env["SHARD_2"]] = urls;
  try {
    const { checkpointer } = await loadConfig({ file });
    await using saver = await createCheckpointer(checkpointer);
    expect(saver.tier).toMatchObject({ shards: 2, schema: "stratigraph" });
  } finally {
    delete process.env["SHARD_1"];
    delete process.env["SHARD_2"];
    rmSync(folder, { recursive: true });
  }
});

test("threads move from two databases to three, are forked across them, and go on", async () => {
  const urls = databases.map(({ url }) => url);
  await using two = await createCheckpointer({ postgres: urls.slice(0, 2), schema: "two" });
  await using three = await createCheckpointer({ postgres: urls, schema: "three" });
  const ids = Array.from({ length: 9 }, (_, n) => `thread ${n}`);
  for (const id of ids) await counting(two).invoke({ count: 0 }, { configurable: { thread_id: id } });
  const report = await moveThreads(two, three);
  expect(report).toMatchObject({ threads: 9, differences: [], verified: true });
  const tier = three.tier as ShardedTier;
  expect(new Set(ids.map((id) => tier.shardOf(id)))).toEqual(new Set([0, 1, 2]));
  for (const id of ids) {
    const to = ids
      .map((other) => `fork of ${id} like ${other}`)
      .find((name) => tier.shardOf(name) !== tier.shardOf(id))!;
    const { config } = await fork(three, id, { to });
    for (const at of [config, { configurable: { thread_id: id } }])
      expect(await counting(three).invoke({ count: 1 }, at)).toEqual({ count: 3 });
  }
  expect((await three.listThreads()).threads).toHaveLength(18);
  for (const id of ids) await three.deleteThread(id);
  expect((await three.listThreads()).threads).toHaveLength(9);
});

/** A graph that counts its steps. */
function counting(checkpointer: TierSaver) {
  const State = Annotation.Root({
    count: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  });
  return new StateGraph(State)
    .addNode("step", () => ({ count: 1 }))
    .addEdge(START, "step")
    .compile({ checkpointer });
}
