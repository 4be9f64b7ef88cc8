import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { TraceEvent } from "@stratigraph/core";
import { pglite, postgres, PostgresSaver, type PostgresTier } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { appendOf, writesOf } from "./group/support/requests.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { allRounds } from "../../../../test/rounds.ts";

// Events of statements on the channel "stratigraph": a name for metrics, the thread for a search, and the error if one failed.

type Call = Extract<TraceEvent, { type: "call" }>;

async function callsOf(work: () => Promise<unknown>): Promise<Call[]> {
  const events = await tracedWhile(work);
  return events.filter((event): event is Call => event.type === "call");
}

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const at = { threadId: "t", namespace: "" };
const nothing = { checkpoints: [], dropBlobs: [], replaceBlobs: [], heads: [] };

const works: readonly (readonly [
  method: string | readonly string[],
  work: (tier: PostgresTier) => Promise<unknown>,
  threadId: string | undefined,
])[] = [
  ["append", (tier) => tier.append(appendOf("t", "1")), "t"],
  ["append", (tier) => tier.appendWrites(writesOf("t", "1", "task")), "t"],
  ["append", (tier) => Promise.all(["u", "v"].map((id) => tier.append(appendOf(id, "1")))), undefined],
  [
    "append",
    (tier) => Promise.all(["2", "3"].map((id) => tier.appendWrites(writesOf("t", id, "task")))),
    "t",
  ],
  ["peek", (tier) => tier.peek(at), "t"],
  ["read", (tier) => tier.read(at), "t"],
  ["list", (tier) => tier.list({ threadId: "t" }).next(), "t"],
  ["list", (tier) => tier.list({}).next(), undefined],
  ["threads", (tier) => tier.threads({}).next(), undefined],
  ["blobs", (tier) => tier.blobs("t"), "t"],
  ["ancestry", (tier) => tier.ancestry({ ...at, checkpointId: "1" }, [], 5), "t"],
  ["outline", (tier) => tier.outline("t"), "t"],
  ["strays", (tier) => tier.strays("t"), "t"],
  ["copyThread", (tier) => tier.copyThread("t", "w"), undefined],
  ["remove", (tier) => tier.remove({ threadId: "t", revision: 0, ...nothing }), "t"],
  ["evict", (tier) => tier.evict("t", 0), "t"],
  ["deleteThread", (tier) => tier.deleteThread("t"), "t"],
  ["lease", (tier) => tier.lease("name", "holder", 1000), undefined],
  ["tombstones", (tier) => tier.tombstones({}).next(), undefined],
  [["sweep", "sweepNamespaces"], (tier) => tier.sweep(1000), undefined],
  ["ping", (tier) => tier.ping(), undefined],
];

const kinds: readonly (readonly [string, () => PostgresTier])[] = [
  ["postgres", () => postgres({ url: database.url })],
  ...(allRounds ? ([["pglite", () => pglite()]] as const) : []),
];

test.each(kinds)("%s: each call has the name of what it does, and its thread", async (name, open) => {
  const tier = open();
  const setup = await callsOf(() => tier.setup());
  expect(setup.map(({ method }) => method)).toEqual(["installed", "setup", "installed", "shard"]);
  expect(setup[0]).toMatchObject({ tier: name, error: { code: "NOT_SET_UP" } });
  for (const [method, work, threadId] of works) {
    const calls = await callsOf(() => work(tier));
    const told = calls.map(({ type, tier: of, method: what, threadId: about }) => ({
      type,
      of,
      what,
      about,
    }));
    const expected = [method].flat().map((what) => ({ type: "call", of: name, what, about: threadId }));
    expect(told).toEqual(expected);
    expect(calls[0]!.ms).toBeGreaterThan(0);
  }
  await tier.end();
});

test("a call that fails is told too, once, with what it failed with and how long it was repeated", async () => {
  const away = PostgresSaver.fromConnString("postgresql://postgres@127.0.0.1:1/none", { retryFor: "100ms" });
  const config = { configurable: { thread_id: "t" } };
  const calls = await callsOf(() => away.getTuple(config).catch(() => undefined));
  expect(calls).toMatchObject([
    { tier: "postgres", method: "read", threadId: "t", error: { code: "UNAVAILABLE" } },
  ]);
  await away.end();
});

test("a head whose values are in memory is told apart from one whose bytes were sent", async () => {
  const open = () => PostgresSaver.fromConnString(database.url);
  const [writer, reader] = [open(), open()];
  const checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(0),
    channel_values: { text: "x".repeat(5000) },
    channel_versions: { text: 1 },
  };
  const thread = { configurable: { thread_id: "known", checkpoint_ns: "" } };
  await writer.put(thread, checkpoint, { source: "input", step: -1, parents: {} }, { text: 1 });
  const events = await tracedWhile(async () => {
    await writer.getTuple(thread);
    await reader.getTuple(thread);
  });
  const reads = events.filter((event) => event.type === "operation");
  expect(reads).toMatchObject([
    { method: "getTuple", from: "memory", bytes: 0 },
    { method: "getTuple", from: "tier" },
  ]);
  expect(reads[1]!.bytes).toBeGreaterThan(10);
  await Promise.all([writer.end(), reader.end()]);
});
