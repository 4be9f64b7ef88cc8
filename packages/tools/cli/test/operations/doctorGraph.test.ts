// long file: every way in which a stored thread and a graph may differ
import { Annotation, Command, interrupt, Send, START, StateGraph, StateSchema } from "@langchain/langgraph";
import * as langgraph from "@langchain/langgraph";
import { emptyCheckpoint, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { MemorySaver, MemoryTier, StratigraphError, TierSaver } from "@stratigraph/core";
import { PostgresSaver } from "@stratigraph/postgres";
import { folder } from "@stratigraph/s3";
import { TieredSaver } from "@stratigraph/tiered";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase, type FreshDatabase } from "../../../../../test/servers/shared.ts";
import { inRounds } from "../../../../../test/rounds.ts";
import { operations, type RunnableGraph } from "../../src/operations/index.ts";
import { rendered, run } from "./support/run.ts";
import { temporaryFolder } from "./support/temporaryFolder.ts";
import { testContext } from "./support/testContext.ts";

interface Told {
  readonly problems: number;
  readonly items: readonly { readonly found: string; readonly at: Record<string, string> }[];
  readonly graph: {
    threads: number;
    bad: number;
    skipped: number;
    kinds: Record<string, number>;
    leftOut: number;
  };
  readonly complete: boolean;
  readonly cursor?: string;
}

const on = (thread: string) => ({ configurable: { thread_id: thread } });
const doctor = operations.find(({ name }) => name === "doctor")!;

/** What the doctor says of a graph and the threads of a saver. */
async function told(saver: TierSaver, graph: unknown, input: object = {}, given: object = {}): Promise<Told> {
  const context = testContext(saver, { graph: graph as RunnableGraph, ...given });
  return await run<Told>("doctor", { graph: "agent", ...input }, context);
}
/** By thread: what is wrong, and where. */
const wrong = ({ items }: Told): string[] =>
  items
    .map(({ at: { thread, namespace, kind, channel, path, node } }) =>
      [thread, namespace?.replace(/:[^|]+/g, ""), kind, channel, path, node].filter(Boolean).join(" "),
    )
    .toSorted();

const failing = (): never => {
  throw new Error("no number");
};

describe.each(inRounds({ few: ["memory"], all: ["memory", "PostgreSQL"] }))("%s", (storage) => {
  let database: FreshDatabase | undefined;
  let count = 0;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    if (storage === "PostgreSQL") database = await freshDatabase();
  });
  afterAll(async () => {
    for (const end of ends) await end();
    await database?.drop();
  });
  const open = async (): Promise<TierSaver> => {
    if (database === undefined) return new MemorySaver();
    count += 1;
    const saver = PostgresSaver.fromConnString(database.url, { schema: `s${count}` });
    await saver.setup();
    ends.push(() => saver.end());
    return saver;
  };

  test("a channel's schema became another: the value is named by its path, for StateSchema and zod alike", async () => {
    const saver = await open();
    const before = z.object({
      user: z.object({ age: z.string(), tags: z.array(z.string()) }),
      note: z.string(),
    });
    const after = { user: z.object({ age: z.number(), tags: z.array(z.string()) }), note: z.string() };
    const old = new StateGraph(before)
      .addNode("work", () => ({ note: "done" }))
      .addEdge(START, "work")
      .compile({ checkpointer: saver });
    await old.invoke({ user: { age: "7", tags: ["a"] }, note: "" }, on("old"));
    const graphs = [
      new StateGraph(z.object(after)).addNode("work", () => ({})).addEdge(START, "work"),
      new StateGraph(new StateSchema(after)).addNode("work", () => ({})).addEdge(START, "work"),
    ].map((builder) => builder.compile({ checkpointer: saver }));
    await graphs[0]!.invoke({ user: { age: 7, tags: [] }, note: "" }, on("new"));
    for (const graph of graphs) {
      const output = await told(saver, graph);
      expect(wrong(output)).toEqual(["old value user age"]);
      expect(output).toMatchObject({
        problems: 1,
        graph: { threads: 2, bad: 1, skipped: 0, kinds: { value: 1 } },
      });
      expect(output.items[0]!.at["checkpoint"]).toBe((await saver.getTuple(on("old")))!.checkpoint.id);
      expect(doctor.found!(output as never)).toBe(true);
      const text = rendered("doctor", output);
      expect(text).toContain(
        "The graph can't load 1 of 2 threads as they are:\n  1 with a value that a schema refuses",
      );
    }
    const fine = await told(saver, graphs[1], { sample: 1 });
    expect(fine).toMatchObject({ problems: 0, items: [], graph: { threads: 1 }, complete: true });
    expect(doctor.found!(fine as never)).toBe(false);
    const hidden = await told(saver, graphs[0], {}, { redact: ["user"] });
    expect(hidden.items[0]).toMatchObject({
      found: "The schema of user refuses it",
      at: { channel: "user" },
    });
  });

  test("a node was renamed while threads wait for it: a question, a branch, a Send; what has ended is well", async () => {
    const saver = await open();
    const State = Annotation.Root({
      steps: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const graphOf = (name: string, checkpointer: BaseCheckpointSaver) =>
      new StateGraph(State)
        .addNode(
          "plan",
          ({ steps }) =>
            steps.includes("send")
              ? new Command({ goto: [new Send(name, { steps })] })
              : new Command({ goto: name as never }),
          { ends: [name as never] },
        )
        .addNode(name as "ask", ({ steps }) => {
          if (steps.includes("question")) interrupt("sure?");
          return { steps: [name] };
        })
        .addEdge(START, "plan")
        .compile({ checkpointer });
    const old = graphOf("ask", saver);
    await old.invoke({ steps: ["end"] }, on("ended"));
    await old.invoke({ steps: ["question"] }, on("asks"));
    await old.invoke({ steps: ["branch"] }, { ...on("paused"), interruptBefore: ["ask"] });
    await old.invoke({ steps: ["send"] }, { ...on("sent"), interruptBefore: ["ask"] });
    const graph = graphOf("confirm", saver);
    const output = await told(saver, graph);
    expect(wrong(output)).toEqual(["asks node ask", "paused node ask", "sent node ask"]);
    expect(output.graph).toEqual({ threads: 4, bad: 3, skipped: 0, kinds: { node: 3 }, leftOut: 0 });
    expect(
      output.items.filter(({ found }) => found.includes("question waits")).map(({ at }) => at["thread"]),
    ).toEqual(["asks"]);
    // One that was answered doesn't wait: another task of its step stopped the run.
    const both = (first: string) =>
      new StateGraph(State)
        .addNode(first, () => ({ steps: [String(interrupt("sure?"))] }))
        .addNode("fails", () => {
          throw new Error("no such city");
        })
        .addEdge(START, first as never)
        .addEdge(START, "fails" as never)
        .compile({ checkpointer: saver });
    await expect(both("ask").invoke({ steps: [] }, on("answered"))).rejects.toThrow("no such city");
    await expect(both("ask").invoke(new Command({ resume: "yes" }), on("answered"))).rejects.toThrow("city");
    const { items } = await told(saver, both("confirm"));
    expect(items.flatMap(({ at, found }) => (at["thread"] === "answered" ? [found] : []))).toEqual([
      'The node "ask" is due, and the graph has none of that name: the step is skipped.',
    ]);
    await saver.deleteThread("answered");
    expect(await told(saver, old)).toMatchObject({ problems: 0, graph: { threads: 4 } });
    // So it is: LangGraph skips the step, and the run is over.
    const { steps } = (await graph.invoke(null, on("paused"))) as { steps: string[] };
    expect(steps).toEqual(["branch"]);
  });

  test("a channel was removed: its value, and a pending write to it", async () => {
    const saver = await open();
    const before = Annotation.Root({
      kept: Annotation<string>,
      gone: Annotation<string>,
      later: Annotation<string>,
    });
    const old = new StateGraph(before)
      .addNode("a", () => ({ later: "written" }))
      .addNode("b", (): object => {
        throw new Error("cut off");
      })
      .addEdge(START, "a")
      .addEdge(START, "b")
      .compile({ checkpointer: saver });
    await expect(old.invoke({ kept: "k", gone: "g" }, on("cut"))).rejects.toThrow("cut off");
    const graph = new StateGraph(Annotation.Root({ kept: Annotation<string> }))
      .addNode("a", () => ({}))
      .addNode("b", () => ({}))
      .addEdge(START, "a")
      .addEdge(START, "b")
      .compile({ checkpointer: saver });
    const output = await told(saver, graph);
    expect(wrong(output)).toEqual(["cut channel gone", "cut channel later"]);
    expect(output.graph.kinds).toEqual({ channel: 1 });
  });

  // Since 1.5 a StateSchema may have a DeltaValue.
  test.skipIf(!("DeltaValue" in langgraph))(
    "a DeltaChannel is judged by what the graph makes of its writes",
    async () => {
      const saver = await open();
      const graphOf = (item: z.ZodType) => {
        const list = new langgraph.DeltaValue(
          z.array(item).default(() => []),
          {
            inputSchema: z.array(z.unknown()),
            reducer: (a: unknown[], b: unknown[][]) => [...a, ...b.flat()],
          },
        );
        return new StateGraph(new StateSchema({ list }))
          .addNode("work", () => ({ list: ["x"] }))
          .addEdge(START, "work")
          .compile({ checkpointer: saver });
      };
      await graphOf(z.string()).invoke({ list: ["in"] }, on("t"));
      expect(wrong(await told(saver, graphOf(z.string())))).toEqual([]);
      expect(wrong(await told(saver, graphOf(z.number())))).toEqual(["t value list [0]", "t value list [1]"]);
      const plain = new StateGraph(Annotation.Root({ list: Annotation<string[]> }))
        .addNode("work", () => ({}))
        .addEdge(START, "work")
        .compile({ checkpointer: saver });
      const output = await told(saver, plain);
      expect(wrong(output)).toEqual(["t value list"]);
      expect(output.items[0]!.found).toContain("stored as a DeltaChannel");
    },
  );

  test("a subgraph is judged while its task waits, and not when it is over, unless it has a memory of its own", async () => {
    const saver = await open();
    const State = Annotation.Root({ say: Annotation<string> });
    // What the subgraph kept for itself; the next version of it keeps nothing.
    const Own = Annotation.Root({ say: Annotation<string>, draft: Annotation<string> });
    const graphOf = (inner: string, own: typeof Own, lasts = false) =>
      new StateGraph(State)
        .addNode(
          "agent",
          new StateGraph(own)
            .addNode("think", () => (own === Own ? { draft: "…" } : {}))
            .addNode(inner as "ask", ({ say }) => {
              if (say === "wait") interrupt("sure?");
              return {};
            })
            .addEdge(START, "think")
            .addEdge("think", inner as "ask")
            .compile(lasts ? { checkpointer: true } : {}),
        )
        .addEdge(START, "agent")
        .compile({ checkpointer: saver });
    await graphOf("ask", Own).invoke({ say: "wait" }, on("waits"));
    await graphOf("ask", Own).invoke({ say: "wait" }, on("went on"));
    await graphOf("ask", Own).invoke(new Command({ resume: "yes" }), on("went on"));
    expect(wrong(await told(saver, graphOf("confirm", State as never)))).toEqual([
      "waits agent channel draft",
      "waits agent node ask",
    ]);
    expect(wrong(await told(saver, graphOf("ask", Own)))).toEqual([]);
    // A subgraph that has a memory of its own is loaded whenever its node runs.
    await graphOf("ask", Own, true).invoke({ say: "hello" }, on("lasts"));
    const output = await told(saver, graphOf("ask", State as never, true));
    expect(wrong(output).filter((line) => line.startsWith("lasts"))).toEqual(["lasts agent channel draft"]);
  });

  test("state of an older version is judged as the steps leave it, and that of a newer one is named", async () => {
    const { tier } = await open();
    const first = z.object({ count: z.string(), log: z.string() });
    const second = z.object({ count: z.number(), lines: z.string() });
    const [old, now] = [first, second].map((schema) =>
      new StateGraph(schema as never as typeof first).addNode("work", () => ({})).addEdge(START, "work"),
    );
    const before = new TierSaver(tier);
    await old!.compile({ checkpointer: before }).invoke({ count: "1", log: "a" }, on("t"));
    expect(wrong(await told(before, now!.compile()))).toEqual(["t channel log", "t value count"]);
    const changes = [
      { from: "count", to: "count", up: Number },
      { from: "log", to: "lines" },
    ];
    const after = new TierSaver(tier, { stateVersions: { current: 2, steps: [{ to: 2, changes }] } });
    expect(wrong(await told(after, now!.compile()))).toEqual([]);
    await now!.compile({ checkpointer: after }).updateState(on("t"), { lines: "b" });
    expect(wrong(await told(before, old!.compile()))).toEqual(["t version"]);
    const fails = [{ from: "count", to: "count", up: failing }];
    const failed = new TierSaver(tier, {
      stateVersions: { current: 3, steps: [{ to: 2 }, { to: 3, changes: fails }] },
    });
    expect(wrong(await told(failed, now!.compile()))).toEqual(["t version count"]);
  });

  test("a value that can't be decoded is named, and other threads are judged", async () => {
    const saver = await open();
    const State = Annotation.Root({ blob: Annotation<unknown> });
    const graph = new StateGraph(State)
      .addNode("work", () => ({}))
      .addEdge(START, "work")
      .compile({ checkpointer: saver });
    for (const thread of ["fine", "damaged"])
      await graph.invoke({ blob: "x".repeat(5000) + thread }, on(thread));
    const { tier } = saver;
    const list = tier.list.bind(tier);
    tier.list = async function* (query) {
      for await (const listed of list(query)) {
        const blobs = new Map(
          [...listed.blobs].map(([hash, blob]) => [
            hash,
            { ...blob, bytes: blob.bytes.map((byte) => byte ^ 1) },
          ]),
        );
        yield query.threadId === "damaged" ? { ...listed, blobs } : listed;
      }
    };
    const output = await told(saver, graph);
    expect(wrong(output).map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "damaged undecodable",
    ]);
    expect(output.graph).toMatchObject({ threads: 2, bad: 1, kinds: { undecodable: 1 } });
    // An outage says nothing about a thread.
    tier.list = () => {
      throw new StratigraphError("UNAVAILABLE", "The storage is away.");
    };
    await expect(told(saver, graph)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("findings are listed up to a limit, ten for each value, and all threads are counted", async () => {
    const saver = await open();
    const graph = new StateGraph(z.object({ list: z.array(z.number()) }))
      .addNode("work", () => ({}))
      .addEdge(START, "work")
      .compile({ checkpointer: saver });
    for (let n = 0; n < 101; n += 1) {
      const channel_values = { list: Array.from({ length: 20 }, String) };
      const checkpoint = { ...emptyCheckpoint(), channel_values, channel_versions: { list: 1 } };
      const config = { configurable: { thread_id: `t${n}`, checkpoint_ns: "" } };
      await saver.put(config, checkpoint, { source: "input", step: -1, parents: {} }, { list: 1 });
    }
    const output = await told(saver, graph);
    expect(output.items).toHaveLength(1000);
    expect(output.graph).toEqual({ threads: 101, bad: 101, skipped: 0, kinds: { value: 101 }, leftOut: 10 });
  });

  test("a sample takes both ends; an interrupted walk goes on at its cursor; nothing is written", async () => {
    const saver = await open();
    const graph = new StateGraph(Annotation.Root({ n: Annotation<number> }))
      .addNode("work", () => ({}))
      .addEdge(START, "work")
      .compile({ checkpointer: saver });
    for (let n = 0; n < 20; n += 1) await graph.invoke({ n }, on(`t${n}`));
    const states = async () => {
      const { threads } = await saver.listThreads({ limit: 100 });
      return threads.map(({ threadId, revision, head, writtenAtMs }) => [
        threadId,
        revision,
        head,
        writtenAtMs,
      ]);
    };
    const before = await states();
    const seen: string[] = [];
    const none = new StateGraph(Annotation.Root({ m: Annotation<number> }))
      .addNode("work", () => ({}))
      .addEdge(START, "work")
      .compile({ checkpointer: saver });
    const sample = await told(saver, none, { sample: 4 });
    expect(sample.items.some(({ at }) => at["thread"] === "t0")).toBe(true);
    expect(sample.items.map(({ at }) => at["thread"]).toSorted()).toHaveLength(4);
    expect(sample).toMatchObject({ complete: true, graph: { threads: 4, bad: 4 } });
    const ends = new AbortController();
    const first = await told(saver, none, {}, { signal: ends.signal, onProgress: () => ends.abort() });
    seen.push(...first.items.map(({ at }) => at["thread"]!));
    expect(first).toMatchObject({ complete: false, cursor: expect.any(String) });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan(20);
    const rest = await told(saver, none, { cursor: first.cursor });
    seen.push(...rest.items.map(({ at }) => at["thread"]!));
    expect(new Set(seen).size).toBe(20);
    expect(seen).toHaveLength(20);
    expect(await states()).toEqual(before);
    await expect(told(saver, { channels: 1 })).rejects.toMatchObject({ code: "MISCONFIGURED" });
    await expect(run("doctor", { sample: 3 }, testContext(saver))).rejects.toMatchObject({
      code: "INVALID_OPTION",
    });
  });
});

test("an archived thread is judged where it is, and stays archived", async () => {
  const cold = folder({ path: temporaryFolder() });
  const saver = new TieredSaver({ warm: new MemoryTier(), cold, archiveAfter: "0s", pause: "0ms" });
  const graph = new StateGraph(Annotation.Root({ n: Annotation<number> }))
    .addNode("work", () => ({}))
    .addEdge(START, "work")
    .compile({ checkpointer: saver });
  await graph.invoke({ n: 1 }, on("t"));
  await saver.maintain();
  const isEvicted = async () => (await saver.listThreads({})).threads.map(({ evicted }) => evicted);
  expect(await isEvicted()).toEqual([true]);
  const other = new StateGraph(Annotation.Root({ m: Annotation<number> }))
    .addNode("work", () => ({}))
    .addEdge(START, "work")
    .compile();
  expect(wrong(await told(saver, other))).toEqual(["t channel n"]);
  expect(await isEvicted()).toEqual([true]);
  await saver.end();
});
