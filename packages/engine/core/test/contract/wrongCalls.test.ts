// long file: one table of calls, each with the words of its error, grouped by what is called
import { randomBytes } from "node:crypto";
import {
  emptyCheckpoint,
  MemorySaver as OfficialMemorySaver,
  type CheckpointMetadata,
} from "@langchain/langgraph-checkpoint";
import {
  MemorySaver,
  MemoryTier,
  StratigraphError,
  StratigraphSerializer,
  TierSaver,
} from "@stratigraph/core";
import { beforeEach, describe, expect, test } from "vitest";
import { contents } from "./support.ts";

// Calls that plain JavaScript lets through, or that a type assertion does: each is refused with an error that names the field, says
// what was found and what to do, and nothing in the storage has changed. The threads "a" and "d" are there because text that is
// taken for a list is its letters.

const threads = ["a", "d", "ada"];
const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };
const at = (thread_id: string) => ({ configurable: { thread_id } });
const under = { configurable: { thread_id: "ada", checkpoint_ns: "", checkpoint_id: "" } };

let tier: MemoryTier;
let saver: TierSaver;
let before: string;

async function everything(): Promise<string> {
  const found = await Promise.all(threads.map(async (thread) => [thread, await contents(tier, thread)]));
  return JSON.stringify(found);
}

beforeEach(async () => {
  tier = new MemoryTier();
  saver = new TierSaver(tier);
  for (const thread of threads) {
    let config: object = at(thread);
    for (let step = 0; step < 3; step += 1) {
      const checkpoint = {
        ...emptyCheckpoint(),
        channel_values: { n: step },
        channel_versions: { n: step + 1 },
      };
      const put = await saver.put(
        config,
        checkpoint,
        { ...metadata, step, run_id: thread } as CheckpointMetadata,
        { n: step + 1 },
      );
      under.configurable.checkpoint_id = checkpoint.id;
      config = put;
    }
  }
  before = await everything();
  expect(before.match(/"checkpointId"/g)).toHaveLength(9);
});

/** Calls a method without its types. Of what it lists, the first is taken. */
async function call(method: string, ...args: unknown[]): Promise<unknown> {
  const answer = (Reflect.get(saver, method) as (...args: unknown[]) => unknown).apply(saver, args);
  if (method === "list") return await (answer as AsyncGenerator).next();
  return await answer;
}

function make(what: new (...args: never[]) => unknown, ...args: unknown[]): unknown {
  return Reflect.construct(what, args) as unknown;
}

async function errorOf(work: () => unknown): Promise<StratigraphError> {
  try {
    await work();
  } catch (error) {
    if (StratigraphError.is(error, "INVALID_OPTION") || StratigraphError.is(error, "INVALID_ADDRESS"))
      return error;
    throw error;
  }
  throw new Error("It was accepted.");
}

const serde = new StratigraphSerializer();
class Money {
  readonly amount = 0;
}
const key = randomBytes(32);
const encryption = { keys: { k: key }, activeKey: "k", hashKey: key };
const money = { name: "money", class: Money, toData: () => 0, fromData: () => new Money() };

type Row = readonly [name: string, work: () => unknown, field: string, says: string];

const methods: readonly Row[] = [
  [
    "prune: keep_last",
    () => call("prune", ["ada"], { strategy: "keep_latest", keep_last: 20 }),
    "keep_last",
    "Did you mean keepLast?",
  ],
  [
    "prune: keep",
    () => call("prune", ["ada"], { strategy: "keep_latest", keep: 20 }),
    "keep",
    "Write keepLast",
  ],
  [
    "prune: text for a list",
    () => call("prune", "ada", { strategy: "delete" }),
    "threadIds",
    'found "ada". Pass a list: ["ada"]',
  ],
  ["prune: no options", () => call("prune", ["ada"]), "strategy", "Say what stays"],
  [
    "prune: options without a strategy",
    () => call("prune", ["ada"], { keepLast: 2 }),
    "strategy",
    '"keep_latest"',
  ],
  [
    "prune: an unknown strategy",
    () => call("prune", ["ada"], { strategy: "keepLatest" }),
    "strategy",
    'found "keepLatest"',
  ],
  [
    "prune: the strategy alone",
    () => call("prune", ["ada"], "delete"),
    "options",
    "takes an object of strategy, keepLast",
  ],
  ["prune: null", () => call("prune", ["ada"], null), "options", 'found "null"'],
  [
    "prune: keepLast as text",
    () => call("prune", ["ada"], { strategy: "keep_latest", keepLast: "20" }),
    "keepLast",
    "whole number",
  ],
  [
    "prune: keepLast 0",
    () => call("prune", ["ada"], { strategy: "keep_latest", keepLast: 0 }),
    "keepLast",
    "1 or more",
  ],
  [
    "prune: delete and keepLast",
    () => call("prune", ["ada"], { strategy: "delete", keepLast: 20 }),
    "keepLast",
    'Under "delete" nothing stays',
  ],
  [
    "prune: the second id is none",
    () => call("prune", ["ada", ""], { strategy: "delete" }),
    "threadIds[1]",
    "at least one character",
  ],
  [
    "prune: an id that is a number",
    () => call("prune", ["ada", 5], { strategy: "delete" }),
    "threadIds[1]",
    "found number",
  ],
  [
    "prune: a hole in the list",
    () => call("prune", Object.assign(["ada"], { 2: "a" }), { strategy: "delete" }),
    "threadIds[1]",
    "found undefined",
  ], // oxlint-disable-line no-sparse-arrays
  ["prune: a set", () => call("prune", new Set(["ada"]), { strategy: "delete" }), "threadIds", "Pass a list"],
  ["prune: nothing", () => call("prune"), "strategy", "Say what stays"],
  ["deleteForRuns: text", () => call("deleteForRuns", "ada"), "runIds", 'Pass a list: ["ada"]'],
  ["deleteForRuns: nothing", () => call("deleteForRuns"), "runIds", "Pass a list"],
  [
    "deleteForRuns: the second is undefined",
    () => call("deleteForRuns", ["ada", undefined]),
    "runIds[1]",
    "Pass a string",
  ],
  ["copyThread: no target", () => call("copyThread", "ada"), "targetThreadId", "found undefined"],
  ["copyThread: configs", () => call("copyThread", at("ada"), at("b")), "sourceThreadId", "Pass a string"],
  [
    "listThreads: filters",
    () => call("listThreads", { filters: { user: "ada" } }),
    "filters",
    "Did you mean filter?",
  ],
  ["listThreads: prefix", () => call("listThreads", { prefix: "ada" }), "prefix", "write tag"],
  [
    "listThreads: metadata",
    () => call("listThreads", { metadata: { user: "ada" } }),
    "metadata",
    "Write filter",
  ],
  ["listThreads: order", () => call("listThreads", { order: "desc" }), "order", 'Use "newest" or "oldest"'],
  ["listThreads: offset", () => call("listThreads", { offset: 10 }), "offset", "Write cursor"],
  [
    "listThreads: text",
    () => call("listThreads", "ada"),
    "options",
    "takes an object of filter, tag, status, order, cursor, limit",
  ],
  [
    "listThreads: a filter that is text",
    () => call("listThreads", { filter: "ada" }),
    "filter",
    "Pass an object",
  ],
  [
    "listThreads: a filter that is a Map",
    () => call("listThreads", { filter: new Map([["source", "loop"]]) }),
    "filter",
    "Pass an object",
  ],
  [
    "listThreads: a filter that is a list",
    () => call("listThreads", { filter: ["ada"] }),
    "filter",
    'found "an array"',
  ],
  [
    "listThreads: a filter that is null",
    () => call("listThreads", { filter: null }),
    "filter",
    'found "null"',
  ],
  [
    "listThreads: a filter that asks for nothing",
    () => call("listThreads", { filter: { user: undefined } }),
    "filter.user",
    "Give it a value",
  ],
  ["listThreads: a limit as text", () => call("listThreads", { limit: "10" }), "limit", "whole number"],
  ["listThreads: a cursor that is a number", () => call("listThreads", { cursor: 2 }), "cursor", "as it was"],
  ["listThreads: tags", () => call("listThreads", { tags: { user_id: "anna" } }), "tags", "Write tag"],
  [
    "listThreads: a tag that is text",
    () => call("listThreads", { tag: "anna" }),
    "tag",
    "Name at least one tag",
  ],
  ["listThreads: no tag", () => call("listThreads", { tag: {} }), "tag", "Name at least one tag"],
  [
    "listThreads: a tag that asks for nothing",
    () => call("listThreads", { tag: { user_id: undefined } }),
    "tag.user_id",
    "Tags are text",
  ],
  ["tagThread: no tags", () => call("tagThread", "ada"), "tags", "Name at least one tag"],
  ["tagThread: a list", () => call("tagThread", "ada", ["anna"]), "tags", 'found "an array"'],
  [
    "tagThread: a config",
    () => call("tagThread", at("ada"), { user_id: "anna" }),
    "threadId",
    "Pass a string",
  ],
  [
    "tagThread: a long name",
    () => call("tagThread", "ada", { ["x".repeat(1025)]: "anna" }),
    `tags.${"x".repeat(64)}…`,
    "Pass the name of a tag",
  ],
  [
    "untagThread: an empty value",
    () => call("untagThread", "ada", { user_id: "" }),
    "tags.user_id",
    "Tags are",
  ],
  ["untagThread: no thread", () => call("untagThread", "", { user_id: "anna" }), "threadId", "at least one"],
  ["conflicts: a config", () => call("conflicts", at("ada")), "threadId", "Pass a string"],
  ["promote: nothing", () => call("promote"), "config", "Pass a config"],
  [
    "promote: an id",
    () => call("promote", "ada"),
    "config",
    "found ada. Pass a config such as { configurable",
  ],
  [
    "setup: options it doesn't have",
    () => call("setup", { verifyOnly: true }),
    "verifyOnly",
    "setup of this saver has no such option",
  ],
  ["stored: no checkpoint", () => call("stored", at("ada")), "checkpoint_id", "Name the checkpoint"],
  ["stored: timeoutMs", () => call("stored", under, { timeoutMs: 5 }), "timeoutMs", "Write timeout"],
  ["stored: a number", () => call("stored", under, { timeout: 5 }), "timeout", "units"],
  [
    "stored: a controller",
    () => call("stored", under, { signal: new AbortController() }),
    "signal",
    "Pass the signal",
  ],
];

const constructors: readonly Row[] = [
  ["TierSaver: no tier", () => make(TierSaver), "tier", 'found "undefined"'],
  ["TierSaver: a URL", () => make(TierSaver, "redis://host"), "tier", "createCheckpointer"],
  ["TierSaver: half a tier", () => make(TierSaver, { peek: () => 0 }), "tier", "has no read()"],
  [
    "TierSaver: conflcit",
    () => make(TierSaver, new MemoryTier(), { conflcit: "throw" }),
    "conflcit",
    "Did you mean conflict?",
  ],
  [
    "TierSaver: bestEffort as text",
    () => make(TierSaver, new MemoryTier(), { bestEffort: "pages" }),
    "bestEffort",
    "Pass a list of channels",
  ],
  [
    "TierSaver: bestEffort with no name",
    () => make(TierSaver, new MemoryTier(), { bestEffort: ["pages", ""] }),
    "bestEffort[1]",
    "Name a channel of your state",
  ],
  [
    "TierSaver: bestEffort with a channel that makes nodes run",
    () => make(TierSaver, new MemoryTier(), { bestEffort: ["branch:to:fetch"] }),
    "bestEffort[0]",
    "LangGraph's own channel",
  ],
  [
    "TierSaver: bestEffortFor without a unit",
    () => make(TierSaver, new MemoryTier(), { bestEffort: ["pages"], bestEffortFor: 60 }),
    "bestEffortFor",
    "found 60",
  ],
  [
    "TierSaver: threadTags as text",
    () => make(TierSaver, new MemoryTier(), { threadTags: "user_id" }),
    "threadTags",
    "Pass a list of names",
  ],
  [
    "TierSaver: threadTags with no name",
    () => make(TierSaver, new MemoryTier(), { threadTags: ["user_id", 7] }),
    "threadTags[1]",
    "Pass the name of a tag",
  ],
  [
    "TierSaver: a serde for options",
    () => make(TierSaver, new MemoryTier(), "json"),
    "options",
    "takes an object of serde",
  ],
  [
    "MemorySaver: a misspelt option",
    () => make(MemorySaver, { maxvalueSize: "1mb" }),
    "maxvalueSize",
    "Did you mean maxValueSize?",
  ],
  ["MemorySaver: text", () => make(MemorySaver, "json"), "options", "takes an object of serde"],
  ["MemorySaver: serializer", () => make(MemorySaver, { serializer: serde }), "serializer", "Write serde"],
  [
    "MemorySaver: half a serde",
    () => make(MemorySaver, { serde: { dumpsTyped: () => 0 } }),
    "serde",
    "loadsTyped",
  ],
  ["MemorySaver: no serde", () => make(MemorySaver, { serde: null }), "serde", 'found "null"'],
  ["MemorySaver: an unknown policy", () => make(MemorySaver, { conflict: "merge" }), "conflict", '"branch"'],
  [
    "MemorySaver: a policy as onConflict",
    () => make(MemorySaver, { onConflict: "branch" }),
    "onConflict",
    "is the option conflict",
  ],
  [
    "encryption: a timeout that is a number",
    () => make(MemorySaver, { encryption: { ...encryption, keyTimeout: 10 } }),
    "encryption.keyTimeout",
    "units",
  ],
  [
    "encryption: no time",
    () => make(MemorySaver, { encryption: { ...encryption, keyTimeout: "0s" } }),
    "encryption.keyTimeout",
    "at least",
  ],
  [
    "MemorySaver: a size without a unit",
    () => make(MemorySaver, { patchMemory: "64" }),
    "patchMemory",
    "units",
  ],
  [
    "encryption: text",
    () => make(MemorySaver, { encryption: "hunter2" }),
    "encryption",
    "takes an object of keys",
  ],
  ["encryption: null", () => make(MemorySaver, { encryption: null }), "encryption", 'found "null"'],
  [
    "encryption: one key",
    () => make(MemorySaver, { encryption: { key: "hunter2" } }),
    "encryption.key",
    "Write keys and activeKey",
  ],
  [
    "encryption: refusePlainText",
    () => make(MemorySaver, { encryption: { ...encryption, refusePlainText: true } }),
    "encryption.refusePlainText",
    "Did you mean refusePlaintext?",
  ],
  [
    "encryption: a key that is text",
    () => make(MemorySaver, { encryption: { ...encryption, keys: { k: "hunter2" } } }),
    'encryption.keys["k"]',
    "32 bytes",
  ],
  [
    "StratigraphSerializer: unknownclass",
    () => make(StratigraphSerializer, { unknownClass: "plain" }),
    "unknownClass",
    "Did you mean unknownClasses?",
  ],
  [
    "StratigraphSerializer: an unknown way",
    () => make(StratigraphSerializer, { unknownClasses: "ignore" }),
    "unknownClasses",
    '"plain"',
  ],
  [
    "StratigraphSerializer: one type",
    () => make(StratigraphSerializer, { types: money }),
    "types",
    "Pass a list",
  ],
  [
    "StratigraphSerializer: a type that is none",
    () => make(StratigraphSerializer, { types: [Money] }),
    "options",
    "register takes an object",
  ],
  [
    "register: nothing",
    () => Reflect.apply(serde.register.bind(serde), undefined, []),
    "type",
    "Pass { name, class",
  ],
  [
    "register: toJSON",
    () => serde.register({ ...money, toJSON: () => 0 } as never),
    "toJSON",
    "Write toData",
  ],
  [
    "register: fromdata",
    () => serde.register({ ...money, fromdata: () => 0 } as never),
    "fromdata",
    "Did you mean fromData?",
  ],
  [
    "register: no way back",
    () => serde.register({ ...money, fromData: undefined } as never),
    "fromData",
    "Pass a function",
  ],
  [
    "register: an instance",
    () => serde.register({ ...money, class: new Money() } as never),
    "class",
    "Pass the class itself",
  ],
  [
    "register: a LangChain id that is text",
    () => serde.register({ id: "AIMessage", class: Money } as never),
    "id",
    "a list of strings",
  ],
];

describe.each([
  ["methods", methods],
  ["constructors", constructors],
])("wrong calls of %s", (_, rows) => {
  test.each(rows.map(([name, ...row]) => ({ name, row })))("$name", async ({ row: [work, field, says] }) => {
    const error = await errorOf(work);
    expect(error.data["field"]).toBe(field);
    expect(error.message).toContain(field);
    expect(error.message).toContain("found ");
    expect(error.message).toContain(says);
    expect(error.message).not.toContain("hunter2");
    expect(await everything()).toBe(before);
  });
});

describe("right calls pass", () => {
  test("undefined is as good as absent", async () => {
    expect(new MemorySaver({ serde: undefined, conflict: undefined, encryption: undefined })).toBeInstanceOf(
      TierSaver,
    );
    expect(make(MemorySaver, { conflcit: undefined })).toBeInstanceOf(TierSaver);
    expect(
      (await saver.listThreads({ filter: undefined, cursor: undefined, limit: undefined })).threads,
    ).toHaveLength(3);
    expect(
      (await call("list", at("ada"), { limit: undefined, before: undefined, filter: undefined })) as object,
    ).toMatchObject({ done: false });
    expect((await call("list", at("ada"), undefined)) as object).toMatchObject({ done: false });
    expect((await call("list", at("ada"), { limit: 0 })) as object).toMatchObject({ done: true });
    expect(
      new StratigraphSerializer({ types: undefined, unknownClasses: undefined } as object),
    ).toBeDefined();
    await saver.setup();
    expect(await everything()).toBe(before);
  });

  test("configs without a thread ask for none, or for all", async () => {
    expect(await saver.getTuple({})).toBeUndefined();
    expect(await saver.getTuple({ configurable: { user: "ada" } })).toBeUndefined();
    expect(await call("getTuple", { configurable: null })).toBeUndefined();
    const all = [];
    for await (const { config } of saver.list({})) all.push(config);
    expect(all).toHaveLength(9);
    expect(
      await saver.getTuple({ configurable: { thread_id: "ada", threadId: "a user's own" } }),
    ).toBeDefined();
  });

  test("prune and deleteForRuns take lists, empty ones too", async () => {
    await saver.prune([], { strategy: "delete" });
    await saver.deleteForRuns([]);
    expect(await everything()).toBe(before);
    await saver.prune(["ada"], { strategy: "keep_latest", keepLast: 2 });
    await saver.prune(["d"], { strategy: "keep_latest", keepLast: undefined });
    await saver.deleteForRuns(["a"]);
    const left = await Promise.all(
      threads.map(async (thread) => (await contents(tier, thread)).records.length),
    );
    expect(left).toEqual([0, 1, 2]);
  });

  test("a list that changes while it is pruned is pruned as it was", async () => {
    const ids = ["a", "d"];
    const pruning = saver.prune(ids, { strategy: "delete" });
    ids[1] = "ada";
    await pruning;
    const left = await Promise.all(
      threads.map(async (thread) => (await contents(tier, thread)).records.length),
    );
    expect(left).toEqual([0, 0, 3]);
  });

  test("MemorySaver takes a serializer, as LangGraph's does", () => {
    const official = new OfficialMemorySaver().serde;
    expect(new MemorySaver(official).serde).toBe(official);
    expect(new MemorySaver({ serde: official }).serde).toBe(official);
  });
});
