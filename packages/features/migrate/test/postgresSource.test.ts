import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { MemorySaver } from "@stratigraph/core";
import { importThreads, postgresSource } from "@stratigraph/migrate";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { counting, history, say } from "./support/conversation.ts";

let database: FreshDatabase;
let pool: pg.Pool;
let official: OfficialSaver;
let ours: PostgresSaver;

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  official = new OfficialSaver(pool);
  await official.setup();
  ours = PostgresSaver.fromConnString(database.url);
  await ours.setup();
});

afterAll(async () => {
  await ours?.end();
  await pool?.end();
  await database?.drop();
});

const hostile = ["a:b", "it's", 'quo"te', "émoji 🎉", "%_\\", "' or 1=1 --", "\u202eltr", "a\nb"];

test("threads come over as they are, hostile ids too, and go on", async () => {
  for (const id of ["ada", ...hostile]) {
    await say(official, id, "Hello");
    await say(official, id, "Again");
  }
  const source = postgresSource({ pool });
  const plan = await source.plan();
  expect(plan).toMatchObject({ threads: 9, checkpoints: 54 });
  expect(plan.bytes).toBeGreaterThan(10_000);
  const report = await importThreads(source, ours);
  expect(report).toMatchObject({ complete: true, threads: 9, skipped: 0, checkpoints: 54, verified: true });
  expect(report).toMatchObject({ differences: [], mixedUp: [], diverged: [] });
  for (const id of ["ada", ...hostile]) expect(await history(ours, id)).toEqual(await history(official, id));
  expect((await say(ours, "it's", "Third")).length).toBe(6);
  // Repeated, it brings nothing, compares everything, and leaves alone what went on here.
  const again = await importThreads(source, ours);
  expect(again).toMatchObject({ threads: 9, skipped: 9, checkpoints: 0, differences: [], diverged: [] });
  expect((await say(ours, "it's", "Fourth")).length).toBe(8);
});

test("an interrupt that waits is answered here", async () => {
  const asking = (checkpointer: OfficialSaver | PostgresSaver) =>
    new StateGraph(MessagesAnnotation)
      .addNode("ask", () => ({ messages: [`You said ${interrupt<string, string>("Well?")}`] }))
      .addEdge(START, "ask")
      .compile({ checkpointer });
  const config = { configurable: { thread_id: "waiting" } };
  await asking(official).invoke({ messages: ["Hi"] }, config);
  const report = await importThreads(postgresSource({ pool }), ours, { threadIds: ["waiting", "nobody"] });
  expect(report).toMatchObject({ threads: 2, differences: [{ threadId: "nobody" }] });
  expect(report.writes).toBeGreaterThan(0);
  const { messages } = await asking(ours).invoke(new Command({ resume: "yes" }), config);
  expect(messages.at(-1)?.content).toBe("You said yes");
});

test("a thread that went on in the source comes over; one that went on in both is reported and left alone", async () => {
  const source = postgresSource({ pool });
  const threadIds = ["late", "both"];
  for (const id of threadIds) await say(official, id, "One");
  await importThreads(source, ours, { threadIds });
  for (const id of threadIds) await say(official, id, "Two");
  await say(ours, "both", "Three");
  const before = await history(ours, "both");
  const report = await importThreads(source, ours, { threadIds });
  expect(report).toMatchObject({ checkpoints: 3, diverged: ["both"], differences: [] });
  expect(await history(ours, "late")).toEqual(await history(official, "late"));
  expect(await history(ours, "both")).toEqual(before);
  expect((await say(ours, "late", "Three")).length).toBe(6);
});

test("branches that share version numbers are reported, and read as the official saver reads them", async () => {
  const config = { configurable: { thread_id: "forked" } };
  await say(official, "forked", "One");
  await say(official, "forked", "Two");
  const states = [];
  for await (const state of counting(official).getStateHistory(config)) states.push(state);
  const early = states.find(({ values }) => values.messages?.length === 2)!;
  await counting(official).invoke({ messages: ["Other"] }, early.config);
  const report = await importThreads(postgresSource({ pool }), ours, { threadIds: ["forked"] });
  expect(report.differences).toEqual([]);
  expect(report.mixedUp.length).toBeGreaterThan(0);
  expect(report.mixedUp.flatMap(({ channels }) => channels)).toContain("messages");
  expect(report.mixedUp[0]).toMatchObject({ threadId: "forked", namespace: "" });
  expect(await history(ours, "forked")).toEqual(await history(official, "forked"));
});

test("a copy that went on here, and isn't what the source has now, is told", async () => {
  await say(official, "damaged", "One");
  const saver = new MemorySaver();
  await importThreads(postgresSource({ pool }), saver, { threadIds: ["damaged"] });
  await say(saver, "damaged", "Two");
  await pool.query(
    `update checkpoint_blobs set blob = convert_to('["other"]', 'utf8') where thread_id = 'damaged' and channel = 'messages' and version = '3'`,
  );
  const report = await importThreads(postgresSource({ pool }), saver, { threadIds: ["damaged"] });
  expect(report.differences.length).toBeGreaterThan(0);
  expect(report.differences[0]).toMatchObject({ threadId: "damaged", what: 'channel "messages" differs' });
});

test("a schema of its own, and a signal that ends after the thread under way", async () => {
  await pool.query('create schema "od""d"');
  // The official saver cannot have such a schema, as it quotes names without escaping them.
  for (const table of ["checkpoints", "checkpoint_blobs", "checkpoint_writes"])
    await pool.query(`create table "od""d".${table} (like public.${table} including all)`);
  await pool.query(
    `insert into "od""d".checkpoints select * from checkpoints where thread_id in ('ada', 'late')`,
  );
  await pool.query(`insert into "od""d".checkpoint_blobs select * from checkpoint_blobs`);
  const ended = new AbortController();
  ended.abort();
  const saver = new MemorySaver();
  const source = postgresSource({ pool, schema: 'od"d' });
  const first = await importThreads(source, saver, { signal: ended.signal });
  expect(first).toMatchObject({ complete: false, threads: 1, cursor: "ada" });
  const rest = await importThreads(source, saver, { after: first.cursor });
  expect(rest).toMatchObject({ complete: true, threads: 1 });
  expect(rest.cursor).toBeUndefined();
  expect((await saver.listThreads()).threads.length).toBe(2);
});
