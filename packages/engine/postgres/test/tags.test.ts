import type { CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { TierSaver } from "@stratigraph/core";
import { postgres, PostgresSaver } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { checkpointOf } from "./support/checkpoints.ts";
import { countedPool, type CountedPool } from "./support/countedPool.ts";
import { threeNodes } from "./support/threeNodes.ts";

// How many statements tags and filters of threads cost, and what they store.

let database: Awaited<ReturnType<typeof freshDatabase>>;
let counted: CountedPool;

beforeAll(async () => {
  database = await freshDatabase();
  counted = countedPool({ connectionString: database.url, max: 4 });
  await new PostgresSaver({ pool: counted.pool }).setup();
});

afterAll(async () => {
  await counted.pool.end();
  await database.drop();
});

async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  counted.reset();
  await work();
  return counted.sent.length;
}

test("a put costs one statement more, once per thread and process", async () => {
  const open = () => new PostgresSaver({ pool: counted.pool, threadTags: ["user_id"] });
  const saver = open();
  const config = { configurable: { thread_id: "counted", user_id: "anna" } };
  const run = (by: PostgresSaver) =>
    statementsOf(() => threeNodes(by).invoke({ last: "x" }, { ...config, durability: "sync" }));
  const first = await run(saver);
  const second = await run(saver);
  expect(counted.sent.map(({ text }) => text).filter((text) => text.includes("tag_thread"))).toEqual([]);
  expect(second).toBe(first - 1);
  expect(await run(open())).toBe(first);
});

describe("listThreads of 1,000 threads", () => {
  const wanted = Array.from({ length: 10 }, (_, n) => `t${n * 100}`);

  beforeAll(async () => {
    const saver = new PostgresSaver({ pool: counted.pool, schema: "many", threadTags: ["user_id"] });
    await saver.setup();
    await Promise.all(
      Array.from({ length: 1000 }, async (_, n) => {
        const threadId = `t${n}`;
        const source = wanted.includes(threadId) ? "update" : "loop";
        const metadata = { source, step: 1, parents: {} } satisfies CheckpointMetadata;
        const configurable = { thread_id: threadId, user_id: n % 100 === 0 ? "anna" : "ben" };
        await saver.put({ configurable }, checkpointOf({ n }), metadata, { n: 1 });
      }),
    );
  }, 60_000);

  const tier = () => postgres({ pool: counted.pool, schema: "many" });
  const ids = async (saver: TierSaver, options: Parameters<TierSaver["listThreads"]>[0]) => {
    const page = await saver.listThreads({ limit: 1000, ...options });
    return page.threads.map(({ threadId }) => threadId).sort();
  };

  test("a filter costs a few statements, whoever matches", async () => {
    const saver = new TierSaver(tier());
    const filter = { source: "update" };
    // The first one looks at as many threads as a page has, the next ones at more.
    expect(
      await statementsOf(async () => expect(await ids(saver, { filter })).toEqual(wanted.toSorted())),
    ).toBe(2);
    expect(
      await statementsOf(async () => expect(await ids(saver, { filter: { source: "fork" } })).toEqual([])),
    ).toBe(2);
    const most = await statementsOf(async () =>
      expect(await ids(saver, { filter: { source: "loop" } })).toHaveLength(990),
    );
    expect(most).toBeLessThanOrEqual(3);
  });

  test("a tag costs one", async () => {
    const saver = new TierSaver(tier());
    const tag = { user_id: "anna" };
    expect(await statementsOf(async () => expect(await ids(saver, { tag })).toEqual(wanted.toSorted()))).toBe(
      1,
    );
    const both = await ids(saver, { tag: { user_id: "ben" }, filter: { source: "update" } });
    expect(both).toEqual([]);
  });

  test("a page of them is looked up in the index of tags", async () => {
    const [row] = await query(
      database.url,
      `explain (format json) select g.thread from many.thread_tags g where g.key = 'user_id' and g.value = 'anna'`,
    );
    expect(JSON.stringify(row)).toContain("thread_tags_by_tag");
  });
});

test("tags go with the thread when an older version deletes it, and with its tombstone", async () => {
  const tier = postgres({ pool: counted.pool });
  const saver = new TierSaver(tier, { threadTags: ["user_id"] });
  const tags = () => query(database.url, "select * from stratigraph.thread_tags where value = 'old'");
  const config = { configurable: { thread_id: "old", user_id: "old" } };
  await threeNodes(saver).invoke({ last: "x" }, config);
  expect(await tags()).toHaveLength(1);
  await query(database.url, "select stratigraph.delete_thread_1('\\x026f6c64'::bytea)");
  expect(await saver.getTuple(config)).toBeUndefined();
  expect(await tags()).toEqual([]);
  await tier.tagThread("old", [{ key: "user_id", value: "old" }]);
  expect(await tags()).toHaveLength(1);
  await query(
    database.url,
    "update stratigraph.threads set written_at = now() - interval '8 days' where not live",
  );
  await saver.deleteThread("somebody else's");
  expect(await tags()).toEqual([]);
});
