import fc from "fast-check";
import { Document } from "@langchain/core/documents";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { DeltaSnapshot, MemorySaver } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { inRounds } from "../../../../../test/rounds.ts";
import { difference } from "./difference.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });
const key = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom(
    "lc",
    "type",
    "id",
    "kwargs",
    "value",
    "__proto__",
    "constructor",
    "toJSON",
    "__lc_escaped__",
  ),
);
const bytes = fc.uint8Array({ maxLength: 20 });

const leaf = fc.oneof(
  fc.anything({ maxDepth: 0, withBigInt: true }),
  fc.double(),
  fc.constantFrom(1, 2, "constructor", "undefined", "sg:plain", "delta_snapshot", -0),
  fc.date({ noInvalidDate: false }),
  bytes,
  bytes.map((value) => Buffer.from(value)),
  bytes.map((value) => value.buffer.slice(0)),
  bytes.map((value) => new Uint16Array(value)),
  fc.float64Array({ maxLength: 4 }),
  fc.bigInt64Array({ maxLength: 4 }),
  fc.webUrl().map((url) => new URL(url)),
  fc.constantFrom(/a+/g, new RegExp("")),
);

const { value } = fc.letrec<{ value: unknown; kwargs: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 5 }),
    fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie("value"), { maxLength: 3 }).map((items) => new Set(items)),
    tie("value").map((inner) => new DeltaSnapshot(inner)),
    fc.tuple(text, tie("kwargs")).map(([pageContent, metadata]) => new Document({ pageContent, metadata })),
    fc
      .tuple(fc.constantFrom(Error, TypeError, RangeError, SyntaxError), text, tie("value"))
      .map(([errorClass, message, cause]) => new errorClass(message, { cause })),
    fc.array(tie("value"), { maxLength: 2 }).map((errors) => new AggregateError(errors, "many")),
    fc
      .tuple(text, tie("kwargs"))
      .map(([content, additional_kwargs]) => new HumanMessage({ content, additional_kwargs, id: content })),
    fc
      .tuple(text, tie("value"))
      .map(
        ([content, artifact]) => new ToolMessage({ content, artifact, tool_call_id: "1", status: "error" }),
      ),
    fc
      .tuple(text, tie("kwargs"))
      .map(([content, args]) => new AIMessage({ content, tool_calls: [{ id: "c", name: "n", args }] })),
    fc.tuple(text, tie("kwargs")).map(([content, args]) => {
      return new AIMessageChunk({
        content,
        tool_calls: [{ id: "c", name: "n", args }],
        response_metadata: args,
      });
    }),
  ),
  kwargs: fc.dictionary(key, tie("value"), { maxKeys: 3 }),
}));

const serde = new StratigraphSerializer();

it("keeps every supported value exactly, and writes it the same again", () => {
  fc.assert(
    fc.property(value, (before) => {
      const [type, data] = serde.dumps(before);
      const after = serde.loads(type, data);
      expect(difference(after, before)).toBeUndefined();
      expect(Buffer.compare(serde.dumps(after)[1], data)).toBe(0);
    }),
    { numRuns: inRounds({ few: 1000, all: 3000 }), seed: 7 },
  );
});

it("keeps what is plain JSON as the official serializer does, both ways", async () => {
  const official = new MemorySaver().serde;
  const anyJson = fc.jsonValue({ maxDepth: 4 }).map((made) => JSON.parse(JSON.stringify(made)) as unknown);
  await fc.assert(
    fc.asyncProperty(anyJson, async (before) => {
      const [type, theirs] = await official.dumpsTyped(before);
      const [, ours] = serde.dumps(before);
      expect(Buffer.compare(ours, theirs)).toBe(0);
      expect(difference(serde.loads(type, theirs), before)).toBeUndefined();
    }),
    { numRuns: 500, seed: 11 },
  );
});
