import type { RunEvent } from "../../../src/operations/index.ts";
import { answerForm, answerFrom, firstTexts } from "../../../src/operations/run/answerForm.ts";
import { answerProblems } from "../../../src/operations/run/answerSchema.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { inline } from "../../../page/changes/inline.ts";
import { settling } from "../../../page/views/merge/choices.ts";
import { likelyPart, partsOf } from "../../../page/views/whatif/parts.ts";
import { emptyTimeline, ended, told } from "../../../page/views/whatif/timeline.ts";

const message = (role: string, content: string) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", `${role}Message`],
  kwargs: { content },
});

test("of a conversation, the contents of its messages can be edited, and what a person said last is the likely one", () => {
  const conversation = [
    message("Human", "Hello"),
    message("AI", "Hi"),
    message("Human", "Bye"),
    message("AI", ""),
  ];
  expect(partsOf(conversation).slice(0, 3)).toEqual([
    { path: "", label: "The whole value" },
    { path: "[0].content", label: "[0] human: Hello" },
    { path: "[1].content", label: "[1] ai: Hi" },
  ]);
  expect(likelyPart(conversation)).toBe("[2].content");
  expect(likelyPart([message("AI", "x")])).toBe("[0].content");
  for (const value of [[], ["a"], {}, "text", null]) expect(likelyPart(value)).toBe("");
  expect(partsOf({ city: "Rome", "with space": 1 }).map(({ path }) => path)).toEqual(["", ".city"]);
  const long = Array.from({ length: 500 }, (_, n) => n);
  expect(partsOf(long).at(-1)).toEqual({ path: "[499]", label: "[499] 499" });
  expect(partsOf(long)).toHaveLength(201);
});

test("values are told on one line, with what stands for something else in words", () => {
  expect(inline([message("Human", "Hello"), { lc: 2, type: "sg:redacted" }])).toBe(
    "[human: Hello, (redacted)]",
  );
  expect(inline({ lc: 2, type: "sg:cut", begins: "abc", path: "", bytes: 9 })).toBe('"abc…');
  expect(inline({ type: "ai", data: { content: "", tool_calls: [{ name: "search" }] } })).toBe(
    "ai: calls search",
  );
  expect(inline("x".repeat(500), 10)).toHaveLength(11);
});

test("events become a timeline: pieces of a message in one, nodes that ended as they ended", () => {
  const node = (task: string, state: "started" | "ended" | "failed", ms?: number): RunEvent => ({
    type: "node",
    node: "agent",
    task,
    namespace: "",
    state,
    ...(ms === undefined ? {} : { ms }),
  });
  const says = (text: string, id = "m1"): RunEvent => ({
    type: "message",
    node: "agent",
    namespace: "",
    id,
    role: "ai",
    text,
  });
  const events = [
    says("lost"),
    node("1", "started"),
    says("Hel"),
    says("lo"),
    says("again", "m2"),
    { type: "custom", namespace: "", value: { done: 1 } } as const,
    node("1", "ended", 12),
    node("2", "started"),
  ];
  const timeline = ended(events.reduce(told, emptyTimeline));
  expect(timeline.nodes).toMatchObject([
    {
      task: "1",
      state: "ended",
      ms: 12,
      said: [{ text: "Hello" }, { text: "again" }, { role: "tells", text: '{"done":1}' }],
    },
    { task: "2", state: "stopped", said: [] },
  ]);
});

test("choices become strategies and answers; a value that isn't JSON yet leaves its channel open", () => {
  const choices = {
    a: { kind: "theirs" },
    b: { kind: "base" },
    c: { kind: "hand", text: "[1]" },
    d: { kind: "hand", text: "[" },
  } as const;
  expect(settling("ours", choices)).toEqual({
    strategy: ["ours", "a=theirs", "b=manual", "c=manual", "d=manual"],
    answers: { b: "base", c: { value: [1] } },
  });
  expect(settling("", {})).toEqual({ strategy: [], answers: {} });
});

test("a form has a field for each part that people can fill in, and JSON for the rest", () => {
  const schema = z.toJSONSchema(
    z.object({
      name: z.string().min(2).max(200).describe("As in the passport"),
      age: z.int().min(18).optional(),
      kind: z.enum(["a", "b"]).default("b"),
      level: z.union([z.literal(1), z.literal(2)]),
      sure: z.boolean(),
      version: z.literal("v1"),
      note: z.string().nullable().optional(),
      seats: z.array(z.enum(["window", "aisle"])).max(1),
      tags: z.array(z.string()),
      to: z.object({
        city: z.string(),
        deep: z.object({ deeper: z.object({ deepest: z.object({ x: z.string() }) }) }),
      }),
      maybe: z.object({ x: z.string() }).optional(),
      other: z.record(z.string(), z.number()).optional(),
    }),
  );
  const fields = answerForm(schema);
  expect(fields.map(({ name, kind, required, rule }) => [name, kind, required, rule])).toEqual([
    ["name", "text", true, "at least 2 characters, at most 200 characters"],
    ["age", "number", false, "a whole number, at least 18"],
    ["kind", "choice", true, ""],
    ["level", "choice", true, ""],
    ["sure", "boolean", true, ""],
    ["version", "choice", true, ""],
    ["note", "text", false, ""],
    ["seats", "choices", true, "at most 1"],
    ["tags", "list", true, "one a line"],
    ["to/city", "text", true, ""],
    ["to/deep/deeper", "json", true, "JSON, object"],
    ["maybe", "json", false, "JSON, object"],
    ["other", "json", false, "JSON, object"],
  ]);
  expect(fields[0]!.description).toBe("As in the passport");
  const first = firstTexts(fields);
  expect(first).toMatchObject({ name: "", kind: '"b"' });
  const texts = {
    ...first,
    ...{ name: "Ada", level: "2", sure: "false", tags: "x\n\n y ", "to/city": "Rome" },
    ...{ "to/deep/deeper": '{"deepest":{"x":"y"}}', seats: '["aisle"]' },
  };
  const made = answerFrom(fields, texts) as { answer: unknown };
  expect(made).toEqual({
    answer: {
      ...{
        name: "Ada",
        kind: "b",
        level: 2,
        sure: false,
        version: "v1",
        seats: ["aisle"],
        tags: ["x", " y "],
      },
      to: { city: "Rome", deep: { deeper: { deepest: { x: "y" } } } },
    },
  });
  expect(answerProblems(schema, made.answer)).toEqual([]);
  expect(
    answerFrom(fields, { ...texts, name: "A", age: "17.5", sure: "", other: "{", seats: "[1,2]" }),
  ).toEqual({
    problems: {
      name: "Expected: at least 2 characters, at most 200 characters.",
      age: "Expected: a whole number, at least 18.",
      sure: "An answer is needed here.",
      seats: "Expected: at most 1.",
      other: expect.stringContaining("isn’t JSON yet") as string,
    },
  });
});

test("a form of one field is the answer itself; hostile and endless schemas have a form, too", () => {
  const [only, ...others] = answerForm({ type: "string", title: "City" });
  expect([only, others]).toMatchObject([{ name: "", label: "City", kind: "text" }, []]);
  expect(answerFrom([only!], { "": "Rome" })).toEqual({ answer: "Rome" });
  for (const schema of [
    undefined,
    {},
    true,
    { $ref: "#" },
    { $ref: "#/$ref" },
    { type: ["string", "number"] },
  ])
    expect(answerForm(schema)).toMatchObject([{ name: "", kind: "json" }]);
  const many = Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`p${n}`, { type: "string" }]));
  expect(answerForm({ type: "object", properties: many })).toMatchObject([{ name: "", kind: "json" }]);
  const hostile = JSON.parse(
    '{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
  ) as object;
  const texts = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const { answer } = answerFrom(answerForm(hostile), texts) as { answer: object };
  expect(Object.getPrototypeOf(answer)).toBe(Object.prototype);
  expect(Object.keys(answer)).toEqual(["__proto__"]);
});
