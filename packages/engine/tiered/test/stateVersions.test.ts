// long file: one suite of compiled graphs, over every kind of storage
import {
  Annotation,
  Command,
  DeltaChannel,
  Overwrite,
  Send,
  START,
  StateGraph,
  StateSchema,
  interrupt,
} from "@langchain/langgraph";
import {
  MemoryTier,
  StratigraphSerializer,
  TierSaver,
  type SaverOptions,
  type Tier,
} from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { storages, type Storage } from "./fixtures/stateStorages.ts";
import { stateVersions } from "./fixtures/stateVersions.ts";
import { allRounds } from "../../../../test/rounds.ts";

type Versions = NonNullable<SaverOptions["stateVersions"]>;

const on = { configurable: { thread_id: "t" } };
const code = (name: string) => expect.objectContaining({ code: name });
const strings = () => Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });

/** The graph of version 1: a name in one piece, a count that is text, a log. */
const State1 = Annotation.Root({ name: Annotation<string>, count: Annotation<string>, log: strings() });

/** Whom it asks: "ask" waits for an answer, while "beside" has ended. */
function graph1(saver: TierSaver, ran: string[] = []) {
  return new StateGraph(State1)
    .addNode("greet", ({ name }) => {
      ran.push("greet");
      return { log: [`hello ${name}`], count: "1" };
    })
    .addNode("ask", ({ name }) => {
      const answer = interrupt<{ question: string }, { text: string }>({ question: `is it ${name}?` });
      ran.push("ask");
      return { log: [answer.text] };
    })
    .addNode("beside", () => {
      ran.push("beside");
      return { count: "2", name: "Ada Byron" };
    })
    .addEdge(START, "greet")
    .addEdge("greet", "ask")
    .addEdge("greet", "beside")
    .compile({ checkpointer: saver });
}

/** The graph of version 2: the name in two parts, a count that is a number, the log renamed. */
const State2 = Annotation.Root({
  first: Annotation<string>,
  last: Annotation<string>,
  count: Annotation<number>,
  lines: strings(),
});

function graph2(saver: TierSaver, ran: string[] = []) {
  return new StateGraph(State2)
    .addNode("greet", ({ first, last }) => {
      ran.push("greet");
      return { lines: [`hello ${last}, ${first}`], count: 1 };
    })
    .addNode("ask", ({ first }) => {
      const answer = interrupt<{ ask: string }, { text: string }>({ ask: `is it ${first}?` });
      ran.push("ask");
      return { lines: [answer.text] };
    })
    .addNode("beside", () => {
      ran.push("beside");
      return { count: 2, first: "Ada", last: "Byron" };
    })
    .addEdge(START, "greet")
    .addEdge("greet", "ask")
    .addEdge("greet", "beside")
    .compile({ checkpointer: saver });
}

const { steps } = stateVersions;
const up: Versions = { current: 2, steps };
const down: Versions = { current: 1, steps };

/** All that is stored of the thread, without what reading may change. */
async function bytesOf(tier: Tier): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { record, writes } of tier.list({ threadId: "t" }))
    found.push([
      record.checkpointId,
      Buffer.from(record.body).toString("hex"),
      writes.map(({ body }) => Buffer.from(body).toString("hex")),
    ]);
  return found;
}

const told = allRounds ? Object.keys(storages) : ["memory", "redis>postgres>folder"];
for (const name of told as (keyof typeof storages)[]) {
  const open = storages[name];
  const onStorage = (what: string, play: (storage: Storage) => Promise<void>): void => {
    // The steps are the saver's. With few rounds, the story with the archive is enough on servers.
    const isTold = allRounds || name === "memory" || what.startsWith("a thread that waits");
    if (!isTold) return;
    test(what, async () => {
      const storage = await open();
      try {
        await play(storage);
      } finally {
        await storage.close();
      }
    });
  };
  const at = (tier: Tier, stateVersions?: Versions): TierSaver =>
    new TierSaver(tier, stateVersions === undefined ? {} : { stateVersions });

  describe(`state versions on ${name}`, () => {
    onStorage(
      "a thread that waits at an interrupt goes on under the new schema, and nothing runs twice",
      async ({ tier, archive }) => {
        const ran: string[] = [];
        const old = graph1(at(tier), ran);
        await old.invoke({ name: "Ada Lovelace" }, on);
        expect(ran).toEqual(["greet", "beside"]);
        const before = await old.getState((await old.getState(on)).config);
        await archive?.();
        const graph = graph2(at(tier, up), ran);
        const waiting = await graph.getState(on);
        expect(waiting.values).toEqual({
          first: "Ada",
          last: "Byron",
          count: 2,
          lines: ["hello Ada Lovelace"],
        });
        expect(waiting.next).toEqual(["ask"]);
        expect(
          waiting.tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value as unknown)),
        ).toEqual([{ ask: "is it Ada Lovelace?" }]);
        const result = await graph.invoke(new Command({ resume: { text: "yes" } }), on);
        expect(result).toEqual({
          first: "Ada",
          last: "Byron",
          count: 2,
          lines: ["hello Ada Lovelace", "yes"],
        });
        expect(ran).toEqual(["greet", "beside", "ask"]);
        // What the old version stored is there as it was.
        const then = await graph1(at(tier)).getState(before.config);
        expect(then.values).toEqual(before.values);
        expect(then.tasks.flatMap(({ interrupts }) => interrupts)).toEqual(
          before.tasks.flatMap(({ interrupts }) => interrupts),
        );
        const versions = [];
        for await (const state of graph2(at(tier, up)).getStateHistory(on))
          versions.push(
            Object.keys(state.values as object)
              .sort()
              .join(),
          );
        expect(new Set(versions)).toEqual(new Set(["lines", "count,first,last,lines", "first,last,lines"]));
      },
    );

    onStorage(
      "two versions at once: the old one is told what it can't read, or goes on by a step down",
      async ({ tier }) => {
        await graph1(at(tier)).invoke({ name: "Ada Lovelace" }, on);
        const old = at(tier);
        await graph1(old).getState(on);
        await graph2(at(tier, up)).invoke(new Command({ resume: { text: "yes" } }), on);
        const before = await bytesOf(tier);
        await expect(graph1(old).invoke({ name: "Eve E" }, on)).rejects.toEqual(
          expect.objectContaining({
            code: "STATE_VERSION",
            data: expect.objectContaining({ threadId: "t", found: 2, current: 1 }) as unknown,
          }),
        );
        await expect(graph1(at(tier)).getState(on)).rejects.toEqual(code("STATE_VERSION"));
        expect(await bytesOf(tier)).toEqual(before);
        const downed = graph1(at(tier, down));
        expect((await downed.getState(on)).values).toEqual({
          name: "Ada Byron",
          count: "2",
          log: ["hello Ada Lovelace", "yes"],
        });
        await downed.invoke({ name: "Eve E" }, on);
        // What the old one wrote is of its own version, so that it needs no step.
        const own = await at(tier).getTuple(on);
        expect(own?.checkpoint.channel_values).toMatchObject({ name: "Eve E", count: "1" });
        const both = await graph2(at(tier, up)).invoke(new Command({ resume: { text: "no" } }), on);
        expect(both).toMatchObject({ first: "Ada", last: "Byron", count: 2 });
        expect(both.lines).toEqual(["hello Ada Lovelace", "yes", "hello Eve E", "no"]);
      },
    );

    onStorage("an old checkpoint is forked under both schemas", async ({ tier }) => {
      await graph1(at(tier)).invoke({ name: "Ada Lovelace" }, on);
      const { config } = await graph1(at(tier)).getState(on);
      const own = await graph1(at(tier)).updateState(config, { name: "Bob B" }, "greet");
      const forked = await graph2(at(tier, up)).updateState(config, { first: "Eve" }, "greet");
      const downed = await graph1(at(tier, down)).updateState(config, { name: "Cat C" }, "greet");
      const read = async (saver: TierSaver, fork: typeof config) =>
        (await saver.getTuple(fork))?.checkpoint.channel_values;
      expect(await read(at(tier, up), forked)).toMatchObject({ first: "Eve", last: "Lovelace", count: 1 });
      expect(await read(at(tier, up), own)).toMatchObject({ first: "Bob", last: "B", count: 1 });
      expect(await read(at(tier), own)).toMatchObject({ name: "Bob B", count: "1" });
      expect(await read(at(tier), downed)).toMatchObject({ name: "Cat C", count: "1" });
      expect(await read(at(tier), config)).toMatchObject({ name: "Ada Lovelace", count: "1" });
    });

    onStorage("a DeltaChannel that was begun under the old schema is rebuilt", async ({ tier, archive }) => {
      const append = (state: unknown[], writes: unknown[][]): unknown[] => [...state, ...writes.flat()];
      const delta = (snapshotFrequency: number) => () =>
        new DeltaChannel<unknown[], unknown[]>(append, { snapshotFrequency });
      for (const frequency of [2, 1000]) {
        const config = { configurable: { thread_id: `t${frequency}` } };
        const graph = (saver: TierSaver, channel: "log" | "lines", say: (n: number) => unknown) =>
          new StateGraph(
            Annotation.Root({
              [channel]: delta(frequency),
              turn: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
            }),
          )
            .addNode("a", ({ turn }) => ({ [channel]: [say(turn)], turn: 1 }))
            .addEdge(START, "a")
            .compile({ checkpointer: saver });
        const lines = { from: "log", to: "lines", up: (all: string[]) => all.map((text) => ({ text })) };
        const versions: Versions = { current: 2, steps: [{ to: 2, changes: [lines] }] };
        for (let turn = 0; turn < 3; turn += 1)
          await graph(at(tier), "log", (n) => `old ${n}`).invoke({ log: ["in"] }, config);
        await archive?.();
        const later = graph(at(tier, versions), "lines", (n) => ({ text: `new ${n}` }));
        const said = [0, 1, 2].flatMap((n) => [{ text: "in" }, { text: `old ${n}` }]);
        expect((await later.getState(config)).values).toEqual({ lines: said, turn: 3 });
        for (let turn = 0; turn < 2; turn += 1) await later.invoke({ lines: [{ text: "in" }] }, config);
        const expected = [...said, { text: "in" }, { text: "new 3" }, { text: "in" }, { text: "new 4" }];
        const reader = graph(at(tier, versions), "lines", String);
        expect((await reader.getState(config)).values).toEqual({ lines: expected, turn: 5 });
      }
    });

    onStorage(
      "a step that throws names thread, checkpoint, channel and step, and changes nothing",
      async ({ tier }) => {
        await graph1(at(tier)).invoke({ name: "Ada Lovelace" }, on);
        const before = await bytesOf(tier);
        const failing: Versions = {
          current: 2,
          steps: [
            {
              to: 2,
              changes: [
                {
                  from: "count",
                  to: "count",
                  up: () => {
                    throw new Error("no number");
                  },
                },
              ],
            },
          ],
        };
        const { config } = await graph1(at(tier)).getState(on);
        await expect(graph2(at(tier, failing)).invoke({ first: "Eve" }, on)).rejects.toMatchObject({
          code: "STATE_STEP_FAILED",
          data: {
            threadId: "t",
            checkpointId: config.configurable?.["checkpoint_id"] as string,
            channel: "count",
            from: 1,
            to: 2,
          },
          cause: { message: "no number" },
        });
        expect(await bytesOf(tier)).toEqual(before);
      },
    );
  });
}

describe("state versions", () => {
  const memory = (tier: Tier, stateVersions?: Versions, more: SaverOptions = {}): TierSaver =>
    new TierSaver(tier, { ...more, ...(stateVersions === undefined ? {} : { stateVersions }) });
  const version2 = (...changes: NonNullable<Versions["steps"][number]["changes"]>): Versions => ({
    current: 2,
    steps: [{ to: 2, changes }],
  });

  test("a process was killed before its input reached the channels", async () => {
    const tier = new MemoryTier();
    const graph = new StateGraph(State1)
      .addNode("greet", () => ({}))
      .addEdge(START, "greet")
      .compile({ checkpointer: memory(tier) });
    await graph.invoke({ name: "Ada Lovelace", count: "3" }, { ...on, durability: "sync" });
    const states = [];
    for await (const state of graph.getStateHistory(on)) states.push(state);
    const input = states.at(-1)!;
    expect(input.next).toEqual(["__start__"]);
    const result = await graph2(memory(tier, up)).invoke(null, input.config);
    expect(result).toMatchObject({
      first: "Ada",
      last: "Byron",
      count: 2,
      lines: ["hello Lovelace, Ada"],
    });
  });

  test("a breakpoint is passed once, not again", async () => {
    const tier = new MemoryTier();
    const options = { interruptBefore: ["b" as const] };
    const build = (saver: TierSaver, channel: "log" | "lines") =>
      new StateGraph(Annotation.Root({ [channel]: strings() }))
        .addNode("a", () => ({ [channel]: ["a"] }))
        .addNode("b", () => ({ [channel]: ["b"] }))
        .addEdge(START, "a")
        .addEdge("a", "b")
        .compile({ checkpointer: saver, ...options });
    await build(memory(tier), "log").invoke({ log: ["in"] }, on);
    const renamed = version2({ from: "log", to: "lines" });
    const graph = build(memory(tier, renamed), "lines");
    expect((await graph.getState(on)).next).toEqual(["b"]);
    const other = { configurable: { thread_id: "u" } };
    await build(memory(tier), "log").invoke({ log: ["in"] }, other);
    await build(memory(tier), "log").invoke(null, other);
    const [before, after] = await Promise.all(
      [undefined, renamed].map(
        async (versions) => (await memory(tier, versions).getTuple(other))!.checkpoint,
      ),
    );
    const seen = JSON.stringify(before!.versions_seen);
    expect(seen).toContain('"log"');
    expect(after!.versions_seen).toEqual(JSON.parse(seen.replaceAll('"log"', '"lines"')));
    expect(await graph.invoke(null, on)).toEqual({ lines: ["in", "a", "b"] });
  });

  test("channels are joined, removed and added, and an addition doesn't replace what is there", async () => {
    const tier = new MemoryTier();
    const old = new StateGraph(
      Annotation.Root({
        first: Annotation<string>,
        last: Annotation<string>,
        junk: Annotation<string>,
        score: Annotation<number>,
      }),
    )
      .addNode("a", () => ({}))
      .addEdge(START, "a")
      .compile({ checkpointer: memory(tier) });
    const other = { configurable: { thread_id: "u" } };
    await old.invoke({ first: "Ada", last: "Lovelace", junk: "x" }, on);
    await old.invoke({ first: "Eve", score: 7 }, other);
    const versions = version2(
      {
        from: ["first", "last"],
        to: "name",
        up: ({ first, last }: { first?: string; last?: string }) => [first, last].join(" "),
      },
      { from: "junk" },
      { to: "score", up: () => 0 },
    );
    const graph = new StateGraph(Annotation.Root({ name: Annotation<string>, score: Annotation<number> }))
      .addNode("a", ({ score }) => ({ score: score + 1 }))
      .addEdge(START, "a")
      .compile({ checkpointer: memory(tier, versions) });
    expect((await graph.getState(on)).values).toEqual({ name: "Ada Lovelace", score: 0 });
    expect((await graph.getState(other)).values).toEqual({ name: "Eve ", score: 7 });
    expect(await graph.invoke({ name: "Bob" }, on)).toEqual({ name: "Bob", score: 1 });
    const tuple = await memory(tier).getTuple(other);
    expect(tuple?.checkpoint.channel_values).toMatchObject({ first: "Eve", score: 7 });
  });

  test("Sends that are due, an Overwrite and what was answered are led through their own functions", async () => {
    const tier = new MemoryTier();
    const build = (saver: TierSaver, count: (args: Record<string, unknown>) => unknown) =>
      new StateGraph(Annotation.Root({ all: strings() }))
        .addNode("fan", () => ({ all: new Overwrite(["fresh"]) as unknown as string[] }))
        .addNode("each", (args) => {
          const answers = [interrupt("1"), interrupt("2")] as string[];
          return { all: [`${String(count(args))} ${answers.join()}`] };
        })
        .addEdge(START, "fan")
        .addConditionalEdges("fan", () => [new Send("each", { n: "1" })], ["each"])
        .compile({ checkpointer: saver });
    const old = build(memory(tier), ({ n }) => n);
    await old.invoke({ all: ["in"] }, on);
    await old.invoke(new Command({ resume: "one" }), on);
    const versions: Versions = {
      current: 2,
      steps: [
        {
          to: 2,
          sends: { up: ({ n }: { n: string }, { channel }) => ({ number: Number(n), node: channel }) },
          answers: { up: (answer: string) => answer.toUpperCase() },
        },
      ],
    };
    const graph = build(memory(tier, versions), ({ number, node }) => `${typeof number} ${String(node)}`);
    expect((await graph.invoke(new Command({ resume: "two" }), on)).all).toEqual([
      "fresh",
      "number each ONE,two",
    ]);
  });

  test("a class whose shape changed", async () => {
    class Point {
      constructor(
        readonly x: number,
        readonly y: number,
      ) {}
    }
    class Place {
      constructor(readonly at: readonly number[]) {}
    }
    const serde = (name: "Point" | "Place"): StratigraphSerializer => {
      const made = new StratigraphSerializer();
      made.register({
        name: "Point",
        class: Point,
        toData: ({ x, y }) => ({ x, y }),
        fromData: ({ x, y }) => new Point(x as number, y as number),
      });
      if (name === "Place")
        made.register({
          name: "Place",
          class: Place,
          toData: ({ at }) => ({ at }),
          fromData: ({ at }) => new Place(at as number[]),
        });
      return made;
    };
    const tier = new MemoryTier();
    const build = (saver: TierSaver) =>
      new StateGraph(Annotation.Root({ where: Annotation<Point | Place> }))
        .addNode("a", () => ({}))
        .addEdge(START, "a")
        .compile({ checkpointer: saver });
    await build(memory(tier, undefined, { serde: serde("Point") })).invoke({ where: new Point(1, 2) }, on);
    const versions = version2({ from: "where", to: "where", up: ({ x, y }: Point) => new Place([x, y]) });
    const graph = build(memory(tier, versions, { serde: serde("Place") }));
    await graph.invoke({}, on);
    expect(
      (await build(memory(tier, versions, { serde: serde("Place") })).getState(on)).values.where,
    ).toEqual(new Place([1, 2]));
  });

  test("a subgraph has a schema of its own", async () => {
    const tier = new MemoryTier();
    const build = (saver: TierSaver, inner: "log" | "lines") => {
      const sub = new StateGraph(Annotation.Root({ [inner]: strings(), name: Annotation<string> }))
        .addNode("ask", () => ({ [inner]: [String(interrupt("?"))] }))
        .addEdge(START, "ask")
        .compile({ checkpointer: true });
      return new StateGraph(Annotation.Root({ log: strings(), name: Annotation<string> }))
        .addNode("sub", async (_, config) => {
          const { [inner]: said } = (await sub.invoke({ [inner]: ["sub"] }, config)) as Record<
            string,
            string[]
          >;
          return { log: said! };
        })
        .addEdge(START, "sub")
        .compile({ checkpointer: saver });
    };
    await build(memory(tier), "log").invoke({ log: ["in"], name: "x" }, on);
    const versions = version2({ from: "log", to: "lines", namespace: "sub" });
    const result = await build(memory(tier, versions), "lines").invoke(new Command({ resume: "yes" }), on);
    expect(result).toEqual({ log: ["in", "sub", "yes"], name: "x" });
  });

  test("several steps at once, and an application that gave up the first ones", async () => {
    const tier = new MemoryTier();
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, on);
    const third = { to: 3, changes: [{ from: "first", to: "given" }] };
    const saver = memory(tier, { current: 3, steps: [...steps, third] });
    expect((await saver.getTuple(on))?.checkpoint.channel_values).toMatchObject({
      given: "Ada",
      last: "Lovelace",
    });
    await expect(memory(tier, { current: 3, steps: [third] }).getTuple(on)).rejects.toThrow(
      "It has no step to version 2.",
    );
  });

  test("a value that isn't given with a put is carried over, led through the steps", async () => {
    const tier = new MemoryTier();
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, on);
    const saver = memory(tier, up);
    const { config, checkpoint, metadata } = (await saver.getTuple(on))!;
    const given = { ...checkpoint, id: `${checkpoint.id.slice(0, -1)}z`, channel_values: {} };
    await saver.put(config, given, metadata ?? { source: "loop", step: 9, parents: {} }, {});
    const { first, last, count, lines } = checkpoint.channel_values;
    expect((await memory(tier, up).getTuple(on))?.checkpoint.channel_values).toMatchObject({
      first,
      last,
      count,
      lines,
    });
  });

  // LangGraph 1.4 does that under durability "exit" whenever a run ends in the step that it began with.
  test("the first checkpoint is put again by a newer application, and keeps the values that a step changed", async () => {
    const tier = new MemoryTier();
    const thread = { ...on, durability: "exit" } as const;
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, thread);
    const saver = memory(tier, up);
    const { config, parentConfig, checkpoint, metadata } = (await saver.getTuple(on))!;
    expect(parentConfig).toBeUndefined();
    expect(checkpoint.channel_values).toMatchObject({ first: "Ada", last: "Lovelace", count: 1 });
    await saver.put(config, checkpoint, metadata ?? { source: "loop", step: 1, parents: {} }, {});
    for (const reader of [saver, memory(tier, up)])
      expect((await reader.getTuple(on))?.checkpoint).toEqual(checkpoint);
  });

  test("a task that wrote a removed channel alone counts as done", async () => {
    const tier = new MemoryTier();
    const ran: string[] = [];
    const build = (saver: TierSaver) =>
      new StateGraph(Annotation.Root({ junk: Annotation<string>, said: Annotation<string> }))
        .addNode("a", () => (ran.push("a"), { junk: "x" }))
        .addNode("b", () => ({ said: String(interrupt("?")) }))
        .addEdge(START, "a")
        .addEdge(START, "b")
        .compile({ checkpointer: saver });
    await build(memory(tier)).invoke({ junk: "in" }, on);
    const result = await build(memory(tier, version2({ from: "junk" }))).invoke(
      new Command({ resume: "yes" }),
      on,
    );
    expect(result).toEqual({ said: "yes" });
    expect(ran).toEqual(["a"]);
  });

  test("two processes of two versions both ran the same task: the writes of the first count", async () => {
    const tier = new MemoryTier();
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, on);
    const { config } = (await memory(tier).getTuple(on))!;
    await memory(tier).putWrites(config, [["name", "Eve E"]], "task", "");
    const newer = memory(tier, up);
    await newer.putWrites(
      config,
      [
        ["first", "Bob"],
        ["last", "B"],
      ],
      "task",
      "",
    );
    const writes = (await newer.getTuple(on))?.pendingWrites?.filter(([task]) => task === "task");
    expect(writes?.map(([, channel, value]) => [channel, value])).toEqual([
      ["first", "Eve"],
      ["last", "E"],
    ]);
  });

  test("a pending Overwrite holds a value, not an update", async () => {
    const tier = new MemoryTier();
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, on);
    const { config } = (await memory(tier).getTuple(on))!;
    await memory(tier).putWrites(config, [["log", new Overwrite(["x"])]], "task", "");
    await memory(tier).putWrites(config, [["log", ["y"]]], "other", "");
    const up = (lines: string[], { kind }: { kind: string }) => [kind, ...lines];
    const tuple = await memory(tier, version2({ from: "log", to: "lines", up })).getTuple(on);
    const values = tuple?.pendingWrites?.filter(([task]) => task === "task" || task === "other");
    expect(values).toEqual([
      ["other", "lines", ["write", "y"]],
      ["task", "lines", new Overwrite(["value", "x"])],
    ]);
  });

  test("a StateSchema's default begins where a channel was removed and another added", async () => {
    const tier = new MemoryTier();
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, on);
    await graph1(memory(tier)).invoke(new Command({ resume: { text: "yes" } }), on);
    const State = new StateSchema({
      name: z.string(),
      count: z.number(),
      tags: z.array(z.string()).default(() => ["new"]),
    });
    const versions = version2({ from: "log" }, { from: "count", to: "count", up: Number });
    const graph = new StateGraph(State)
      .addNode("a", ({ count, tags }) => ({ count: count + 1, tags: [...tags, "a"] }))
      .addEdge(START, "a")
      .compile({ checkpointer: memory(tier, versions) });
    expect(await graph.invoke({ name: "Bob" }, on)).toEqual({ name: "Bob", count: 3, tags: ["new", "a"] });
  });

  describe("a step that leaves a channel without a value", () => {
    const lists = { all: strings(), log: strings(), aux: strings(), added: strings() };
    const deltas = (snapshotFrequency: number) => {
      const append = (list: string[], updates: string[][]): string[] => [...list, ...updates.flat()];
      const delta = () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency });
      return { all: delta, log: delta, aux: delta } as unknown as typeof lists;
    };
    /** Writes a mark, and at the next turn overwrites it. */
    const graphOf = (saver: TierSaver, kinds: typeof lists, names: readonly (keyof typeof lists)[]) =>
      new StateGraph(
        Annotation.Root(Object.fromEntries(names.map((each) => [each, kinds[each]])) as typeof lists),
      )
        .addNode("mark", ({ all }) =>
          all === undefined || all.includes("kept")
            ? {}
            : { all: all.includes("b") ? new Overwrite(["kept"]) : ["x*"] },
        )
        .addEdge(START, "mark")
        .compile({ checkpointer: saver });
    const part = (all: string[]) => {
      const [log, aux] = [
        all.filter((each) => !each.endsWith("*")),
        all.filter((each) => each.endsWith("*")),
      ];
      return { ...(log.length > 0 && { log }), ...(aux.length > 0 && { aux }) };
    };
    const split: Versions["steps"][number] = {
      to: 2,
      changes: [
        { from: "all", to: ["log", "aux"], up: part },
        { to: "added", up: () => undefined },
      ],
    };
    const cleared: typeof split = {
      to: 2,
      changes: [{ from: "all", to: "all", up: (all, { kind }) => (kind === "value" ? undefined : all) }],
    };
    const at = (tier: Tier, step: typeof split, current: number) =>
      new TierSaver(tier, { stateVersions: { current, steps: [step] } });

    test.each(["sync", "async", "exit"] as const)(
      "a list isn't filled from its past: %s",
      async (durability) => {
        const tier = new MemoryTier();
        const thread = { ...on, durability };
        const old = graphOf(at(tier, split, 1), lists, ["all"]);
        await old.invoke({ all: ["a"] }, thread);
        const empty = await graphOf(at(tier, cleared, 2), lists, ["all"]).getState(thread);
        expect(empty.values).toEqual({ all: [] });
        await old.invoke({ all: ["b"] }, thread);
        const saver = at(tier, split, 2);
        const graph = graphOf(saver, lists, ["log", "aux", "added"]);
        expect((await graph.getState(thread)).values).toEqual({ log: ["kept"], aux: [], added: [] });
        const { channel_versions } = (await saver.getTuple(on))!.checkpoint;
        expect(Object.keys(channel_versions)).toEqual(expect.not.arrayContaining(["aux"]));
        expect(Object.keys(channel_versions)).toEqual(expect.not.arrayContaining(["added"]));
        await graph.invoke({ log: ["c"] }, thread);
        expect((await graph.getState(thread)).values).toEqual({ log: ["kept", "c"], aux: [], added: [] });
      },
    );

    test("a DeltaChannel isn't rebuilt from before a snapshot of which nothing is left", async () => {
      const tier = new MemoryTier();
      const old = graphOf(at(tier, split, 1), deltas(2), ["all"]);
      await old.invoke({ all: ["a"] }, on);
      await old.invoke({ all: ["b"] }, on);
      const saver = at(tier, split, 2);
      const graph = graphOf(saver, deltas(2), ["log", "aux"]);
      expect((await graph.getState(on)).values).toEqual({ log: ["kept"], aux: [] });
      // LangGraph before 1.5, and for threads from then, asks for every DeltaChannel without a value.
      const { config } = (await saver.getTuple(on))!;
      const history = await saver.getDeltaChannelHistory({ config, channels: ["log", "aux"] });
      expect(history["log"]).toMatchObject({ seed: { value: ["a"] } });
      expect(history["aux"]).toEqual({ writes: [] });
      await old.invoke({ all: ["c"] }, on);
      expect((await graph.getState(on)).values).toEqual({ log: ["kept", "c"], aux: [] });
    });

    test("what a new input discarded isn't in a DeltaChannel that had no value", async () => {
      const tier = new MemoryTier();
      const old = new StateGraph(Annotation.Root({ all: deltas(1).all, said: Annotation<string> }))
        .addNode("mark", () => ({ all: ["discarded*"] }))
        .addNode("ask", () => ({ said: String(interrupt("ok?")) }))
        .addEdge(START, "mark")
        .addEdge(START, "ask")
        .compile({ checkpointer: at(tier, split, 1) });
      await old.invoke({ all: ["a"] }, on);
      const { log, aux } = deltas(1000);
      const graph = new StateGraph(Annotation.Root({ log, aux }))
        .addNode("other", () => ({ aux: ["b*"] }))
        .addEdge(START, "other")
        .compile({ checkpointer: at(tier, split, 2) });
      await graph.invoke({ log: ["c"] }, on);
      expect((await graph.getState(on)).values).toEqual({ log: ["a", "c"], aux: ["b*"] });
    });
  });

  test("pruning keeps what a renamed DeltaChannel is rebuilt from, in a copy, too", async () => {
    const tier = new MemoryTier();
    const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];
    const build = (saver: TierSaver, channel: "log" | "lines") =>
      new StateGraph(
        Annotation.Root({
          [channel]: () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 }),
        }),
      )
        .addNode("a", () => ({ [channel]: ["a"] }))
        .addEdge(START, "a")
        .compile({ checkpointer: saver });
    for (const text of ["1", "2"]) await build(memory(tier), "log").invoke({ log: [text] }, on);
    const saver = memory(tier, version2({ from: "log", to: "lines" }));
    await build(saver, "lines").invoke({ lines: ["3"] }, on);
    await saver.copyThread("t", "copy");
    await saver.prune(["t"], { strategy: "keep_latest" });
    for (const thread_id of ["t", "copy"]) {
      const state = await build(saver, "lines").getState({ configurable: { thread_id } });
      expect(state.values).toEqual({ lines: ["1", "a", "2", "a", "3", "a"] });
    }
  });

  test("nobody writes on a parent that it can't know", async () => {
    const tier = new MemoryTier();
    await graph2(memory(tier, up)).invoke({ first: "Ada", last: "L" }, on);
    const before = await bytesOf(tier);
    const { config, checkpoint, metadata } = (await memory(tier, up).getTuple(on))!;
    const next = { ...checkpoint, id: `${checkpoint.id.slice(0, -1)}z` };
    const old = memory(tier);
    await expect(old.put(config, next, metadata!, {})).rejects.toEqual(code("STATE_VERSION"));
    expect(await bytesOf(tier)).toEqual(before);
  });

  test("state of a newer version is refused as such, though it has types that it doesn't know", async () => {
    class Place {
      constructor(readonly at: number) {}
    }
    const serde = new StratigraphSerializer();
    serde.register({
      name: "Place",
      class: Place,
      toData: ({ at }) => ({ at }),
      fromData: ({ at }) => new Place(at as number),
    });
    const tier = new MemoryTier();
    const graph = new StateGraph(Annotation.Root({ where: Annotation<Place> }))
      .addNode("a", () => ({}))
      .addEdge(START, "a")
      .compile({ checkpointer: memory(tier, { current: 2, steps: [{ to: 2 }] }, { serde }) });
    await graph.invoke({ where: new Place(1) }, on);
    await expect(memory(tier).getTuple(on)).rejects.toEqual(code("STATE_VERSION"));
  });

  test("a step down that lacks a function isn't taken", async () => {
    const tier = new MemoryTier();
    await graph2(memory(tier, up)).invoke({ first: "Ada", last: "L" }, on);
    for (const change of [{ from: "log", to: "lines", up: (lines: unknown) => lines }, { from: "gone" }]) {
      const versions: Versions = { current: 1, steps: [{ to: 2, changes: [change] }] };
      await expect(memory(tier, versions).getTuple(on)).rejects.toEqual(code("STATE_VERSION"));
    }
    const renames: Versions = {
      current: 1,
      steps: [
        {
          to: 2,
          changes: [
            { from: "log", to: "lines" },
            { to: "count", up: () => 0 },
          ],
        },
      ],
    };
    const values = (await memory(tier, renames).getTuple(on))?.checkpoint.channel_values;
    expect(values).toMatchObject({ first: "Ada", log: ["hello L, Ada"] });
    expect(values).not.toHaveProperty("count");
  });

  test.each<[string, unknown, string]>([
    ["null", null, "stateVersions"],
    ["no version", { steps: [] }, "stateVersions.current"],
    ["a version below 1", { current: 0, steps: [] }, "stateVersions.current"],
    ["no steps", { current: 2 }, "stateVersions.steps"],
    ["steps that end too early", { current: 3, steps: [{ to: 2 }] }, "stateVersions.steps"],
    ["no steps at version 2", { current: 2, steps: [] }, "stateVersions.steps"],
    ["steps that begin too late", { current: 1, steps: [{ to: 3 }] }, "stateVersions.steps[0].to"],
    ["a gap", { current: 4, steps: [{ to: 2 }, { to: 4 }] }, "stateVersions.steps[1].to"],
    ["two steps to one version", { current: 2, steps: [{ to: 2 }, { to: 2 }] }, "stateVersions.steps[1].to"],
    [
      "an unknown option",
      { current: 2, steps: [{ to: 2, channels: {} }] },
      "stateVersions.steps[0].channels",
    ],
    [
      "a change of nothing",
      { current: 2, steps: [{ to: 2, changes: [{}] }] },
      "stateVersions.steps[0].changes[0]",
    ],
    [
      "a split without a function",
      { current: 2, steps: [{ to: 2, changes: [{ from: "a", to: ["b", "c"] }] }] },
      "stateVersions.steps[0].changes[0].up",
    ],
    [
      "a channel of LangGraph's",
      { current: 2, steps: [{ to: 2, changes: [{ from: "branch:to:a", to: "b" }] }] },
      "stateVersions.steps[0].changes[0]",
    ],
    [
      "two changes of one channel",
      {
        current: 2,
        steps: [
          {
            to: 2,
            changes: [
              { from: "a", to: "b" },
              { from: "a", to: "c" },
            ],
          },
        ],
      },
      "stateVersions.steps[0].changes[1].from",
    ],
    [
      "two changes to one channel",
      {
        current: 2,
        steps: [
          {
            to: 2,
            changes: [
              { from: "a", to: "c" },
              { from: "b", to: "c" },
            ],
          },
        ],
      },
      "stateVersions.steps[0].changes[1].to",
    ],
    [
      "a rename to a channel that is there",
      {
        current: 3,
        steps: [
          { to: 2, changes: [{ from: "a", to: "b" }] },
          { to: 3, changes: [{ from: "c", to: "b" }] },
        ],
      },
      "stateVersions.steps[1].changes",
    ],
    [
      "a rename of a channel that is gone",
      {
        current: 3,
        steps: [
          { to: 2, changes: [{ from: "a" }] },
          { to: 3, changes: [{ from: "a", to: "b" }] },
        ],
      },
      "stateVersions.steps[1].changes",
    ],
    [
      "a word for whether there are reducers",
      { current: 2, steps: [{ to: 2, changes: [{ from: ["a", "b"], to: "c", up: String, reduced: "no" }] }] },
      "stateVersions.steps[0].changes[0].reduced",
    ],
    [
      "reducers of a change that joins nothing",
      { current: 2, steps: [{ to: 2, changes: [{ from: "a", to: "b", reduced: true }] }] },
      "stateVersions.steps[0].changes[0].reduced",
    ],
    [
      "an id of a task",
      { current: 2, steps: [{ to: 2, changes: [{ from: "a", namespace: "sub:1" }] }] },
      "stateVersions.steps[0].changes[0].namespace",
    ],
  ])("refuses %s", (_, given, field) => {
    expect(() => new TierSaver(new MemoryTier(), { stateVersions: given as Versions })).toThrow(
      expect.objectContaining({
        code: "INVALID_OPTION",
        data: expect.objectContaining({ field }) as unknown,
      }),
    );
  });

  test("a step that would replace a channel, or returns other channels, is refused when it is met", async () => {
    const tier = new MemoryTier();
    await graph1(memory(tier)).invoke({ name: "Ada Lovelace" }, on);
    for (const [change, says] of [
      [{ from: "name", to: "count" }, 'it would replace channel "count"'],
      [{ from: "name", to: ["first"], up: () => ({ second: "x" }) }, 'and has "second"'],
      [{ from: "name", to: ["first"], up: () => "x" }, "must be an object of first"],
    ] as const)
      await expect(memory(tier, version2(change)).getTuple(on)).rejects.toThrow(says);
  });

  test("a new version wrote to a thread before the option was used: both channels are there, and are joined", async () => {
    const tier = new MemoryTier();
    const graph = (saver: TierSaver, channel: string) =>
      new StateGraph(Annotation.Root({ [channel]: strings() }))
        .addNode("a", () => ({ [channel]: ["said"] }))
        .addEdge(START, "a")
        .compile({ checkpointer: saver });
    await graph(memory(tier), "log").invoke({ log: ["old"] }, on);
    await graph(memory(tier), "lines").invoke({ lines: ["new"] }, on);
    const renamed = memory(tier, version2({ from: "log", to: "lines" }));
    await expect(renamed.getTuple(on)).rejects.toThrow("To join them, name it in from, too");
    const joined = version2({
      from: ["log", "lines"],
      to: "lines",
      up: ({ log = [], lines = [] }: Record<string, string[]>) => [...log, ...lines],
    });
    const said = await graph(memory(tier, joined), "lines").invoke({ lines: ["newer"] }, on);
    expect(said).toEqual({ lines: ["old", "said", "new", "said", "newer", "said"] });
  });
});
