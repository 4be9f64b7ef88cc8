import fc from "fast-check";
import { payloadHead, payloadOf } from "../../../src/encode/blobFrame.ts";
import { StratigraphSerializer } from "../../../src/serde/index.ts";
import { IncrementalWriter } from "../../../src/incremental/incrementalWriter.ts";
import { difference } from "../difference.ts";
import { COPIES } from "./langChainCopies.ts";
import { CHANGED, PIECES, SAMPLES } from "./samples.ts";

const MAKERS = Object.values({ ...SAMPLES, ...PIECES, ...CHANGED });
const head = payloadHead("json");

/** A deep copy that shares nothing with the value, as it is now. Arguments of constructors are not part of a value. */
function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date || value instanceof Map) return structuredClone(value);
  if (Array.isArray(value)) return value.map(copyOf);
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  for (const [key, part] of Object.entries(value)) copy[key] = key === "lc_kwargs" ? undefined : copyOf(part);
  return copy;
}

/** Objects and arrays inside a message that may be changed in place, the message itself included. */
function partsOf(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null || value instanceof Date || value instanceof Map) return [];
  const inner = Object.entries(value).filter(([key]) => !key.startsWith("lc_"));
  return [value as Record<string, unknown>, ...inner.flatMap(([, part]) => partsOf(part))];
}

/** What can't be made a string by itself, as { toString: "" }, is there as JSON. */
const textOf = (to: unknown): string => (typeof to === "string" ? to : JSON.stringify(to));

/** What may be set on a message in place: anything that has the type of the field. */
const FIELDS: Readonly<Record<string, (to: unknown) => unknown>> = {
  id: textOf,
  name: textOf,
  content: (to) =>
    Array.isArray(to)
      ? [
          { type: "text", text: "new" },
          { type: "other", to },
        ]
      : textOf(to),
  additional_kwargs: (to) => ({ to }),
  response_metadata: (to) => ({ to }),
  usage_metadata: (to) => ({ to }),
  tool_calls: (to) => [{ id: "new", name: "n", args: { to }, type: "tool_call" }],
  invalid_tool_calls: (to) => [{ id: "new", name: "n", args: textOf(to) }],
  tool_call_chunks: (to) => [{ id: "new", name: "n", args: textOf(to), index: 4 }],
  tool_call_id: textOf,
  artifact: (to) => to,
  status: textOf,
  role: textOf,
  pageContent: textOf,
  metadata: (to) => ({ to }),
};

interface Edit {
  at: number;
  part: number;
  field: number;
  to: unknown;
}

/** Changes a field that a message has, or any part of what it has inside. */
function edit(list: readonly object[], { at, part, field, to: shared }: Edit): void {
  const to = structuredClone(shared);
  const message = list[at % list.length] as Record<string, unknown>;
  const parts = partsOf(message);
  const target = parts[part % parts.length] as Record<string, unknown>;
  if (Array.isArray(target)) {
    if (field % 3 === 0) target.pop();
    else target.push({ type: "pushed", to });
    return;
  }
  const isMessage = Object.hasOwn(target, "lc_kwargs") || Object.hasOwn(target, "pageContent");
  if (!isMessage) {
    const names = Object.keys(target).filter((name) => name !== "type");
    target[names[field % Math.max(1, names.length)] ?? "added"] = to;
    return;
  }
  const names = Object.keys(FIELDS).filter((name) => Object.hasOwn(target, name));
  const name = names[field % Math.max(1, names.length)];
  if (name !== undefined) target[name] = FIELDS[name]!(to);
}

describe.each(COPIES)("messages of @langchain/core %s", (_name, copy) => {
  it("are stored as they are at each put, whatever is changed in place between", () => {
    const change = fc.record({
      at: fc.nat(20),
      part: fc.nat(20),
      field: fc.nat(20),
      to: fc.oneof(fc.string(), fc.integer(), fc.jsonValue({ maxDepth: 2 })) as fc.Arbitrary<unknown>,
    });
    const list = fc.array(fc.constantFrom(...MAKERS), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(list, fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 5 }), (makers, puts) => {
        const serde = new StratigraphSerializer();
        const writer = new IncrementalWriter();
        const messages = makers.map((make) => make(copy));
        for (const edits of [[], ...puts]) {
          for (const one of edits) edit(messages, one);
          const { payload } = serde.dumpsIncremental(messages, writer, head)!;
          const [type, bytes] = new StratigraphSerializer().dumps(messages);
          expect(Buffer.from(payload.temporaryView()).equals(payloadOf(type, bytes))).toBe(true);
          const read = serde.loads(type, bytes);
          expect(difference(copyOf(read), copyOf(messages))).toBeUndefined();
        }
      }),
      { numRuns: 200 },
    );
  });
});
