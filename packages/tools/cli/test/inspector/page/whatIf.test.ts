import type { RunEvent } from "../../../src/operations/index.ts";
import { expect, test } from "vitest";
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
