import { Annotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { statusTerms } from "@stratigraph/core/internal";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let saver: PostgresSaver;
beforeAll(async () => {
  database = await freshDatabase();
  saver = PostgresSaver.fromConnString(database.url);
  await saver.setup();
});
afterAll(async () => {
  await saver.end();
  await database.drop();
});

const State = Annotation.Root({ said: Annotation<string> });
const run = (threadId: string, asks: boolean) =>
  new StateGraph(State)
    .addNode("node", () => ({ said: asks ? interrupt<string, string>("which?") : "done" }))
    .addEdge(START, "node")
    .compile({ checkpointer: saver })
    .invoke({}, { configurable: { thread_id: threadId } });

const listed = async (status: "waiting" | "idle") =>
  (await saver.listThreads({ status })).threads.map(({ threadId }) => threadId).toSorted();

/** The status that the database keeps of each thread. */
const kept = async () =>
  Object.fromEntries(
    (
      await query(
        database.url,
        "select convert_from(substring(key from 2), 'UTF8') as id, status from stratigraph.threads",
      )
    ).map(({ id, status }) => [id, status]),
  ) as Record<string, string | null>;

test("runs leave no thread whose status isn't known", async () => {
  await run("asks", true);
  await run("done", false);
  expect(await kept()).toEqual({ asks: "w", done: "i" });
});

test("threads of versions before the index are read to find out, and maintenance notes how they stand", async () => {
  // As migration 8 finds them: no status, no outcomes, and terms of metadata alone.
  await query(database.url, "update stratigraph.threads set status = null");
  await query(database.url, "update stratigraph.writes set outcome = null");
  await query(
    database.url,
    `update stratigraph.checkpoints set terms = array_remove(array_remove(terms, ${statusTerms.idle}), ${statusTerms.interrupted})`,
  );
  expect(await listed("waiting")).toEqual(["asks"]);
  expect(await listed("idle")).toEqual(["done"]);
  expect(await kept()).toEqual({ asks: null, done: null });
  await saver.maintain();
  expect(await kept()).toEqual({ asks: "w", done: "i" });
  expect(await listed("waiting")).toEqual(["asks"]);
});

test("a page of the threads that wait is cut from the index", async () => {
  // 20,000 threads, 1 in 100 of which waits.
  await query(
    database.url,
    `insert into stratigraph.threads (key, revision, live, written_at, status)
     select convert_to(E'\\x02' || 'many ' || n, 'UTF8'), 1, true, now() - n * interval '1 minute', case when n % 100 = 0 then 'w' else 'i' end::"char"
       from generate_series(1, 20000) as n`,
  );
  await query(database.url, "analyze stratigraph.threads");
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const blocks = async (status: string, limit: number) => {
    const { rows } = await client.query<{ "QUERY PLAN": { Plan: Record<string, number> }[] }>(
      `explain (analyze, buffers, format json) select * from stratigraph.threads_by_status_1(null, true, true, null, null, null, ${limit}, '${status}')`,
    );
    const { Plan: plan } = rows[0]!["QUERY PLAN"][0]!;
    return plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!;
  };
  // The first call of a connection reads the catalog.
  await blocks("w", 10);
  // Ten rows of the index and of the table each, and their heads: an order of magnitude below the table's pages.
  expect(await blocks("w", 10)).toBeLessThan(100);
  expect(await blocks("i", 10)).toBeLessThan(100);
  await client.end();
});
