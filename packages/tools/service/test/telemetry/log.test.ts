import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Writable } from "node:stream";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { MemorySaver, TierSaver, type TraceEvent } from "@stratigraph/core";
import { trace } from "@stratigraph/core/internal";
import { observe, type Telemetry } from "@stratigraph/service";
import { pino } from "pino";
import * as prometheus from "prom-client";

// Lines of a real logger.

let telemetry: Telemetry | undefined;
afterEach(() => telemetry?.stop());

function logged(options: { threadIds?: boolean } = {}): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().trim().split("\n"))
        lines.push(JSON.parse(line) as Record<string, unknown>);
      done();
    },
  });
  telemetry = observe({ log: pino({ level: "debug" }, stream), ...options });
  return lines;
}

async function conflict(): Promise<void> {
  const saver = new MemorySaver();
  const put = (by: TierSaver, parent: string | undefined) =>
    by.put(
      { configurable: { thread_id: "anna", checkpoint_ns: "", checkpoint_id: parent } },
      { ...emptyCheckpoint(), id: uuid6(1) },
      { source: "loop", step: 1, parents: {} },
      {},
    );
  const first = (await put(saver, undefined)).configurable!["checkpoint_id"] as string;
  await put(saver, first);
  await put(new TierSaver(saver.tier, { conflict: "throw" }), first).catch(() => undefined);
}

test("what ends well is no line; a conflict is one, with the thread", async () => {
  const lines = logged();
  await conflict();
  const warnings = lines.filter(({ level }) => level === 40);
  expect(warnings).toMatchObject([
    {
      event: "stratigraph.conflict",
      threadId: "anna",
      outcome: "thrown",
      msg: expect.stringContaining("refused"),
    },
  ]);
  expect(lines.filter(({ level }) => Number(level) < 40)).toMatchObject([
    { level: 20, event: "stratigraph.call", err: { type: "CheckpointConflictError" } },
  ]);
});

test("threadIds false: no line names a thread", async () => {
  const lines = logged({ threadIds: false });
  await conflict();
  expect(lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toContain("anna");
  const refused = lines.find(({ event }) => event === "stratigraph.call");
  expect(refused).toMatchObject({ err: { code: "CHECKPOINT_CONFLICT" } });
  trace({
    type: "call",
    id: 1,
    tier: "postgres",
    method: "read",
    threadId: "anna",
    ms: 1,
    error: new Error("down"),
  });
  expect(lines.at(-1)).toMatchObject({ err: { message: "down" } });
  const threadId = 'anna "from" the shop';
  const error = new Error(`${JSON.stringify(threadId)} is gone`);
  trace({ type: "call", id: 2, tier: "postgres", method: "read", threadId, ms: 1, error });
  expect(JSON.stringify(lines)).not.toContain("anna");
});

test("why maintenance failed is told", () => {
  const lines = logged();
  trace({
    type: "maintenance",
    what: "failed",
    data: { error: new TypeError("no such bucket"), done: false },
  });
  expect(lines).toMatchObject([
    { err: { type: "TypeError", message: "no such bucket" }, data: { done: false } },
  ]);
});

test("what can't be measured or written ends no process, and is told", () => {
  const told: unknown[] = [];
  const listen = (event: unknown): void => void told.push(event);
  subscribe("stratigraph", listen);
  const register = new prometheus.Registry();
  const fail = (): never => {
    throw new Error("full");
  };
  const log = { debug: fail, info: fail, warn: fail, error: fail };
  telemetry = observe({ prometheus, register, log });
  trace({ type: "dropped", tier: "redis", what: "copies", count: -1 });
  unsubscribe("stratigraph", listen);
  expect(told).toMatchObject([{ type: "dropped" }, { hook: "metrics" }, { hook: "log" }]);
});

const error = new Error("down");
test.each<[TraceEvent, number | undefined]>([
  [{ type: "breaker", tier: "redis", use: "reads", state: "open", error }, 50],
  [{ type: "breaker", tier: "redis", use: "reads", state: "closed" }, 30],
  [{ type: "dropped", tier: "redis", what: "copies", count: 3 }, 40],
  [{ type: "unreachable", tier: "redis", role: "hot", error }, 40],
  [{ type: "behind", tier: "postgres", method: "read", error }, 40],
  [{ type: "hook", hook: "onConflict", threadId: "t", error }, 50],
  [{ type: "retry", tier: "postgres", attempt: 1, forMs: 15_000, error }, 30],
  [{ type: "late-write-dropped", threadId: "t", namespace: "", checkpointId: "c" }, 40],
  [{ type: "maintenance", what: "archive", threadId: "t", data: { done: true } }, 20],
  [{ type: "maintenance", what: "failed", data: { error } }, 50],
  [{ type: "verified", complete: true, findings: { error: 1, warning: 0, info: 0 } }, 50],
  [{ type: "verified", complete: true, findings: { error: 0, warning: 0, info: 0 } }, 30],
  [{ type: "tool-call", threadId: "t", tool: "pay", fingerprint: "f", outcome: "unknown", ms: 1 }, 50],
  [{ type: "tool-call", threadId: "t", tool: "pay", fingerprint: "f", outcome: "replayed", ms: 1 }, 20],
  [{ type: "brought", threadId: "t", source: "sqlite", checkpoints: 1, mixedUp: 0 }, 30],
  [{ type: "source-went-on", threadId: "t", source: "sqlite" }, 40],
  [{ type: "copy-queue", tier: "redis", waiting: 1, bytes: 1 }, undefined],
  [{ type: "cache", tier: "redis", result: "failed", count: 1 }, 40],
  [{ type: "cache", tier: "redis", result: "unreadable", count: 1 }, 40],
  [{ type: "cache", tier: "redis", result: "unstored", count: 1, error: new Error("e") }, 40],
  [{ type: "cache", tier: "redis", result: "unstored", count: 1 }, undefined],
  [{ type: "hot-read", tier: "redis", threadId: "t", result: "hit" }, undefined],
])("%j", (event, level) => {
  const lines = logged();
  trace(event);
  expect(lines.map((line) => line["level"])).toEqual(level === undefined ? [] : [level]);
});

test("a logger that throws ends nothing", async () => {
  const fail = (): never => {
    throw new Error("disk full");
  };
  telemetry = observe({ log: { debug: fail, info: fail, warn: fail, error: fail } });
  await conflict();
});
