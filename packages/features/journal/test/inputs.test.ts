import { InvalidAddressError, InvalidOptionError, MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import {
  batch,
  createJournal,
  events,
  readTrail,
  replayTrail,
  transaction,
  transactions,
  verifyTrail,
  type Entry,
} from "../src/index.ts";
import { asks, payments, pays } from "./support/effects.ts";

// What JavaScript lets callers pass, whatever the types say: each is an error that names the field, before anything runs.

const saver = new MemorySaver();
const journal = createJournal(saver);
const on = (thread_id: string) => ({ configurable: { thread_id } });
const wrong = (value: unknown) => value as never;
const { pay } = payments();
const nothing = () => undefined;
const all = async (entries: AsyncIterable<unknown>) => {
  for await (const _ of entries);
};
const x = { id: "x", args: {} };
const items = { id: "i", key: String };
const counted = events(saver, (sum: number) => sum + 1, { initial: 0 });
const signed = (sign: unknown) => () => createJournal(saver, { sign: wrong(sign) });

const inputs: readonly (readonly [field: string, given: string, call: () => unknown])[] = [
  ["policy", "text", () => createJournal(saver, { policy: wrong("x") })],
  ["author", "a number", () => createJournal(saver, { author: wrong(5) })],
  ["sign", "null", signed(null)],
  ["sign.keys.a", "a number", signed({ keys: { a: 5 }, activeKey: "a" })],
  ["sign.keys.a", "15 bytes", signed({ keys: { a: "x".repeat(15) }, activeKey: "a" })],
  ["sign.key", "a name that isn't known", signed({ keys: { a: "x".repeat(16) }, activeKey: "a", key: "" })],
  ["work", "no function", () => journal.run(on("a"), x, wrong(undefined))],
  ["call.id", "1001 characters", () => journal.run(on("a"), { ...x, id: "x".repeat(1001) }, nothing)],
  ["call.id", "no call", () => journal.run(on("a"), wrong(undefined), nothing)],
  ["call.version", "a number", () => journal.run(on("a"), { ...x, version: wrong(5) }, nothing)],
  ["call.certain", "text", () => journal.run(on("a"), { ...x, certain: wrong("yes") }, nothing)],
  ["call.reconcile", "an object", () => journal.run(on("a"), { ...x, reconcile: wrong({}) }, nothing)],
  [
    "author",
    "an author that is no text",
    () => createJournal(saver, { author: wrong(Number) }).run(on("a"), x, nothing),
  ],
  ["tools", "one tool", () => journal.tools(wrong(pay), {})],
  ["tools", "no tool", () => journal.tools([wrong(undefined)], {})],
  ["options", "null", () => journal.tools([pay], wrong(null))],
  ["tools.pay", "nothing", () => journal.tools([pay], {})],
  ["tools.pay", "no effects", () => journal.tools([pay], { pay: wrong({ version: "2" }) })],
  ["tools.pay.effects", "another word", () => journal.tools([pay], { pay: wrong("twice") })],
  [
    "tools.pay.compensate",
    "text",
    () => journal.tools([pay], { pay: { effects: "once", compensate: wrong("x") } }),
  ],
  ["model", "text", () => journal.model(wrong("gpt"))],
  ["message", "nothing", () => journal.next({}, undefined)],
  ["message", "a list", () => journal.next({}, [asks(pays(1))])],
  ["types", "text", () => all(journal.trail("a", { types: wrong("claimed") }))],
  ["types", "a type that isn't known", () => all(journal.trail("a", { types: [wrong("clamed")] }))],
  ["tool", "a number", () => all(journal.trail("a", { tool: wrong(5) }))],
  ["messageId", "nothing", () => journal.why("a", wrong(undefined))],
  ["messageId", "no id", () => journal.why("a", wrong({}))],
  ["target", "nothing", () => journal.export("a", wrong(undefined))],
  ["threadId", "nothing", () => journal.resolve("f", wrong(undefined))],
  ["author", "a number", () => journal.resolve("f", { threadId: "a", happened: true, author: wrong(5) })],
  ["threadId", "nothing", () => journal.forget("f", wrong(undefined))],
  ["erase", "nothing", () => journal.erase("a", wrong(undefined))],
  ["call", "a number", () => journal.erase("a", { call: wrong(5) })],
  ["before", "nothing", () => journal.cut("a", wrong(undefined))],
  ["source", "nothing", () => verifyTrail(wrong(undefined))],
  ["head.hash", "a hash of no entry", () => verifyTrail([], { head: { seq: 0, hash: "abc" } })],
  ["source", "a number", () => all(readTrail(wrong(5)))],
  ["source", "bytes that are no list of chunks", () => replayTrail(wrong(Buffer.from("{}")))],
  ["items", "nothing", () => batch(journal, on("a"), wrong(undefined), items, nothing)],
  ["work", "nothing", () => batch(journal, on("a"), ["1"], items, wrong(undefined))],
  ["id", "no options", () => batch(journal, on("a"), ["1"], wrong(undefined), nothing)],
  [
    "id",
    "a name of the journal's own",
    () => batch(journal, on("a"), ["1"], { ...items, id: "stratigraph:x" }, nothing),
  ],
  ["changed", "text", () => batch(journal, on("a"), ["1"], { ...items, changed: wrong("x") }, nothing)],
  ["onProgress", "text", () => batch(journal, on("a"), ["1"], { ...items, onProgress: wrong("x") }, nothing)],
  ["options", "nothing", () => events(saver, nothing, wrong(undefined))],
  [
    "reducerVersion",
    "a number",
    () => events(saver, nothing, { initial: undefined, reducerVersion: wrong(5) }),
  ],
  ["options", "null", () => counted.project("e", wrong(null))],
  ["til", "a name that isn't known", () => counted.project("e", wrong({ til: 1 }))],
  ["after", "less than 0", () => all(counted.read("e", { after: -5 }))],
  ["after", "text", () => all(counted.read("e", { after: wrong("0") }))],
  ["work", "nothing", () => transaction(saver, "a", wrong(undefined))],
  ["journal", "one of another saver", () => transactions(new MemorySaver(), "a", { journal })],
];

it.each(inputs)("%s: %s", async (field, _given, call) => {
  const thrown = await Promise.resolve()
    .then(call)
    .catch((error: unknown) => error);
  expect(thrown instanceof InvalidOptionError || thrown instanceof InvalidAddressError).toBe(true);
  expect((thrown as Error).message).toContain(
    `Invalid ${thrown instanceof InvalidAddressError ? "" : "option "}${field}:`,
  );
  const entries: Entry[] = [];
  for await (const entry of journal.trail("a")) entries.push(entry);
  expect(entries).toEqual([]);
});
