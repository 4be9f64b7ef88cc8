import { HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { undo } from "@stratigraph/branch";
import { MemorySaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import {
  asking,
  chat,
  deltaChat,
  human,
  on,
  textOf,
} from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";

test("a part of a message is set, and it stays a message; the graph goes on", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("Hello", "m1")] }, on("ada"));
  const before = await graph.getState(on("ada"));
  const context = testContext(saver);
  const input = { at: "ada", channel: "messages", path: "[0].content", value: '"Hi"' };
  const dry = await run("set", { ...input, dryRun: true }, context);
  expect(dry).not.toHaveProperty("checkpoint");
  expect((await graph.getState(on("ada"))).config).toEqual(before.config);
  const done = await run("set", input, context);
  expect(rendered("set", done)).toMatch(/^Set messages\[0\]\.content of ada.*\n {2}- "Hello"\n {2}\+ "Hi"\n/);
  expect(done).toMatchObject({ before: { value: "Hello" }, after: { value: "Hi" } });
  const state = await graph.getState(on("ada"));
  expect(state.values.messages[0]).toBeInstanceOf(HumanMessage);
  expect(state.values.messages[0]).toMatchObject({ id: "m1", content: "Hi" });
  expect(state.metadata).toMatchObject({ source: "update", step: before.metadata!.step + 1, parents: {} });
  expect(state.next).toEqual([]);
  expect(state.parentConfig).toMatchObject({ configurable: { checkpoint_id: done["from"] } });
  await graph.invoke({ messages: [human("more", "m2")] }, on("ada"));
  expect(textOf((await graph.getState(on("ada"))).values.messages)).toEqual([
    "Hi",
    "re: Hello",
    "more",
    "re: more",
  ]);
});

test("is refused if the head moved, or if a part of the value was cut or redacted", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("Hello", "m1")] }, on("ada"));
  const old = (await graph.getState(on("ada"))).config.configurable!["checkpoint_id"] as string;
  await graph.invoke({ messages: [human("again", "m2")] }, on("ada"));
  const context = testContext(saver);
  const set = (more: object) =>
    run("set", { at: "ada", channel: "title", value: '"x"', create: true, ...more }, context);
  await expect(set({ checkpoint: old })).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
  await expect(set({ value: "x" })).rejects.toThrow(/not JSON.*"Hello"/s);
  await expect(set({ value: '[{"lc":2,"type":"sg:cut","path":"","bytes":1}]' })).rejects.toThrow("was cut");
  await expect(set({ value: '{"lc":2,"type":"sg:redacted"}' })).rejects.toThrow("was redacted");
  await expect(set({ dryrun: true })).rejects.toThrow(/dryrun: is unknown; set takes .*dryRun/);
  await expect(set({ create: false })).rejects.toThrow(/no value in the channel "title"/);
  await expect(set({ channel: "mesages", create: false })).rejects.toThrow("messages");
  await expect(set({ channel: "branch:to:answer" })).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(
    set({ channel: "messages", value: '{"lc":1,"type":"constructor","id":["x","Nope"],"kwargs":{}}' }),
  ).rejects.toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining("Nope") as string });
  for (const value of ['{"lc":2,"type":"sg:nothing"}', `${"[".repeat(100_000)}${"]".repeat(100_000)}`])
    await expect(set({ value })).rejects.toMatchObject({ code: "INVALID_OPTION", data: { field: "value" } });
  const values = (await graph.getState(on("ada"))).values;
  expect(values.title).toBeUndefined();
  const [one, other] = await Promise.allSettled([set({ value: '"1"' }), set({ value: '"2"' })]);
  expect([one!.status, other!.status].sort()).toEqual(["fulfilled", "rejected"]);
});

test("what was due stays due, a DeltaChannel is set whole, and undo takes it back", async () => {
  const saver = new MemorySaver();
  const context = testContext(saver);
  const ask = asking(saver);
  await ask.invoke({ log: ["start"] }, on("u"));
  await run("set", { at: "u", channel: "log", value: '["begin"]' }, context);
  expect((await ask.getState(on("u"))).next).toEqual(["ask"]);
  await ask.invoke(null, on("u"));
  await ask.invoke(new Command({ resume: "ritz" }), on("u"));
  expect((await ask.getState(on("u"))).values.log).toEqual(["begin", "answer ritz", "end"]);
  const graph = deltaChat(saver, 1000);
  for (const text of ["one", "two"]) await graph.invoke({ messages: [human(text, text)] }, on("d"));
  const part = { at: "d", channel: "messages", value: '"uno"', path: "[0].content" };
  await expect(run("set", part, context)).rejects.toThrow(/only its graph can compute/);
  const withGraph = testContext(saver, { graph });
  await run("set", part, withGraph);
  expect(textOf((await graph.getState(on("d"))).values.messages)).toEqual([
    "uno",
    "re: one",
    "two",
    "re: two",
  ]);
  await undo(saver, "d");
  expect(textOf((await graph.getState(on("d"))).values.messages)).toEqual([
    "one",
    "re: one",
    "two",
    "re: two",
  ]);
  await run("set", part, withGraph);
  await graph.invoke({ messages: [human("three", "three")] }, on("d"));
  expect(textOf((await graph.getState(on("d"))).values.messages)).toEqual([
    "uno",
    "re: one",
    "two",
    "re: two",
    "three",
    "re: three",
  ]);
});

test("only messages may replace messages, also in a dry run", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("Hello", "m1")] }, on("ada"));
  const context = testContext(saver);
  const set = (value: string, more: object = {}) =>
    run("set", { at: "ada", channel: "messages", value, dryRun: true, ...more }, context);
  for (const value of ['"Hello"', "7", '["Hello"]', '[{"role":"user","content":"Hello"}]'])
    await expect(set(value)).rejects.toThrow("something other than a list of messages");
  await expect(set('"Hello"', { path: "[0]" })).rejects.toThrow("something other than a list of messages");
  const shown = await run<{ channels: { channel: string; value: unknown[] }[] }>(
    "show",
    { at: "ada" },
    context,
  );
  const value = shown.channels.find(({ channel }) => channel === "messages")!.value;
  await expect(set(JSON.stringify(value))).resolves.toMatchObject({
    after: { value: { length: value.length } },
  });
  await expect(set("[]")).resolves.toMatchObject({ after: { value: [] } });
});
