import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { IncrementalReader } from "../../src/incremental/incrementalReader.ts";

const serde = new StratigraphSerializer();

/** Reads successive values through one reader, and each by itself. */
async function both(values: readonly unknown[]): Promise<[successive: unknown[], alone: unknown[]]> {
  const reader = new IncrementalReader();
  const successive: unknown[] = [];
  const alone: unknown[] = [];
  for (const value of values) {
    const [type, bytes] = serde.dumps(value);
    successive.push(await serde.loadsIncremental(type, bytes, reader));
    alone.push(await serde.loadsTyped(type, bytes));
  }
  return [successive, alone];
}

const message = (n: number): BaseMessage => {
  const content = `message ${n} ${'with "quotes", [brackets], {braces} and \\ '.repeat(4)}`;
  const call = { name: "look", args: { n, nested: [{ n }] }, id: `call_${n}`, type: "tool_call" as const };
  return n % 2 === 0
    ? new HumanMessage({ content, id: `${n}` })
    : new AIMessage({ content, tool_calls: [call] });
};
const messages = Array.from({ length: 60 }, (_, n) => message(n));

test("a history read newest first comes back as if each value were read alone", async () => {
  const values = Array.from({ length: 60 }, (_, n) => messages.slice(0, 60 - n));
  const [successive, alone] = await both(values);
  expect(successive).toEqual(alone);
  expect((successive[10] as BaseMessage[])[1]).toBeInstanceOf(AIMessage);
});

test("a history read oldest first, edits, trims and other kinds of values come back too", async () => {
  const edited = messages.with(20, message(99));
  const [successive, alone] = await both([
    messages.slice(0, 40),
    messages,
    edited,
    edited.slice(10),
    messages,
    { not: "an array", filler: "x".repeat(5000) },
    messages,
    [1, 2, 3],
    [],
    messages,
  ]);
  expect(successive).toEqual(alone);
});

test("no object is shared between two values", async () => {
  const [successive] = await both([messages, messages]);
  const [first, second] = successive as [AIMessage[], AIMessage[]];
  expect(first[1]).not.toBe(second[1]);
  expect(first[1]!.tool_calls![0]!.args).not.toBe(second[1]!.tool_calls![0]!.args);
  first[1]!.tool_calls![0]!.args["n"] = "changed";
  expect(second[1]!.tool_calls![0]!.args["n"]).toBe(1);
});

test("numbers whose digits begin alike are told apart", async () => {
  const long = Array.from({ length: 3000 }, (_, n) => n);
  const [successive, alone] = await both([
    [...long, 12],
    [...long, 123],
    [...long, 1],
    [...long, 1, 2],
    long,
  ]);
  expect(successive).toEqual(alone);
});

test("random successive arrays come back as if read alone", async () => {
  const item = fc.jsonValue({ maxDepth: 3 });
  const edit = fc.record({ at: fc.nat(80), drop: fc.nat(40), add: fc.array(item, { maxLength: 10 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ minLength: 60 }), { minLength: 80, maxLength: 80 }),
      fc.array(edit, { maxLength: 8 }),
      async (start, edits) => {
        let now: unknown[] = start;
        const values = [now, ...edits.map(({ at, drop, add }) => (now = now.toSpliced(at, drop, ...add)))];
        const [successive, alone] = await both(values);
        expect(successive).toEqual(alone);
      },
    ),
    { numRuns: 60, seed: 7 },
  );
});
