import { postgres, PostgresSaver } from "@stratigraph/postgres";
import { query } from "../../servers/postgres.ts";
import { freshDatabase, type FreshDatabase } from "../../servers/shared.ts";
import { findConversations } from "../conversations.ts";
import { listings } from "./listings.ts";
import { recordAppends, replayTurn } from "./recordedAppends.ts";
import { WatchedPool } from "./scannedRows.ts";

// 20,000 checkpoints in 5,000 threads: enough for the planner to read whole tables wherever it may. `pnpm bench --only million` has
// a million.

const threads = 5000;

let database: FreshDatabase;
let pool: WatchedPool;
let saver: PostgresSaver;
beforeAll(async () => {
  database = await freshDatabase();
  pool = new WatchedPool(database.url);
  await pool.open();
  saver = new PostgresSaver(postgres({ pool }));
  await saver.setup();
  const [turn] = await recordAppends(findConversations().file, 0, 4);
  await replayTurn(saver.tier, turn!, "thread 0", 17);
  await query(
    database.url,
    `select count(stratigraph.copy_thread_1(
       stratigraph.id_key('thread 0'), stratigraph.id_key('thread ' || n), null)) from generate_series(1, ${threads - 1}) as n`,
  );
  await query(
    database.url,
    "update stratigraph.threads set written_at = written_at - (thread % 7) * interval '1 minute'",
  );
  await query(database.url, "analyze");
});
afterAll(async () => {
  await pool.close();
  await database.drop();
});

test("no statement of a listing looks at more than a few thousand rows, or at a whole table", async () => {
  for (const { name, page } of await listings(saver, "thread 4321")) {
    // All copies are of one run here.
    if (name === "checkpoints of a run") continue;
    const { most, through } = await pool.during(page);
    expect(most, name).toBeLessThan(name.includes("by metadata") ? 3 * 2000 + 100 : 1000);
    // A page of checkpoints looks up the heads of its threads: of 5,000, reading all is as cheap.
    const whole = through.filter((index) => index.startsWith("whole "));
    expect(
      name.startsWith("list ") ? whole.filter((each) => !/heads|threads/.test(each)) : whole,
      name,
    ).toEqual([]);
  }
});

test("what few threads have is found wherever they are, in both orders and page by page", async () => {
  const rare = ["thread 77", "thread 2500", "thread 4999"];
  for (const thread_id of rare) {
    const config = { configurable: { thread_id, checkpoint_ns: "" } };
    const tuple = (await saver.getTuple(config))!;
    const checkpoint = {
      ...tuple.checkpoint,
      id: `1fffffff-0000-6000-8000-${thread_id.slice(7).padStart(12, "0")}`,
    };
    await saver.put(tuple.config, checkpoint, { source: "update", step: 9, parents: {} }, {});
    await query(
      database.url,
      `update stratigraph.threads set written_at = date_trunc('minute', now()) - ${thread_id.length} * interval '1 hour' where key = stratigraph.id_key($1)`,
      [thread_id],
    );
    await saver.tagThread(thread_id, { plan: "gold" });
  }
  // So many threads carry the tag that it can't be where a listing begins.
  await query(
    database.url,
    `insert into stratigraph.thread_tags (thread, key, value)
     select 1000000 + n, 'plan', 'gold' from generate_series(1, 20000) as n`,
  );
  for (const asked of [
    { filter: { step: 9 } },
    { tag: { plan: "gold" } },
    { filter: { step: 9 }, tag: { plan: "gold" } },
  ])
    for (const order of ["oldest", "newest"] as const) {
      const found: string[] = [];
      for (let cursor: string | undefined, n = 0; n < 5; n += 1) {
        const page = await saver.listThreads({
          ...asked,
          order,
          limit: 2,
          ...(cursor === undefined ? {} : { cursor }),
        });
        found.push(...page.threads.map(({ threadId }) => threadId));
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
      expect(found.toSorted(), JSON.stringify([asked, order])).toEqual(rare.toSorted());
    }
});
