// long file: one table of calls, each with the words of its error and what the official MemorySaver does with it
import {
  emptyCheckpoint,
  MemorySaver as OfficialMemorySaver,
  type CheckpointMetadata,
} from "@langchain/langgraph-checkpoint";
import { MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { beforeEach, describe, expect, test } from "vitest";
import { contents } from "./support.ts";

// Calls of LangGraph's own methods that are refused: with an error that names the field, says what was found and what to do, and
// nothing in the storage has changed. Each is made on the official MemorySaver of the installed version as well. What that one does
// with a call that it accepts is the reason why it is refused here. LangGraph's code and tests make none of these calls; those that
// they make are in the conformance suite (packages/tools/testing/src/conformance/calls).

const metadata: CheckpointMetadata = { source: "loop", step: 0, parents: {} };
const idAt = (n: number) => `1ef00000-0000-6000-8000-00000000000${n}`;
const at = (thread_id: unknown, more: object = {}) => ({ configurable: { thread_id, ...more } });
const under = at("ada", { checkpoint_ns: "", checkpoint_id: idAt(2) });
const checkpoint = { ...emptyCheckpoint(), id: idAt(9) };

interface Refusal {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly field: string;
  /** Part of the error's message. */
  readonly says: string;
  /** What the official MemorySaver does with it. Absent: it refuses it, too. */
  readonly official?: string;
}

/** Refused calls, by method. */
const refused: Readonly<Record<string, readonly Refusal[]>> = {
  getTuple: [
    { name: "nothing", args: [], field: "config", says: "found undefined. Pass a config" },
    { name: "null", args: [null], field: "config", says: "found null" },
    {
      name: "an id",
      args: ["ada"],
      field: "config",
      says: "Pass a config",
      official: "It finds none, as if there were no such thread.",
    },
    {
      name: "configurable that is text",
      args: [{ configurable: "ada" }],
      field: "config.configurable",
      says: "Pass a config",
      official: "It finds none.",
    },
    {
      name: "threadId",
      args: [{ configurable: { threadId: "ada" } }],
      field: "configurable.threadId",
      says: "thread_id",
      official: "It finds none.",
    },
    { name: "a thread that is a broken number", args: [at(7.5)], field: "thread_id", says: "found number" },
    { name: "a thread that is null", args: [at(null)], field: "thread_id", says: "found null" },
    { name: "a thread without a name", args: [at("")], field: "thread_id", says: "an empty string" },
    {
      name: "a namespace that is a number",
      args: [at("ada", { checkpoint_ns: 0 })],
      field: "checkpoint_ns",
      says: "found number",
    },
    {
      name: "an id that is an object",
      args: [at("ada", { checkpoint_id: { $ne: null } })],
      field: "checkpoint_id",
      says: "found object",
    },
  ],
  list: [
    { name: "nothing", args: [], field: "config", says: "Pass a config" },
    {
      name: "threadId",
      args: [{ configurable: { threadId: "ada" } }],
      field: "configurable.threadId",
      says: "LangGraph calls it thread_id",
      official: "It lists the checkpoints of all threads.",
    },
    {
      name: "filters",
      args: [at("ada"), { filters: { step: 1 } }],
      field: "filters",
      says: "Did you mean filter?",
      official: "It lists all checkpoints.",
    },
    {
      name: "metadata",
      args: [at("ada"), { metadata: { step: 1 } }],
      field: "metadata",
      says: "Write filter",
      official: "It lists all checkpoints.",
    },
    {
      name: "a limit as text",
      args: [at("ada"), { limit: "1" }],
      field: "limit",
      says: "whole number",
      official: 'It takes "10" for 10, and "ten" for none.',
    },
    {
      name: "a limit below 0",
      args: [at("ada"), { limit: -1 }],
      field: "limit",
      says: "0 or more",
      official: "It lists none, where -1 elsewhere stands for all.",
    },
    {
      name: "half a checkpoint",
      args: [at("ada"), { limit: 1.5 }],
      field: "limit",
      says: 'found "1.5"',
      official: "It lists two.",
    },
    {
      name: "a limit that is null",
      args: [at("ada"), { limit: null }],
      field: "limit",
      says: 'found "null"',
      official: "It lists none.",
    },
    {
      name: "a limit without an end",
      args: [at("ada"), { limit: Infinity }],
      field: "limit",
      says: "leave it out for all",
      official: "It lists all, as it does without a limit. A database has no such number.",
    },
    {
      name: "before an id",
      args: [at("ada"), { before: "1ef" }],
      field: "before",
      says: "Pass a config",
      official: "It lists all checkpoints.",
    },
    {
      name: "before null",
      args: [at("ada"), { before: null }],
      field: "before",
      says: "found null",
      official: "It lists all checkpoints.",
    },
    {
      name: "before a number",
      args: [at("ada"), { before: { configurable: { checkpoint_id: 7 } } }],
      field: "checkpoint_id",
      says: "Pass a string",
    },
    {
      name: "a filter that is text",
      args: [at("ada"), { filter: "loop" }],
      field: "filter",
      says: "Pass an object",
      official: "It lists none, as no metadata has the letters of a text.",
    },
    {
      name: "a filter that is a Map",
      args: [at("ada"), { filter: new Map([["source", "input"]]) }],
      field: "filter",
      says: "Pass an object",
      official: "It lists all checkpoints.",
    },
    {
      name: "a filter that is null",
      args: [at("ada"), { filter: null }],
      field: "filter",
      says: 'found "null"',
      official: "It lists all checkpoints.",
    },
    {
      name: "null",
      args: [at("ada"), null],
      field: "options",
      says: "takes an object of limit, before, filter",
      official: "It lists all checkpoints.",
    },
    {
      name: "a number",
      args: [at("ada"), 10],
      field: "options",
      says: 'found "10"',
      official: "It lists all checkpoints.",
    },
  ],
  put: [
    { name: "nothing", args: [], field: "checkpoint", says: "Pass a checkpoint" },
    {
      name: "no config",
      args: [undefined, checkpoint, metadata, {}],
      field: "config",
      says: "Pass a config",
    },
    { name: "no thread", args: [{}, checkpoint, metadata, {}], field: "thread_id", says: "found undefined" },
    {
      name: "a thread that is an object",
      args: [at({ foo: 1 }), checkpoint, metadata, {}],
      field: "thread_id",
      says: "found object",
    },
    {
      name: "a checkpoint that is text",
      args: [at("ada"), "1ef", metadata, {}],
      field: "checkpoint",
      says: 'found "1ef"',
    },
    {
      name: "a checkpoint without an id",
      args: [at("ada"), { ...checkpoint, id: undefined }, metadata, {}],
      field: "checkpoint.id",
      says: "Pass a string",
    },
    {
      name: "values that are a list",
      args: [at("ada"), { ...checkpoint, channel_values: [] }, metadata, {}],
      field: "checkpoint.channel_values",
      says: "by channel",
      official: "It stores channels named by numbers.",
    },
    {
      name: "versions that are a number",
      args: [at("ada"), { ...checkpoint, channel_versions: 3 }, metadata, {}],
      field: "checkpoint.channel_versions",
      says: "by channel",
      official: "It stores no versions.",
    },
    {
      name: "seen versions that are text",
      args: [at("ada"), { ...checkpoint, versions_seen: "n" }, metadata, {}],
      field: "checkpoint.versions_seen",
      says: "by channel or node",
      official: "It stores the text, which LangGraph can't read.",
    },
    {
      name: "metadata that is text",
      args: [at("ada"), checkpoint, "loop", {}],
      field: "metadata",
      says: "Pass an object",
      official: "It stores the text.",
    },
    {
      name: "metadata that is a list",
      args: [at("ada"), checkpoint, [metadata], {}],
      field: "metadata",
      says: 'found "an array"',
      official: "It stores the list.",
    },
    {
      name: "no metadata",
      args: [at("ada"), checkpoint, undefined, {}],
      field: "metadata",
      says: 'found "undefined"',
      official: "It stores none, and every list with a filter fails from then on.",
    },
    {
      name: "metadata that is null",
      args: [at("ada"), checkpoint, null, {}],
      field: "metadata",
      says: 'found "null"',
      official: "It stores null, and every list with a filter fails from then on.",
    },
    {
      name: "newVersions that are a list",
      args: [at("ada"), checkpoint, metadata, ["n"]],
      field: "newVersions",
      says: 'found "an array"',
      official: "It ignores them. Other savers take them for channels named by numbers, and lose the values.",
    },
    {
      name: "newVersions that are null",
      args: [at("ada"), checkpoint, metadata, null],
      field: "newVersions",
      says: "or leave it out",
      official: "It ignores them.",
    },
  ],
  putWrites: [
    { name: "no config", args: [undefined, [], "task"], field: "config", says: "Pass a config" },
    {
      name: "no checkpoint_id",
      args: [at("ada"), [["n", 1]], "task"],
      field: "checkpoint_id",
      says: "name it in config.configurable",
    },
    {
      name: "a checkpoint_id that is an object",
      args: [at("ada", { checkpoint_ns: "", checkpoint_id: { $ne: null } }), [], "task"],
      field: "checkpoint_id",
      says: "found object",
    },
    {
      name: "an object",
      args: [under, { n: 1 }, "task"],
      field: "writes",
      says: "a list of [channel, value]",
    },
    {
      name: "one write",
      args: [under, ["n", 1], "task"],
      field: "writes[0]",
      says: "Pass [channel, value]",
    },
    {
      name: "a channel alone",
      args: [under, [["n"]], "task"],
      field: "writes[0]",
      says: 'found "a list of 1"',
      official: "It stores undefined.",
    },
    {
      name: "what getTuple answers",
      args: [under, [["task", "n", 1]], "task"],
      field: "writes[0]",
      says: 'found "a list of 3"',
      official: "It stores the task's id as the channel, and the channel as the value.",
    },
    {
      name: "a channel that is a number",
      args: [
        under,
        [
          ["n", 1],
          [2, 1],
        ],
        "task",
      ],
      field: "writes[1]",
      says: "a string as channel",
      official: "It stores a channel that no graph has.",
    },
    {
      name: "a path that is no text",
      args: [under, [["n", 1]], "task", ["__pregel_pull", "n"]],
      field: "taskPath",
      says: "Pass the path as text",
      official: "It stores it, and since checkpoint 1.2.1 it can't order the checkpoint's writes any more.",
    },
    { name: "no task", args: [under, [["n", 1]]], field: "taskId", says: "found undefined" },
    { name: "no task, nothing to write", args: [under, []], field: "taskId", says: "Pass a string." },
    {
      name: "a task without a name",
      args: [under, [["n", 1]], ""],
      field: "taskId",
      says: "an empty string",
    },
    { name: "a task that is a number", args: [under, [["n", 1]], 7], field: "taskId", says: "found number" },
  ],
  deleteThread: [
    { name: "nothing", args: [], field: "threadId", says: "found undefined" },
    { name: "a list", args: [["ada"]], field: "threadId", says: "found an array" },
    { name: "a config", args: [at("ada")], field: "threadId", says: "found object" },
    { name: "no name", args: [""], field: "threadId", says: "an empty string" },
  ],
  getDeltaChannelHistory: [
    { name: "nothing", args: [], field: "options", says: "config and channels" },
    {
      name: "one channel",
      args: [{ config: at("ada"), channels: "n" }],
      field: "channels",
      says: "list of names",
      official: "It takes the letters of a text for channels.",
    },
    { name: "no config", args: [{ channels: ["n"] }], field: "config", says: "Pass a config" },
  ],
};

let tier: MemoryTier;
let saver: TierSaver;

beforeEach(async () => {
  tier = new MemoryTier();
  saver = new TierSaver(tier);
  await fill(saver);
});

async function fill(into: TierSaver | OfficialMemorySaver): Promise<void> {
  let config: object = at("ada", { checkpoint_ns: "" });
  for (const n of [1, 2, 3]) {
    const parts = { id: idAt(n), channel_values: { n }, channel_versions: { n } };
    config = await (into as TierSaver).put(config, { ...emptyCheckpoint(), ...parts }, metadata, { n });
  }
}

/** Calls a method without its types. Of what it lists, the first is taken. */
async function call(of: object, method: string, args: readonly unknown[]): Promise<unknown> {
  const answer = (Reflect.get(of, method) as (...args: readonly unknown[]) => unknown).apply(of, [...args]);
  return await (method === "list" ? (answer as AsyncGenerator).next() : answer);
}

async function outcomeOf(work: Promise<unknown>): Promise<{ readonly error?: unknown }> {
  try {
    await work;
    return {};
  } catch (error) {
    return { error };
  }
}

describe.each(Object.entries(refused))("refused calls of %s", (method, rows) => {
  test.each(rows)("$name", async ({ args, field, says }) => {
    const before = await contents(tier, "ada");
    expect(before.records).toHaveLength(3);
    const { error } = await outcomeOf(call(saver, method, args));
    expect(error).toBeInstanceOf(StratigraphError);
    const { code, data, message } = error as StratigraphError;
    expect(["INVALID_OPTION", "INVALID_ADDRESS"]).toContain(code);
    expect(data["field"]).toBe(field);
    expect(message).toContain(field);
    expect(message).toContain("found ");
    expect(message).toContain(says);
    expect(await contents(tier, "ada")).toEqual(before);
  });

  test.each(rows)("$name: what the official MemorySaver does", async ({ args, official }) => {
    const other = new OfficialMemorySaver();
    await fill(other);
    const { error } = await outcomeOf(call(other, method, args));
    expect(error === undefined ? "accepted" : "refused").toBe(
      official === undefined ? "refused" : "accepted",
    );
  });
});

/**
 * LangGraph's tests of its SqliteSaver, PostgresSaver and MongoDBSaver put a second checkpoint like this ("should save and retrieve
 * checkpoints correctly"). The parent may have been there and pruned since, so that the put is late, and the head isn't moved by it.
 */
test("a put beside the head, under a parent that isn't there, is a conflict; the official MemorySaver moves the head", async () => {
  const args = [at("ada", { checkpoint_id: "2024-04-18T17:19:07.952Z" }), checkpoint, metadata, {}];
  const before = await contents(tier, "ada");
  const { error } = await outcomeOf(call(saver, "put", args));
  expect(error).toMatchObject({ code: "CHECKPOINT_CONFLICT", data: { head: idAt(3) } });
  expect(await contents(tier, "ada")).toEqual(before);
  const other = new OfficialMemorySaver();
  await fill(other);
  await call(other, "put", args);
  expect((await other.getTuple(at("ada")))?.checkpoint.id).toBe(checkpoint.id);
});

/** The official MemorySaver's tests refuse these names (checkpoint/src/tests/memory-pollution.test.ts), which it keeps as properties. */
test.each(["__proto__", "constructor", "prototype"])(
  "%s is a name like any other; the official MemorySaver refuses it",
  async (name) => {
    const config = at(name, { checkpoint_ns: name });
    const put = [config, { ...checkpoint, id: name, channel_values: { [name]: 1 } }, metadata];
    const stored = await call(saver, "put", put);
    expect(stored).toEqual(at(name, { checkpoint_ns: name, checkpoint_id: name }));
    await call(saver, "putWrites", [stored, [[name, 2]], name]);
    const tuple = await saver.getTuple(config);
    expect(Object.entries(tuple?.checkpoint.channel_values ?? {})).toEqual([[name, 1]]);
    expect(tuple?.pendingWrites).toEqual([[name, name, 2]]);
    await saver.deleteThread(name);
    expect(await saver.getTuple(config)).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
    const other = new OfficialMemorySaver();
    const calls: [string, unknown[]][] = [
      ["put", put],
      ["putWrites", [stored, [], name]],
      ["getTuple", [config]],
      ["deleteThread", [name]],
    ];
    for (const [method, args] of calls)
      expect(String((await outcomeOf(call(other, method, args))).error)).toContain("would mutate");
  },
);
