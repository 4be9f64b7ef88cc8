import { Annotation, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect } from "vitest";
import type { GraphContext } from "./context.ts";
import { DURABILITIES } from "./durabilities.ts";

const State = Annotation.Root({ value: Annotation<unknown>, passed: Annotation<unknown> });

const graphOf = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("pass", (s) => ({ passed: s.value }))
    .addEdge(START, "pass")
    .compile({ checkpointer, interruptBefore: ["pass"] });

const deep = (depth: number): unknown => (depth === 0 ? "bottom" : { down: [deep(depth - 1)] });

const kinds: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  zero: 0,
  "a negative fraction": -1.5e-7,
  "the largest integer": Number.MAX_SAFE_INTEGER,
  "the largest number": Number.MAX_VALUE,
  "an empty string": "",
  "text in many scripts": "ä ß 漢字 עברית 😀 👨‍👩‍👧 \u2028 \ufeff",
  "control characters": "tab\t newline\n return\r escape\u001b bell\u0007",
  "quotes and backslashes": `" ' \` \\ \\n \\u0000 $1 {}`,
  "text like JSON": '{"lc":1,"type":"constructor"}',
  "an empty list": [],
  "an empty object": {},
  "a list with null": [null, [null], { a: null }],
  "odd keys": { "": 1, "a b": 2, "ü😀": 3, "a.b[0]": 4, constructor: 5, toString: 6, "1": 7 },
  "something deep": deep(60),
  "a long list": Array.from({ length: 3000 }, (_, index) => ({ index, text: `item ${index}` })),
  "a large text": "0123456789abcdef".repeat(64 * 1024),
};

/** Values of all JSON types come back unchanged, in the state and in what a node sees. */
export const valueTests = ({ test, saver, reopen, thread }: GraphContext): void => {
  for (const [name, value] of Object.entries(kinds)) {
    test(name, async () => {
      const config = { ...thread(), durability: DURABILITIES[name.length % 3] ?? "sync" };
      await graphOf(saver()).invoke({ value }, config);
      const graph = graphOf(await reopen());
      expect((await graph.getState(config)).values.value).toEqual(value);
      await graph.invoke(null, config);
      const { values } = await graphOf(await reopen()).getState(config);
      expect(values.value).toEqual(value);
      expect(values.passed).toEqual(value);
    });
  }

  test("null takes the place of a value", async () => {
    const config = thread();
    await graphOf(saver()).invoke({ value: "something" }, config);
    await graphOf(await reopen()).updateState(config, { value: null }, "__start__");
    expect((await graphOf(await reopen()).getState(config)).values.value).toBe(null);
  });

  test("bytes stay bytes", async () => {
    const config = thread();
    const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
    await graphOf(saver()).invoke({ value: bytes }, config);
    const { value } = (await graphOf(await reopen()).getState(config)).values as { value: Uint8Array };
    expect(value).toBeInstanceOf(Uint8Array);
    expect(Array.from(value)).toEqual(Array.from(bytes));
  });
};
