import { createHash } from "node:crypto";
import { Document } from "@langchain/core/documents";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command, Overwrite, Send } from "@langchain/langgraph";
import { DeltaSnapshot, type Checkpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import { StratigraphSerializer, type EncryptionOptions, type SaverOptions, type TierSaver } from "@stratigraph/core";

// What golden files of fixture 1 hold. They are read by every later version: never change what is in here; a new fixture
// gets a file of its own.

const threadId = "golden";

/** Text that doesn't compress away, the same in every run: `sections` of 100 characters, each of its own version. */
function sectioned(versions: readonly number[]): string {
  const section = (version: number, n: number): string =>
    [0, 1]
      .map((part) => createHash("sha256").update(`${n} ${version} ${part}`).digest("hex"))
      .join("")
      .slice(0, 100);
  return versions.map(section).join("\n");
}

/** The document's sections at each step. Steps 1 to 3 rewrite half of it each; then the chain is cut, and the next begins on step 0. */
const documents = [
  [0, 0, 0, 0, 0, 0, 0, 0],
  [1, 1, 1, 1, 0, 0, 0, 0],
  [1, 1, 1, 1, 2, 2, 2, 2],
  [3, 3, 3, 3, 2, 2, 2, 2],
  [4, 0, 0, 0, 0, 0, 0, 0],
  [4, 5, 0, 0, 0, 0, 0, 0],
  [4, 5, 6, 0, 0, 0, 0, 0],
].map(sectioned);

const noise = Uint8Array.from({ length: 100 }, (_, n) => (n * 37 + (n >> 3) * 11) % 256);

const dialogue = [
  new HumanMessage({ id: "h1", content: "Wie wird das Wetter? 🌦" }),
  new AIMessage({
    id: "a1",
    content: "",
    tool_calls: [{ id: "call_1", name: "weather", args: { place: "Köln" }, type: "tool_call" }],
  }),
  new ToolMessage({ id: "t1", content: "rain", tool_call_id: "call_1" }),
  new AIMessage({ id: "a2", content: "It will rain." }),
  new HumanMessage({ id: "h2", content: "Thanks." }),
];

const idOf = (step: number): string => `1ef4f797-8335-6428-8001-00000000000${step}`;
const isoOf = (step: number): string => `2026-01-02T03:04:0${step}.000Z`;
const at = (namespace: string, id?: string) => ({
  configurable: {
    thread_id: threadId,
    checkpoint_ns: namespace,
    ...(id === undefined ? {} : { checkpoint_id: id }),
  },
});

/** One step of the main line: every channel changes but `fixed`; `gone` had a value once. */
function checkpoint(step: number): Checkpoint {
  const values: Record<string, unknown> = {
    doc: documents[step],
    messages: dialogue.slice(0, step + 1),
    count: step,
    fixed: noise,
    when: new Map([["at", new Date(isoOf(step))]]),
    ...(step === 0 ? { gone: "for a step" } : {}),
  };
  const channels = [...Object.keys(values), ...(step === 0 ? [] : ["gone"])];
  return {
    v: 4,
    id: idOf(step),
    ts: isoOf(step),
    channel_values: values,
    channel_versions: Object.fromEntries(
      channels.map((channel) => [
        channel,
        channel === "fixed" ? 1 : channel === "gone" && step > 0 ? 2 : step + 1,
      ]),
    ),
    versions_seen: { __input__: {}, agent: { messages: step, "branch:to:agent": step } },
    ...(step === 3 ? { field_of_a_later_langgraph: [1, null, "x"] } : {}),
  };
}

function metadata(step: number): CheckpointMetadata {
  return {
    source: step === 0 ? "input" : "loop",
    step: step - 1,
    parents: {},
    thread_note: `nöte ${step}`,
  } as never;
}

const child: Checkpoint = {
  v: 4,
  id: idOf(7),
  ts: isoOf(7),
  channel_values: { inner: "a subgraph's" },
  channel_versions: { inner: "00000001.5" as never },
  versions_seen: {},
};

/** The steps of fixture 1, as LangGraph would make them. */
export async function putThread(saver: TierSaver): Promise<void> {
  for (const step of documents.keys()) {
    const before = step === 0 ? {} : { checkpoint_id: idOf(step - 1) };
    const config = { configurable: { ...at("").configurable, ...before }, metadata: { run_id: "run-1" } };
    const made = checkpoint(step);
    const { fixed: _fixed, ...changed } = made.channel_versions;
    const versions = step === 0 ? made.channel_versions : step === 1 ? changed : without(changed, "gone");
    await saver.put(config, made, metadata(step), versions);
  }
  await saver.putWrites(
    at("", idOf(6)),
    [
      ["count", 7],
      ["doc", documents[6]],
      ["long", "w".repeat(3000)],
    ],
    "task-a",
  );
  await saver.putWrites(at("", idOf(6)), [["__interrupt__", { value: "sure?" }]], "task-b");
  await saver.putWrites(at("", idOf(6)), [["__interrupt__", { value: "really?" }]], "task-b");
  await saver.put(
    at("child:8c9f"),
    child,
    { source: "loop", step: 0, parents: { "": idOf(6) } },
    child.channel_versions,
  );
}

function without(versions: Checkpoint["channel_versions"], channel: string): Checkpoint["channel_versions"] {
  return Object.fromEntries(Object.entries(versions).filter(([name]) => name !== channel));
}

/** What every checkpoint of the thread must read as, newest first: config, parent, checkpoint, metadata, pending writes. */
export function expectedThread(): unknown[] {
  const main = [...documents.keys()].map((step) => ({
    config: at("", idOf(step)),
    ...(step === 0 ? {} : { parentConfig: at("", idOf(step - 1)) }),
    checkpoint: checkpoint(step),
    metadata: metadata(step),
    pendingWrites:
      step < 6
        ? []
        : [
            ["task-a", "count", 7],
            ["task-a", "doc", documents[6]],
            ["task-a", "long", "w".repeat(3000)],
            ["task-b", "__interrupt__", { value: "really?" }],
          ],
  }));
  const inner = {
    config: at("child:8c9f", idOf(7)),
    checkpoint: child,
    metadata: { source: "loop", step: 0, parents: { "": idOf(6) } },
    pendingWrites: [],
  };
  return [...main, inner].reverse();
}

/** Keys of the encrypted part. No secret: they are in every golden file's test. */
export const encryption: EncryptionOptions = {
  keys: {
    "key-1": Uint8Array.from({ length: 32 }, (_, n) => n),
    "schlüssel 2": () => new Uint8Array(32).fill(7),
  },
  activeKey: "schlüssel 2",
  hashKey: new Uint8Array(32).fill(9),
  refusePlaintext: true,
};

class Money {
  readonly amount: number;
  constructor(amount: number) {
    this.amount = amount;
  }
}

/** The serializer of the fixture, with a registered type. */
export function serializer(): StratigraphSerializer {
  return new StratigraphSerializer({
    types: [
      {
        name: "Money",
        class: Money,
        toData: (money: Money) => money.amount,
        fromData: (data: unknown) => new Money(Number(data)),
      } as never,
    ],
  });
}

function failure(): Error {
  const error = Object.assign(new TypeError("no", { cause: new RangeError("why") }), { code: "E_NO" });
  error.stack = "TypeError: no\n    at golden";
  (error.cause as Error).stack = "RangeError: why\n    at golden";
  return error;
}

function withoutPrototype(): object {
  return Object.assign(Object.create(null) as object, { a: 1 });
}

/** A value for every record of the serializer. */
export function values(): Record<string, unknown> {
  return {
    json: { a: [1, 2.5, -3, true, null, "ü\u0000🌦"], b: {} },
    undefined: { top: undefined, list: [1, undefined] },
    "numbers JSON hasn't": [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
    bigint: 123_456_789_012_345_678_901n,
    Date: [new Date("2026-01-02T03:04:05.678Z"), new Date(Number.NaN)],
    URL: new URL("https://example.org/a?b=c#d"),
    RegExp: /a(b)+\/\n/giu,
    Map: new Map<unknown, unknown>([["a", new Map([[{ k: 1 }, [1]]])]]),
    Set: new Set<unknown>([1, "a", new Set([2])]),
    Error: failure(),
    AggregateError: withStack(new AggregateError([withStack(new Error("one"))], "many")),
    "bytes, on their own": Uint8Array.of(0, 1, 254, 255),
    "bytes, inside": [
      Uint8Array.of(1, 2),
      Buffer.from("ab"),
      Float64Array.of(1.5, -2),
      BigInt64Array.of(-1n),
      new DataView(Uint8Array.of(3, 4).buffer),
      Uint8Array.of(5).buffer,
    ],
    "no prototype": withoutPrototype(),
    "data that looks like a record": { lc: 2, type: "undefined", more: 1 },
    "a registered type": [new Money(5)],
    messages: dialogue,
    "lc inside a message": new HumanMessage({
      id: "x",
      content: "a",
      additional_kwargs: { user: { lc: 5 } },
    }),
    Document: new Document({ pageContent: "text", metadata: { page: 1 }, id: "d1" }),
    Send: new Send("tools", { messages: [dialogue[0]] }),
    Command: new Command({ update: { a: 1 }, goto: ["next"], resume: "yes" }),
    Overwrite: new Overwrite(["fresh"]),
    DeltaSnapshot: new DeltaSnapshot([dialogue[0], 1]),
  };
}

function withStack<E extends Error>(error: E): E {
  error.stack = `${error.name}: ${error.message}\n    at golden`;
  return error;
}

/** How the thread was stored: each is a part of a golden file. */
export const parts: Readonly<Record<"plain" | "encrypted", SaverOptions>> = {
  plain: { serde: serializer() },
  encrypted: { serde: serializer(), encryption },
};
