import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, Command, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { MemorySaver, TierSaver } from "@stratigraph/core";
import { expect, test } from "vitest";
import {
  asking,
  chat,
  deltaChat,
  human,
  nested,
  on,
} from "../../../../features/branch/test/support/graphs.ts";
import { rendered, run } from "./support/run.ts";
import { testContext } from "./support/testContext.ts";
import { putValues } from "./support/threads.ts";

interface View {
  readonly channel: string;
  readonly bytes: number;
  readonly value: unknown;
  readonly type: string;
  readonly sha256?: string;
  readonly rebuilt: boolean;
}
interface Shown {
  readonly channels: readonly View[];
  readonly writes: readonly (View & { readonly kind: string; readonly node?: string })[];
  readonly next: readonly string[];
  readonly head: boolean;
}

const valueOf = (shown: Shown, name: string): unknown =>
  shown.channels.find(({ channel }) => channel === name)?.value;

test("a conversation, as JSON of the serde and as text", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("Hello\nworld", "m1")] }, on("ada"));
  const shown = await run<Shown>("show", { at: "ada" }, testContext(saver));
  const stored = JSON.parse(
    Buffer.from(
      (await saver.serde.dumpsTyped((await graph.getState(on("ada"))).values.messages))[1],
    ).toString(),
  );
  expect(valueOf(shown, "messages")).toEqual(stored);
  expect(shown).toMatchObject({ head: true, next: [], writes: [] });
  const text = rendered("show", shown);
  expect(text).toContain("human: Hello  #m1\n      world");
  expect(text).toContain("ai: re: Hello");
});

test("a part of a channel, by its path", async () => {
  const saver = new MemorySaver();
  await chat(saver).invoke(
    { messages: [human("Hello", "m1")], facts: { a: { "b.c": [1, 2, 3] } } },
    on("ada"),
  );
  const context = testContext(saver);
  const part = async (channel: string, path: string): Promise<unknown> =>
    (await run<Shown>("show", { at: "ada", channel, path }, context)).channels[0]!.value;
  expect(await part("messages", "[0].content")).toBe("Hello");
  expect(await part("messages", "[-1].content")).toBe("re: Hello");
  expect(await part("messages", "[0].content[1:3]")).toBe("el");
  expect(await part("facts", 'a["b.c"][1:]')).toEqual([2, 3]);
  expect(await part("facts", ".a")).toEqual({ "b.c": [1, 2, 3] });
  await expect(part("facts", "a.x")).rejects.toMatchObject({ code: "INVALID_OPTION" });
  await expect(part("facts", "a[")).rejects.toThrow("messages[3].content");
  await expect(part("nothing", "")).rejects.toThrow(
    /no value in the channel "nothing"\. It has facts, messages, notes, sum\.$/,
  );
});

test("a value of 12 MB is cut, and can be asked for piece by piece", async () => {
  const saver = new MemorySaver();
  const long = "häh🙂".repeat(2_000_000);
  const messages = Array.from(
    { length: 3000 },
    (_, n) => new HumanMessage({ id: `m${n}`, content: `number ${n}` }),
  );
  messages[1500] = new HumanMessage({ id: "long", content: long });
  await putValues(saver, "big", { messages, note: "short" });
  const context = testContext(saver);
  const shown = await run<Shown>("show", { at: "big" }, context);
  expect(JSON.stringify(shown).length).toBeLessThan(80_000);
  expect(valueOf(shown, "note")).toBe("short");
  const items = valueOf(shown, "messages") as { kwargs?: { id: string }; path?: string; items?: number }[];
  expect(items[0]!.kwargs!.id).toBe("m0");
  expect(items.at(-1)!.kwargs!.id).toBe("m2999");
  const left = items[1]!;
  expect(left).toMatchObject({ lc: 2, type: "sg:cut", path: expect.stringMatching(/^\[1:\d+\]$/) });
  expect(items.length - 2 + left.items!).toBe(2999);
  const asked = { at: "big", channel: "messages" };
  let text = "";
  let path = "[1500].content";
  for (let piece = 0; path !== ""; piece += 1) {
    const { value } = (await run<Shown>("show", { ...asked, path, maxBytes: 4_000_000 }, context))
      .channels[0]!;
    const { begins, path: rest } =
      typeof value === "string" ? { begins: value, path: "" } : (value as { begins: string; path: string });
    text += begins;
    path = rest;
    expect(piece).toBeLessThan(20);
  }
  expect(text === long).toBe(true);
});

test("the budget is fair: what is short stays whole beside what is long", async () => {
  const saver = new MemorySaver();
  const values = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`c${n}`, n < 10 ? "x".repeat(100) : "y".repeat(100_000)]),
  );
  await putValues(saver, "fair", {
    ...values,
    wide: Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n])),
  });
  const shown = await run<Shown>("show", { at: "fair", maxBytes: 20_000 }, testContext(saver));
  for (let n = 0; n < 10; n += 1) expect(valueOf(shown, `c${n}`)).toBe("x".repeat(100));
  for (let n = 10; n < 20; n += 1)
    expect(valueOf(shown, `c${n}`)).toMatchObject({
      type: "sg:cut",
      begins: expect.stringMatching(/^y{1000,}$/),
      bytes: 100_002,
    });
  expect(JSON.stringify(shown).length).toBeLessThan(30_000);
  expect(valueOf(shown, "wide")).toMatchObject({ k0: 0, "…": { type: "sg:cut" } });
});

test("redacted paths are shown nowhere: values, pending writes, input, a path to them", async () => {
  const saver = new MemorySaver();
  const graph = chat(saver);
  await graph.invoke({ messages: [human("secret-1", "m1")] }, on("ada"));
  await graph.invoke({ messages: [human("secret-2", "m2")] }, on("ada"));
  const context = testContext(saver, { redact: ["messages.*.content"] });
  for await (const { config } of saver.list({ configurable: { thread_id: "ada" } })) {
    const shown = await run(
      "show",
      { at: "ada", checkpoint: config.configurable!["checkpoint_id"] },
      context,
    );
    expect(JSON.stringify(shown) + rendered("show", shown)).not.toContain("secret");
  }
  const shown = await run("show", { at: "ada", channel: "messages", path: "[0].content" }, context);
  expect(JSON.stringify(shown)).not.toContain("secret");
  expect(rendered("show", shown)).toContain("(redacted)");
  const open = await run("show", { at: "ada" }, testContext(saver));
  expect(JSON.stringify(open)).toContain("secret");
});

test("interrupts, pending writes and what runs next", async () => {
  const saver = new MemorySaver();
  await asking(saver).invoke({ log: ["start"] }, on("u"));
  const shown = await run<Shown>("show", { at: "u" }, testContext(saver));
  expect(shown.next).toEqual(["ask"]);
  expect(shown.writes).toMatchObject([{ kind: "interrupt", node: "ask" }]);
  expect(rendered("show", shown)).toMatch(/waits +for an answer to an interrupt/);
});

test("next says what LangGraph's own states say, at the head and before, with parallel nodes, Sends and barriers", async () => {
  const saver = new MemorySaver();
  const Log = Annotation.Root({
    log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const graph = new StateGraph(Log)
    .addNode("a", () => ({ log: ["a"] }))
    .addNode("b", () => ({ log: [`b ${String(interrupt("b?"))}`] }))
    .addNode("both", () => ({ log: ["both"] }))
    .addNode("each", ({ log }) => ({ log: [`each ${log.join()}`] }))
    .addNode("end", () => ({ log: ["end"] }))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .addEdge(["a", "b"], "both")
    .addConditionalEdges("both", () => [new Send("each", { log: ["x"] }), new Send("each", { log: ["y"] })])
    .addEdge("each", "end")
    .compile({ checkpointer: saver });
  await graph.invoke({ log: [] }, on("p"));
  const context = testContext(saver);
  expect((await run<Shown>("show", { at: "p" }, context)).next).toEqual((await graph.getState(on("p"))).next);
  await graph.invoke(new Command({ resume: "yes" }), on("p"));
  for await (const { config, next } of graph.getStateHistory(on("p"))) {
    const checkpoint = config.configurable!["checkpoint_id"] as string;
    const isHead = (await graph.getState(on("p"))).config.configurable!["checkpoint_id"] === checkpoint;
    const shown = await run<Shown>("show", { at: "p", checkpoint }, context);
    if (!isHead)
      expect(shown.next.toSorted(), rendered("show", shown)).toEqual([...new Set(next)].toSorted());
  }
  const { items } = await run<{ items: { nodes: string[] }[] }>("history", { thread: "p" }, context);
  expect(items.map(({ nodes }) => nodes.toSorted())).toEqual([
    ["end"],
    ["each"],
    ["both"],
    ["a", "b"],
    ["__start__"],
    [],
  ]);
});

test("DeltaChannels and namespaces of subgraphs", async () => {
  const saver = new MemorySaver();
  const graph = deltaChat(saver, 1000);
  for (const text of ["one", "two"]) await graph.invoke({ messages: [human(text)] }, on("d"));
  const shown = await run<Shown>("show", { at: "d" }, testContext(saver));
  const { rebuilt, value } = shown.channels.find(({ channel }) => channel === "messages")!;
  expect(rebuilt).toBe(true);
  expect((value as { kwargs: { content: string } }[]).map(({ kwargs }) => kwargs.content)).toEqual([
    "one",
    "re: one",
    "two",
    "re: two",
  ]);
  await nested(saver).invoke({ log: ["start"] }, on("n"));
  const namespaces = new Set<string>();
  for await (const { config } of saver.list({ configurable: { thread_id: "n" } }))
    namespaces.add(config.configurable!["checkpoint_ns"] as string);
  const inner = [...namespaces].find((namespace) => namespace !== "")!;
  expect(await run("show", { at: "n", namespace: inner }, testContext(saver))).toMatchObject({
    namespace: inner,
    head: true,
  });
});

test("values that aren't JSON are sizes and hashes; hostile contents move no cursor", async () => {
  const saver = new MemorySaver();
  const evil = "e\u001b[2Jvil\u202e";
  await putValues(saver, evil, {
    bytes: new Uint8Array(5000),
    [evil]: { [evil]: evil, when: new Date(0), map: new Map([["k", 1n]]) },
    messages: [new AIMessage({ content: evil, tool_calls: [{ name: evil, args: { q: evil } }] })],
  });
  const shown = await run<Shown>("show", { at: evil }, testContext(saver));
  expect(shown.channels.find(({ channel }) => channel === "bytes")).toMatchObject({
    type: "bytes",
    bytes: 5000,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const text = rendered("show", shown);
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  expect(text).toContain("1970-01-01T00:00:00.000Z");
});

test("a table says that something was cut, and how to see it as a whole", async () => {
  const saver = new MemorySaver();
  await putValues(saver, "ada", { text: "x".repeat(5000) });
  const shown = async (maxBytes: number): Promise<string> =>
    rendered("show", await run("show", { at: "ada", maxBytes }, testContext(saver)));
  const [, asked] = /To see all of it: --max-bytes (\d+)\./.exec(await shown(1000))!;
  const whole = await shown(Number(asked));
  expect(whole).toContain("x".repeat(5000));
  expect(whole).not.toContain("--max-bytes");
});

test("a step back from the head, also where a clock was set back and the parent's id sorts later", async () => {
  const saver = new MemorySaver();
  let config: object = on("ada");
  for (const [step, id] of ["b", "d", "c", "a"].entries()) {
    const checkpoint = {
      ...emptyCheckpoint(),
      id,
      channel_values: { n: step },
      channel_versions: { n: step + 1 },
    };
    config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, { n: step + 1 });
  }
  for (const [back, value] of [3, 2, 1, 0].entries()) {
    const shown = await run<Shown>("show", { at: `ada@head~${back}` }, testContext(saver));
    expect(valueOf(shown, "n")).toBe(value);
  }
  await expect(run("show", { at: "ada@head~4" }, testContext(saver))).rejects.toThrow("has no checkpoint");
});

test("state of any version is shown as it is stored, with its version, and isn't changed by who doesn't know it", async () => {
  const { tier } = new MemorySaver();
  const newer = new TierSaver(tier, { stateVersions: { current: 2, steps: [{ to: 2 }] } });
  await deltaChat(new TierSaver(tier)).invoke({ messages: [human("one", "m1")] }, on("ada"));
  await deltaChat(newer).invoke({ messages: [human("two", "m2")] }, on("ada"));
  // Neither the saver's version nor that of the checkpoint below is the head's.
  const context = testContext(new TierSaver(tier));
  const shown = await run<Shown & { readonly stateVersion?: number }>("show", { at: "ada" }, context);
  expect(shown.stateVersion).toBe(2);
  expect(JSON.stringify(valueOf(shown, "messages"))).toMatch(/one.*two/);
  expect(rendered("show", shown)).toContain("2 of the state; values are as stored");
  const { items } = await run<{ items: { stateVersion?: number }[] }>("history", { thread: "ada" }, context);
  expect(new Set(items.map(({ stateVersion }) => stateVersion))).toEqual(new Set([2, undefined]));
  await run("diff", { from: "ada@head~2", to: "ada" }, context);
  await run("verify", { threads: ["ada"] }, context);
  const setting = run("set", { at: "ada", channel: "messages", value: "[]" }, context);
  await expect(setting).rejects.toMatchObject({ code: "STATE_VERSION" });
});
