import { postgres, PostgresSaver, type ShardedTier } from "@stratigraph/postgres";
import { expect, onTestFinished, test } from "vitest";
import { query } from "../../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { chat, human, on } from "../../../../features/branch/test/support/graphs.ts";
import { ran } from "./support/ran.ts";

test("operations on threads that are spread over two databases", async () => {
  const databases = await Promise.all([freshDatabase(), freshDatabase()]);
  const saver = new PostgresSaver(postgres({ shards: databases.map(({ url }) => url) }));
  onTestFinished(async () => {
    await saver.end();
    for (const database of databases) await database.drop();
  });
  const before = await ran("doctor", {}, saver);
  expect(before.text).toContain("isn't shard 2 of 2 yet");
  expect((await ran("setup", {}, saver)).text).toBe("postgres (warm) is set up.");
  const ids = Array.from({ length: 6 }, (_, n) => `thread ${n}`);
  for (const id of ids) await chat(saver).invoke({ messages: [human(id.repeat(50))] }, on(id));
  const tier = saver.tier as ShardedTier;
  expect(new Set(ids.map((id) => tier.shardOf(id))).size).toBe(2);

  expect((await ran("doctor", {}, saver)).text).toContain("It is shard 2 of 2.");
  for (const id of ids) expect((await ran("threads", {}, saver)).text).toContain(id);
  const whole = await ran("verify", {}, saver);
  expect(whole.output).toMatchObject({ complete: true, totals: { threads: 6 }, findings: [] });

  // A database that was restored without its newest rows, and one that has rows of a thread that isn't there any more.
  const damaged = ids.find((id) => tier.shardOf(id) === 1)!;
  await query(
    databases[1]!.url,
    "delete from stratigraph.blobs where thread = (select thread from stratigraph.threads where key = stratigraph.id_key($1))",
    [damaged],
  );
  await query(databases[0]!.url, "insert into stratigraph.heads values (900, '', 'x')");
  const found = await ran("verify", {}, saver);
  expect(found.text).toContain(damaged);
  expect(found.text).toContain("1 lost-thread");
});
