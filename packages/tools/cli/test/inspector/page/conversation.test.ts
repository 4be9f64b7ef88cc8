import { redactedRecord } from "../../../src/operations/values/records.ts";
import {
  AIMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  type AIMessageFields,
  type BaseMessage,
} from "@langchain/core/messages";
import { MemorySaver } from "@stratigraph/core";
import { cut } from "../../../src/operations/values/cut.ts";
import { expect, test } from "vitest";
import { isConversation, messageOf, turnsOf } from "../../../page/values/messages.ts";
import { jsonIn, textPieces, visible, wrapped } from "../../../page/values/text.ts";

const { serde } = new MemorySaver();

async function json(messages: readonly BaseMessage[]): Promise<unknown> {
  return JSON.parse(Buffer.from((await serde.dumpsTyped(messages))[1]).toString());
}

/** A message with fields that the types of this version know less of. */
const says = (fields: object) => new AIMessage(fields as AIMessageFields);

const call = (id: string, name = "look") => ({ id, name, args: { at: id }, type: "tool_call" as const });

test("results stand beneath the calls they answer; those without a call stay in the conversation", async () => {
  const value = await json([
    new HumanMessage({ content: "Look!", id: "h1" }),
    new AIMessage({ content: "", id: "a1", tool_calls: [call("c1"), call("c2", "search")] }),
    new ToolMessage({ content: "second", tool_call_id: "c2", id: "t2" }),
    new ToolMessage({ content: "first", tool_call_id: "c1", id: "t1", status: "error" }),
    new ToolMessage({ content: "first again", tool_call_id: "c1", id: "t3" }),
    new ToolMessage({ content: "of nothing", tool_call_id: "c9", id: "t9" }),
    new AIMessage({ content: "Done", id: "a2", tool_calls: [call("c3")] }),
  ]);
  expect(isConversation(value)).toBe(true);
  const turns = turnsOf(value, []);
  expect(turns.map((turn) => (turn.kind === "message" ? turn.message.id : turn.kind))).toEqual([
    "h1",
    "a1",
    "t3",
    "t9",
    "a2",
  ]);
  const [, asked, , , last] = turns;
  expect(asked).toMatchObject({
    calls: [
      {
        name: "look",
        args: { at: "c1" },
        path: [1, "tool_calls", 0, "args"],
        result: { id: "t1", failed: true },
      },
      { name: "search", result: { id: "t2", failed: false } },
    ],
  });
  expect(last).toMatchObject({ calls: [{ id: "c3", result: undefined }] });
});

test("a result before a call with its id doesn't belong to the call", async () => {
  const value = await json([
    new ToolMessage({ content: "early", tool_call_id: "c1", id: "t1" }),
    new AIMessage({ content: "", id: "a1", tool_calls: [call("c1")] }),
  ]);
  expect(turnsOf(value, [])).toMatchObject([
    { message: { id: "t1" } },
    { message: { id: "a1" }, calls: [{ result: undefined }] },
  ]);
});

test("blocks: text, reasoning, images that aren't loaded; usage, model and why it stopped", async () => {
  const value = (await json([
    new HumanMessage({
      id: "h1",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(4000)}` } },
        { type: "image_url", image_url: { url: "https://example.org/a.png" } },
      ],
    }),
    says({
      id: "a1",
      content: [
        { type: "thinking", thinking: "Hm." },
        { type: "text", text: "A picture." },
      ] as never,
      usage_metadata: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
      response_metadata: { model_name: "m-1", finish_reason: "length" },
    }),
    new SystemMessage("Be brief."),
    new RemoveMessage({ id: "h1" }),
  ])) as unknown[];
  expect(messageOf(value[0], 0, [0])).toMatchObject({
    role: "human",
    blocks: [
      { kind: "text", text: "What is this?", path: [0, "content", 0, "text"] },
      { kind: "media", name: "image url", about: "image/png · 4 kB" },
      { kind: "media", about: "https://example.org/a.png" },
    ],
  });
  expect(messageOf(value[1], 1, [1])).toMatchObject({
    role: "ai",
    blocks: [
      { kind: "reasoning", text: "Hm." },
      { kind: "text", text: "A picture." },
    ],
    usage: { input: 12, output: 3, total: 15 },
    model: "m-1",
    finish: "length",
  });
  expect(messageOf(value[3], 3, [3])).toMatchObject({ role: "remove", id: "h1" });
});

test("messages that were cut, left out or redacted", async () => {
  const long = "word ".repeat(4000);
  const value = await json([
    ...Array.from({ length: 60 }, (_, n) => new HumanMessage({ content: `number ${n}`, id: `m${n}` })),
    new AIMessage({ content: long, id: "long" }),
  ]);
  const shown = cut({ value, path: [], from: 0 }, 3000);
  expect(isConversation(shown)).toBe(true);
  const turns = turnsOf(shown, []);
  const gap = turns.find((turn) => turn.kind === "gap");
  expect(gap).toMatchObject({ gap: { from: 1 } });
  const last = turns.at(-1)!;
  expect(last).toMatchObject({
    message: { index: 60, path: [60], blocks: [{ kind: "text", cutBytes: long.length + 2 }] },
  });
  expect(turnsOf([redactedRecord, (value as unknown[])[0]], [])).toMatchObject([
    { kind: "hidden", index: 0 },
    { kind: "message" },
  ]);
  expect(isConversation([redactedRecord])).toBe(false);
  expect(isConversation(["a", (value as unknown[])[0]])).toBe(false);
});

test("messages as plain data: as diffs have them, and as OpenAI's API does", () => {
  expect(messageOf({ type: "human", data: { content: "Hi", id: "m1" } }, 0, [])).toMatchObject({
    role: "human",
    id: "m1",
  });
  const called = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
  };
  expect(messageOf(called, 0, [])).toMatchObject({
    role: "ai",
    blocks: [],
    calls: [{ name: "look", args: "{}" }],
  });
  expect(messageOf({ role: "admin", content: "no message" }, 0, [])).toBeUndefined();
});

test("fenced blocks are code; nothing else is interpreted", () => {
  expect(textPieces("Look:\n\n```ts\nconst a = `b`;\n```\n<b>that</b> is **it**")).toEqual([
    { kind: "prose", text: "Look:" },
    { kind: "code", text: "const a = `b`;", language: "ts" },
    { kind: "prose", text: "<b>that</b> is **it**" },
  ]);
  expect(textPieces("~~~\na\n```\nb")).toEqual([{ kind: "code", text: "a\n```\nb", language: "" }]);
  expect(textPieces("a\n\n\nb")).toEqual([{ kind: "prose", text: "a\n\n\nb" }]);
  expect(jsonIn(' {"a":[1]}')).toEqual({ a: [1] });
  expect(jsonIn("{a}")).toBeUndefined();
});

test("lines break between words, and characters that can't be seen are written out", () => {
  expect(wrapped("one two three four", 9)).toEqual(["one two ", "three ", "four"]);
  expect(wrapped("漢字漢字", 4)).toEqual(["漢字", "漢字"]);
  expect(wrapped("aaaaaaaaaa", 4)).toEqual(["aaaa", "aaaa", "aa"]);
  expect(wrapped("🙂🙂🙂", 4)).toEqual(["🙂🙂", "🙂"]);
  expect(visible("a\u202Eb\u0000c\n\td")).toBe("a\\u202eb\\u0000c\n\td");
});
