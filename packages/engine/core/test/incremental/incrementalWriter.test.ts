import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { payloadHead, payloadOf } from "../../src/encode/blobFrame.ts";
import { contentHash, IncrementalHash } from "../../src/codec/index.ts";
import { apply, diffAdded } from "../../src/patch/index.ts";
import type { Payload } from "../../src/incremental/payload.ts";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { IncrementalWriter } from "../../src/incremental/incrementalWriter.ts";
import { officialCorpus } from "../serde/corpus.ts";

const serde = new StratigraphSerializer();
const head = payloadHead("json");

/** Writes one value after another, and fails where the bytes, the hash or the length that is said to be unchanged is wrong. */
function successive(): (value: unknown[]) => { unchanged: number; length: number } {
  const writer = new IncrementalWriter();
  const hash = new IncrementalHash();
  const all: [Payload, string][] = [];
  let before: Uint8Array = new Uint8Array(0);
  return (value) => {
    const { payload, unchanged } = serde.dumpsIncremental(value, writer, head)!;
    const whole = payloadOf(...serde.dumps(value));
    const bytes = payload.bytes();
    expect(Buffer.from(bytes).equals(whole)).toBe(true);
    expect(Buffer.from(payload.temporaryView()).equals(whole)).toBe(true);
    expect(Buffer.from(before.subarray(0, unchanged)).equals(bytes.subarray(0, unchanged))).toBe(true);
    expect(hash.of(payload.buffer.prefix(payload.prefixLength), payload.end, unchanged)).toBe(
      contentHash(whole),
    );
    // Earlier payloads stay as they were, whatever was appended to their buffer.
    for (const [earlier, name] of all) {
      expect(contentHash(earlier.temporaryView())).toBe(name);
      if (!payload.continues(earlier)) continue;
      const patch = diffAdded(
        payload.buffer.prefix(payload.prefixLength),
        earlier.prefixLength,
        payload.end.length,
      );
      expect(Buffer.from(apply(earlier.bytes(), patch)).equals(whole)).toBe(true);
    }
    all.push([payload, contentHash(whole)]);
    before = bytes;
    return { unchanged, length: bytes.length };
  };
}

function message(n: number): BaseMessage {
  const content = `message ${n} with "quotes" and wide characters: ü 漢 🎉`;
  if (n % 3 === 0) return new HumanMessage({ content, id: `${n}` });
  if (n % 3 === 1) return new ToolMessage({ content, tool_call_id: `call_${n}`, artifact: { rows: [n] } });
  const call = { name: "look", args: { n, nested: [{ n }] }, id: `call_${n}`, type: "tool_call" as const };
  return new AIMessage({ content, tool_calls: [call] });
}

const messages = Array.from({ length: 30 }, (_, n) => message(n));

test("items at the beginning stay unchanged, whatever comes after them", () => {
  const put = successive();
  expect(put(messages.slice(0, 10)).unchanged).toBe(0);
  const ten = put(messages.slice(0, 10));
  expect(ten.unchanged).toBe(ten.length - 1);
  expect(put(messages).unchanged).toBe(ten.length - 1);
  expect(put(messages.with(5, message(99))).unchanged).toBeLessThan(ten.length);
  expect(put([]).unchanged).toBe(head.length + 1);
  put(messages.slice(3));
});

test("a change in place is seen, wherever it is", () => {
  const changes: ((list: BaseMessage[]) => void)[] = [
    (list) => (list[0]!.content = "new"),
    (list) => (list[2] as AIMessage).tool_calls![0]!.args["nested"][0].n++,
    (list) => (list[2]!.additional_kwargs["late"] = { a: 1 }),
    (list) => delete list[2]!.additional_kwargs["late"],
    (list) => (list[3]!.id = "other"),
    (list) => (list[3]!.name = "set after it was built"),
    (list) => ((list[4] as ToolMessage).artifact.rows[0] = -0),
    (list) => ((list[4] as ToolMessage).artifact = undefined),
    (list) => ((list[4] as ToolMessage).status = "error"),
    (list) => (list[5]!.response_metadata = { tokens: Number.NaN }),
    (list) => ((list[5]!.response_metadata as Record<string, unknown>)["tokens"] = 3n),
    (list) => (list[5]!.content = [{ type: "text", text: "a block" }]),
    (list) => ((list[5]!.content as { text: string }[])[0]!.text = "another"),
    (list) => (list[5]!.content as unknown[]).push({ type: "text", text: "more" }),
  ];
  const list = messages.slice(0, 12).map((_, n) => message(n));
  const put = successive();
  put(list);
  for (const change of changes) {
    change(list);
    const { unchanged, length } = put(list);
    expect(unchanged, String(change)).toBeLessThan(length - 1);
  }
});

test("order of keys, kinds of objects and odd values make a difference", () => {
  const put = successive();
  const odd: unknown[][] = [
    [{ a: 1, b: 2 }],
    [{ b: 2, a: 1 }],
    [{ a: 1 }],
    [{ a: 1, b: undefined }],
    [{ a: 1, b: null }],
    [[1]],
    [{ 0: 1 }],
    [Object.assign(Object.create(null), { a: 1 })],
    [new Map([["a", 1]])],
    [{ a: new Date(0) }],
    [{ a: new Date(1) }],
    [new Uint8Array([1])],
    [new Uint8Array([2])],
    [-0],
    [0],
    [NaN],
    ["1"],
    [undefined],
    [null],
    [Array(2)],
    [{ lc: 1, type: "constructor", id: ["x"], kwargs: {} }],
    [new Error("one")],
    [new Error("two")],
  ];
  for (const value of odd) put(value);
  for (const value of odd) {
    put([...value, "tail"]);
    put([...value, "tail", "more"]);
  }
});

test("items after one that can only be compared as bytes stay unchanged too", () => {
  const put = successive();
  const when = new Date(0);
  const before = put([{ when }, "b", "c"]);
  expect(put([{ when: new Date(0) }, "b", "c", "d"]).unchanged).toBe(before.length - 1);
  when.setTime(1);
  expect(put([{ when }, "b", "c", "d"]).unchanged).toBeLessThan(before.length - 1);
});

test("a refused value leaves the version before remembered", () => {
  const writer = new IncrementalWriter();
  const good = serde.dumpsIncremental(["a", "b"], writer, head)!;
  expect(() => serde.dumpsIncremental(["a", "b", { f: () => 1 }], writer, head)).toThrow(/\[2\]\.f/);
  expect(serde.dumpsIncremental(["a", "b", "c"], writer, head)!.unchanged).toBe(good.payload.length - 1);
  const cyclic: unknown[] = ["a"];
  cyclic.push({ cyclic });
  expect(() => serde.dumpsIncremental(cyclic, writer, head)).toThrow(/cycle/);
});

test("only arrays are written this way", () => {
  class Rows extends Array<unknown> {}
  for (const value of [{}, "text", null, new Rows(), new Uint8Array(3)])
    expect(serde.dumpsIncremental(value, new IncrementalWriter(), head)).toBeUndefined();
});

test("random histories, with changes in place, are written as each value alone is", () => {
  const corpus = Object.values(officialCorpus()).filter((value) => typeof value !== "function");
  const item = fc.oneof(
    fc.nat(40).map(message),
    fc.constantFrom(...corpus),
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.string({ unit: "grapheme", maxLength: 3 }), fc.jsonValue({ maxDepth: 2 })),
  );
  const edit = fc.record({
    at: fc.nat(12),
    removed: fc.nat(4),
    added: fc.array(item, { maxLength: 3 }),
    inPlace: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), fc.array(edit, { maxLength: 8 }), (start, edits) => {
      const put = successive();
      const list = [...start];
      put(list);
      for (const { at, removed, added, inPlace } of edits) {
        const touched = list[at];
        if (inPlace && typeof touched === "object" && touched !== null && Object.isExtensible(touched))
          (touched as { touched?: unknown }).touched = `${added.length} at ${at}`;
        else list.splice(at, removed, ...added);
        put(list);
      }
    }),
    { numRuns: 300 },
  );
});
