import { Annotation, Command, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver as Official } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at } from "./support/checkpoints.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeEach(async () => {
  database = await freshDatabase();
});
afterEach(() => database.drop());

type Module = { PostgresSaver: typeof Official } | { PostgresSaver: typeof PostgresSaver };

/** A program as a user has it. Only where `PostgresSaver` comes from differs. */
async function program({ PostgresSaver: Saver }: Module, url: string) {
  const checkpointer = Saver.fromConnString(url, { schema: "program" });
  await checkpointer.setup();
  const State = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const graph = new StateGraph(State)
    .addNode("draft", ({ log }) => ({ log: [`draft ${log.length}`] }))
    .addNode("review", () => ({ log: [`review: ${String(interrupt("fine?"))}`] }))
    .addNode("publish", () => ({ log: ["publish"] }))
    .addEdge(START, "draft")
    .addEdge("draft", "review")
    .addEdge("review", "publish")
    .addEdge("publish", END)
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "1" } };
  await graph.invoke({ log: ["begin"] }, config);
  const waiting = await graph.getState(config);
  await graph.invoke(new Command({ resume: "yes" }), config);
  await graph.updateState(config, { log: ["corrected"] });
  const { values, next } = await graph.getState(config);
  const history: unknown[] = [];
  for await (const state of graph.getStateHistory(config)) {
    const { source, step } = state.metadata!;
    history.push({
      source,
      step,
      next: state.next,
      values: state.values,
      keys: Object.keys(state.config.configurable!),
    });
  }
  const listed: unknown[] = [];
  for await (const { metadata } of checkpointer.list(config, { filter: { source: "loop" }, limit: 2 }))
    listed.push(metadata?.step);
  await checkpointer.deleteThread("1");
  const gone = await checkpointer.getTuple(config);
  await checkpointer.end();
  return {
    waiting: [waiting.next, waiting.tasks[0]?.interrupts[0]?.value],
    values,
    next,
    history,
    listed,
    gone,
  };
}

test("the same program with only the import changed does the same", async () => {
  const theirs = await program({ PostgresSaver: Official }, database.url);
  await query(database.url, "drop schema program cascade");
  const ours = await program({ PostgresSaver }, database.url);
  expect(ours).toEqual(theirs);
  expect(ours.values).toEqual({ log: ["begin", "draft 1", "review: yes", "publish", "corrected"] });
  expect(ours.history.length).toBeGreaterThan(4);
});

test("constructors: (pool), (pool, serde), (pool, serde, { schema }), ({ pool, … }), fromConnString(url, { schema })", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  const { serde } = new MemorySaver();
  const savers = [
    [new PostgresSaver(pool), "stratigraph"],
    [new PostgresSaver(pool, serde), "stratigraph"],
    [new PostgresSaver(pool, undefined, { schema: "one" }), "one"],
    [new PostgresSaver(pool, serde, { schema: "two" }), "two"],
    [new PostgresSaver({ pool, schema: "three", serde }), "three"],
    [PostgresSaver.fromConnString(database.url), "stratigraph"],
    [PostgresSaver.fromConnString(database.url, { schema: "four", serde }), "four"],
  ] as const;
  for (const [saver, schema] of savers) {
    expect(saver.tier.schema).toBe(schema);
    await saver.setup();
    expect(await saver.getTuple(at("t"))).toBeUndefined();
    await saver.end();
  }
  for (const [saver] of [savers[1], savers[3], savers[4], savers[6]]) expect(saver.serde).toBe(serde);
  // end() leaves a pool that was passed in open, and closes one of its own.
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
  await expect(savers[5][0].getTuple(at("t"))).rejects.toMatchObject({ code: "CLOSED" });
  const left = "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  await vi.waitFor(async () => expect(await query(database.url, left)).toEqual([]));
});

test.each([
  ["Invalid option pool", () => new PostgresSaver(undefined as never)],
  ["Invalid option pool", () => new PostgresSaver({} as never)],
  ["Invalid option pool", () => new PostgresSaver({ pool: {} as never })],
  ["Invalid option url", () => PostgresSaver.fromConnString("")],
  ["Invalid option maxCalls", () => PostgresSaver.fromConnString("postgres://x", { maxCalls: 0 })],
  [
    "Invalid option retryFor",
    () => PostgresSaver.fromConnString("postgres://x", { retryFor: "soon" as never }),
  ],
  [
    "Invalid option conflict",
    () => PostgresSaver.fromConnString("postgres://x", { conflict: "fight" as never }),
  ],
  ["Invalid option path", () => PostgresSaver.embedded("")],
])("%s: said when it is made", (message, make) => {
  expect(make).toThrow(message);
});
