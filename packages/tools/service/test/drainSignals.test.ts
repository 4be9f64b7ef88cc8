import { join } from "node:path";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { runChild } from "../../../../test/servers/children.ts";
import { freshDatabase, sharedRedis, type FreshDatabase } from "../../../../test/servers/shared.ts";
import type { DrainMessage } from "./support/drainChild.ts";
import type { StepsMessage } from "./support/stepsChild.ts";

const script = join(import.meta.dirname, "support/drainChild.ts");
const threads = 6;
let database: FreshDatabase;
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

/** @param ends whether runs end */
async function startedChild(runsLimit: string, ends: "soon" | "never") {
  const { url, prefix } = await sharedRedis();
  const args = [database.url, url, prefix, String(threads), runsLimit, ends];
  const child = runChild<DrainMessage>(script, args);
  await child.message((message) => message.type === "step" && message.step >= 5);
  return child;
}

/** The same graph, with nothing to tell: what resumes here is what another process would resume. */
const State = Annotation.Root({
  log: Annotation<number[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const graphOn = (checkpointer: PostgresSaver) =>
  new StateGraph(State)
    .addNode("step", async ({ log }) => ({ log: [log.length] }))
    .addEdge(START, "step")
    .addConditionalEdges("step", ({ log }) => (log.length < 40 ? "step" : END))
    .compile({ checkpointer });

test("SIGTERM under load: runs that don't end in time are ended, no acknowledged checkpoint is lost, and all resume", async () => {
  const child = await startedChild("100ms", "soon");
  process.kill(child.pid, "SIGTERM");
  expect(await child.exit).toMatchObject({ code: 0, signal: null, stderr: "" });
  const { report } = child.messages.find((message) => message.type === "report")!;
  expect(report).toMatchObject({ ok: true, runs: { left: [] } });
  expect(report.runs.aborted).toBeGreaterThan(0);
  const reached = new Map<string, number>();
  for (const message of child.messages)
    if (message.type === "step") reached.set(message.threadId, message.step);
  expect(reached.size).toBeGreaterThanOrEqual(threads);
  const graph = graphOn(saver);
  for (const [threadId, step] of reached) {
    const config = { configurable: { thread_id: threadId }, recursionLimit: 100 };
    const { log } = (await graph.getState(config)).values as { log: number[] };
    expect(log.length, threadId).toBeGreaterThanOrEqual(step);
    const resumed = await graph.invoke(null, config);
    expect(resumed?.log ?? log).toEqual(Array.from({ length: 40 }, (_, n) => n));
  }
});

test("a deployment repeats no step of a run that has the control, and one of a run that has the signal alone", async () => {
  const steps = join(import.meta.dirname, "support/stepsChild.ts");
  const first = runChild<StepsMessage>(steps, [database.url]);
  for (const given of ["signal", "control"])
    for (const durability of ["sync", "async", "exit"])
      await first.message(
        (told) => told.type === "step" && told.step === 3 && told.threadId === `${given} ${durability}`,
      );
  process.kill(first.pid, "SIGTERM");
  expect(await first.exit).toMatchObject({ code: 0, stderr: "" });
  expect(first.messages.find(({ type }) => type === "report")).toMatchObject({
    report: { ok: true, runs: { ended: 3, aborted: 3, left: [] } },
  });
  const second = runChild<StepsMessage>(steps, [database.url, "again"]);
  expect(await second.exit).toMatchObject({ code: 0, stderr: "" });
  const begun = new Map<string, number[]>();
  for (const told of [...first.messages, ...second.messages])
    if (told.type === "step") begun.set(told.threadId, [...(begun.get(told.threadId) ?? []), told.step]);
  const repeated = Object.fromEntries([...begun].map(([id, all]) => [id, all.length - new Set(all).size]));
  expect(repeated).toEqual({
    "signal sync": 1,
    "signal async": 1,
    "signal exit": 1,
    "control sync": 0,
    "control async": 0,
    "control exit": 0,
  });
  expect([...begun.values()].map((all) => new Set(all).size)).toEqual([10, 10, 10, 10, 10, 10]);
});

test("the second signal ends the process at once", async () => {
  const child = await startedChild("10m", "never");
  process.kill(child.pid, "SIGTERM");
  await child.message(({ type }) => type === "draining");
  process.kill(child.pid, "SIGINT");
  expect(await child.exit).toMatchObject({ code: 130, signal: null });
  expect(child.messages.some((message) => message.type === "report")).toBe(false);
});
