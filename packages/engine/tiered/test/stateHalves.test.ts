// long file: stories of every way in which a step can be half run, over every kind of storage
import {
  Annotation,
  Command,
  DeltaChannel,
  Overwrite,
  START,
  StateGraph,
  interrupt,
  type StateSnapshot,
} from "@langchain/langgraph";
import { MemoryTier, TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import { storages } from "./fixtures/stateStorages.ts";
import { stateVersions } from "./fixtures/stateVersions.ts";
import { allRounds } from "../../../../test/rounds.ts";

// A step that is half run when the state's version changes: what joins channels is given all that the step wrote to them, and the rest from
// the checkpoint, or is refused by name.

type Versions = NonNullable<SaverOptions["stateVersions"]>;
type Update = Record<string, unknown> | Command | (Record<string, unknown> | Command)[];
type Node = (state: Record<string, unknown>) => Update | Promise<Update>;

const strings = () => Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });
const on = { configurable: { thread_id: "t" } };
const failed = (says: string) =>
  expect.objectContaining({ code: "STATE_STEP_FAILED", message: expect.stringContaining(says) as unknown });

const ask: Node = () => ({ said: String(interrupt("ok?")) });
const answer = new Command({ resume: "yes" });

type Config = StateSnapshot["config"];

/** A compiled graph whose channels differ by version. */
interface Graph {
  invoke(
    input: unknown,
    config: Config & { readonly durability?: "sync" | "async" | "exit" },
  ): Promise<Record<string, unknown>>;
  getState(config: Config): Promise<StateSnapshot>;
  getStateHistory(config: Config): AsyncIterable<StateSnapshot>;
  updateState(config: Config, values: unknown, asNode: string): Promise<Config>;
}

/** A graph of one step, in which all nodes run beside each other. */
function graphOf(saver: TierSaver, channels: Record<string, unknown>, nodes: Record<string, Node>): Graph {
  const schema = Annotation.Root({ said: Annotation<string>, ...channels } as {
    said: typeof Annotation<string>;
  });
  const graph = new StateGraph(schema);
  for (const [name, node] of Object.entries(nodes)) {
    graph.addNode(name, node as never);
    graph.addEdge(START, name as never);
  }
  return graph.compile({ checkpointer: saver }) as unknown as Graph;
}

const text = () => Annotation<string>;
const apart = () => ({ first: text()(), last: text()() });
const whole = () => ({ name: text()() });

type Names = Record<"first" | "last", string>;
const joined = ({ first, last }: Names) => `${first} ${last}`;
const split = (name: string) => ({ first: name.split(" ")[0], last: name.split(" ")[1] });
const step = (to: number, ...changes: NonNullable<Versions["steps"][number]["changes"]>) => ({ to, changes });
const join: Versions = {
  current: 2,
  steps: [step(2, { from: ["first", "last"], to: "name", up: joined, down: split })],
};
const stillApart: Versions = { ...join, current: 1 };

const at = (tier: Tier, stateVersions?: Versions): TierSaver =>
  new TierSaver(tier, stateVersions === undefined ? {} : { stateVersions });
const ada = { first: "Ada", last: "Lovelace" };

const told = allRounds ? Object.keys(storages) : ["memory", "postgres"];
for (const storage of told as (keyof typeof storages)[]) {
  const story = (
    what: string,
    play: (tier: Tier, archive: () => Promise<unknown>) => Promise<void>,
  ): void => {
    test(what, async () => {
      const { tier, archive, close } = await storages[storage]();
      try {
        await play(tier, async () => await archive?.());
      } finally {
        await close();
      }
    });
  };

  describe(`a half-run step under another state version, on ${storage}`, () => {
    story(
      "one task wrote both halves, and the question beside it is answered after the upgrade",
      async (tier, archive) => {
        const look: Node = () => ({ first: "Grace", last: "Hopper" });
        await graphOf(at(tier), apart(), { look, ask }).invoke(ada, on);
        await archive();
        const graph = graphOf(at(tier, join), whole(), { look, ask });
        const waiting = await graph.getState(on);
        expect([waiting.values, waiting.next]).toEqual([{ name: "Grace Hopper" }, ["ask"]]);
        expect(waiting.tasks.find(({ name }) => name === "look")).toMatchObject({
          result: { name: "Grace Hopper" },
        });
        expect(await graph.invoke(answer, on)).toEqual({ name: "Grace Hopper", said: "yes" });
      },
    );

    story("one task wrote one half: the other one is as the checkpoint has it", async (tier, archive) => {
      const look: Node = () => ({ first: "Grace" });
      await graphOf(at(tier), apart(), { look, ask }).invoke(ada, on);
      await archive();
      const graph = graphOf(at(tier, join), whole(), { look, ask });
      expect(await graph.invoke(answer, on)).toEqual({ name: "Grace Lovelace", said: "yes" });
    });

    story(
      "each of two tasks wrote a half: they are joined once, and neither task runs again",
      async (tier) => {
        const ran: string[] = [];
        const nodes = (): Record<string, Node> => ({
          a: () => (ran.push("a"), { first: "Grace" }),
          ask,
          b: () => (ran.push("b"), { last: "Hopper" }),
        });
        await graphOf(at(tier), apart(), nodes()).invoke(ada, on);
        const graph = graphOf(at(tier, join), whole(), nodes());
        expect(await graph.invoke(answer, on)).toEqual({ name: "Grace Hopper", said: "yes" });
        expect(ran).toEqual(["a", "b"]);
      },
    );

    story(
      "the guide's split, in a rolling upgrade: the older version goes on from what the newer one half ran",
      async (tier) => {
        const guide = { current: 1, steps: stateVersions.steps };
        for (const [n, [wrote, name]] of (
          [
            [{ first: "Grace", last: "Hopper" }, "Grace Hopper"],
            [{ last: "Byron" }, "Ada Byron"],
          ] as const
        ).entries()) {
          const thread = { configurable: { thread_id: `t${n}` } };
          const nodes: Record<string, Node> = {
            look: () => wrote,
            ask: () => ({ said: String(interrupt({ ask: "ok?" })) }),
          };
          await graphOf(at(tier, { ...guide, current: 2 }), apart(), nodes).invoke(ada, thread);
          const older = graphOf(at(tier, guide), whole(), nodes);
          const [asked] = (await older.getState(thread)).tasks.flatMap(({ interrupts }) => interrupts);
          expect(asked?.value).toEqual({ question: "ok?" });
          expect(await older.invoke(answer, thread)).toEqual({ name, said: "yes" });
          const newer = graphOf(at(tier, { ...guide, current: 2 }), apart(), nodes);
          expect((await newer.getState(thread)).values).toEqual({ ...split(name), said: "yes" });
        }
      },
    );

    story(
      "the older version half ran a step of a newer thread, and the newer one fills what was left",
      async (tier) => {
        const look: Node = () => ({ first: "Grace" });
        const nodes: Record<string, Node> = { look, ask };
        const first = graphOf(at(tier, join), whole(), { look: () => ({}) });
        await first.invoke({ name: "Ada Lovelace" }, on);
        await graphOf(at(tier, stillApart), apart(), nodes).invoke({}, on);
        const newer = graphOf(at(tier, join), whole(), nodes);
        expect(await newer.invoke(answer, on)).toEqual({ name: "Grace Lovelace", said: "yes" });
      },
    );

    story(
      "the join is one of several steps on the way, and what it is filled with went through the ones before",
      async (tier) => {
        const nodes: Record<string, Node> = { look: () => ({ forename: "Grace" }), ask };
        const old = graphOf(at(tier), { forename: text()(), surname: text()() }, nodes);
        await old.invoke({ forename: "Ada", surname: "Lovelace" }, on);
        const versions: Versions = {
          current: 4,
          steps: [
            step(
              2,
              { from: "forename", to: "first" },
              { from: "surname", to: "last", up: (name: string) => name.toUpperCase() },
            ),
            step(3, ...join.steps[0]!.changes!),
            step(4, { from: "name", to: "fullName" }),
          ],
        };
        const graph = graphOf(at(tier, versions), { fullName: text()() }, nodes);
        expect(await graph.invoke(answer, on)).toEqual({ fullName: "Grace LOVELACE", said: "yes" });
      },
    );

    story(
      "channels with reducers: each task's updates are joined for themselves, also if it wrote twice",
      async (tier) => {
        const lists = () => ({ log: strings(), notes: strings() });
        const nodes: Record<string, Node> = {
          a: () => [{ log: ["a1"], notes: ["n1"] }, new Command({ update: { log: ["a2"] } })],
          ask,
          b: () => ({ notes: ["n2"] }),
        };
        await graphOf(at(tier), lists(), nodes).invoke({ log: ["in"], notes: ["note"] }, on);
        const up = ({ log = [], notes = [] }: Record<string, string[]>) => [...log, ...notes];
        const versions: Versions = {
          current: 2,
          steps: [step(2, { from: ["log", "notes"], to: "all", up, reduced: true })],
        };
        const graph = graphOf(at(tier, versions), { all: strings() }, nodes);
        const all = ["in", "note", "a1", "n1", "a2", "n2"];
        expect(await graph.invoke(answer, on)).toEqual({ all, said: "yes" });
      },
    );

    story(
      "what may have a reducer is refused by name until the step says so, and nothing runs meanwhile",
      async (tier) => {
        const nodes: Record<string, Node> = { look: () => ({ x: 3 }), ask };
        await graphOf(at(tier), { x: Annotation<number>(), y: Annotation<number>() }, nodes).invoke(
          { x: 1, y: 2 },
          on,
        );
        const up = ({ x, y }: { x: number; y: number }) => [x, y];
        const change = { from: ["x", "y"], to: "place", up };
        const graph = (reduced?: boolean) =>
          graphOf(
            at(tier, {
              current: 2,
              steps: [step(2, reduced === undefined ? change : { ...change, reduced })],
            }),
            { place: Annotation<number[]>() },
            nodes,
          );
        const says = "a step wrote only x of them, and whether they have reducers isn't known";
        await expect(graph().invoke(answer, on)).rejects.toEqual(failed(says));
        await expect(graph().getState(on)).rejects.toEqual(failed(says));
        expect(await graph(false).invoke(answer, on)).toEqual({ place: [3, 2], said: "yes" });
      },
    );

    story("a process was killed before half an input reached the channels", async (tier) => {
      const look: Node = () => ({});
      await graphOf(at(tier), apart(), { look }).invoke(ada, on);
      const old = graphOf(at(tier), apart(), { look });
      await old.invoke({ first: "Grace" }, { ...on, durability: "sync" });
      const states = [];
      for await (const state of old.getStateHistory(on)) states.push(state);
      const input = states.find(({ next }) => next.includes("__start__"))!;
      const graph = graphOf(at(tier, join), whole(), { look });
      expect(await graph.invoke(null, input.config)).toEqual({ name: "Grace Lovelace" });
    });

    story("a Command's update and a task wrote a half each, one after the other", async (tier) => {
      let down = true;
      const nodes = (): Record<string, Node> => ({
        look: () => ({ last: "Hopper" }),
        ask: (state) => {
          const said = String(interrupt("ok?"));
          if (down) throw new Error("the process dies");
          return { said: `${said}, ${JSON.stringify(state["name"])}` };
        },
      });
      const old = graphOf(at(tier), apart(), nodes());
      await old.invoke(ada, on);
      const command = new Command({ resume: "yes", update: { first: "Grace" } });
      await expect(old.invoke(command, on)).rejects.toThrow("the process dies");
      down = false;
      const graph = graphOf(at(tier, join), whole(), nodes());
      expect(await graph.invoke(null, on)).toEqual({ name: "Grace Hopper", said: 'yes, "Grace Lovelace"' });
    });

    story(
      "the newer version ends the step and joins a list away: it is empty for the older one, and stays so",
      async (tier, archive) => {
        const lists = () => ({ log: strings(), notes: strings() });
        const up = ({ log = [], notes = [] }: Record<string, string[]>) => [...log, ...notes];
        const down = (log: string[]) => ({ log });
        const change = { from: ["log", "notes"], to: "all", up, down, reduced: true };
        const versions = { current: 2, steps: [step(2, change)] };
        const old = () =>
          graphOf(at(tier, { ...versions, current: 1 }), lists(), {
            ask,
            look: () => ({ notes: ["n"] }),
          });
        for (const durability of ["sync", "async", "exit"] as const) {
          const thread = { configurable: { thread_id: durability }, durability };
          await old().invoke({ log: ["in"] }, thread);
          const newer = graphOf(
            at(tier, versions),
            { all: strings() },
            { ask, look: () => ({ all: ["n"] }) },
          );
          expect(await newer.invoke(answer, thread)).toEqual({ all: ["in", "n"], said: "yes" });
          await archive();
          expect((await old().getState(thread)).values).toEqual({ log: ["in", "n"], notes: [], said: "yes" });
          await old().invoke({ log: ["again"] }, thread);
          const log = ["in", "n", "again"];
          expect(await old().invoke(answer, thread)).toEqual({ log, notes: ["n"], said: "yes" });
          expect((await newer.getState(thread)).values).toEqual({ all: [...log, "n"], said: "yes" });
        }
      },
    );

    story("a copy of the waiting thread is answered as the thread itself", async (tier, archive) => {
      const nodes: Record<string, Node> = { look: () => ({ first: "Grace" }), ask };
      await graphOf(at(tier), apart(), nodes).invoke(ada, on);
      await archive();
      const saver = at(tier, join);
      await saver.copyThread("t", "copy");
      for (const thread_id of ["copy", "t"])
        expect(await graphOf(saver, whole(), nodes).invoke(answer, { configurable: { thread_id } })).toEqual({
          name: "Grace Lovelace",
          said: "yes",
        });
    });
  });
}

describe("a half-run step under another state version", () => {
  const writesOf = async (saver: TierSaver): Promise<unknown[][]> =>
    ((await saver.getTuple(on))?.pendingWrites ?? []).filter(
      ([, channel]) => !String(channel).startsWith("__"),
    );
  const put = async (saver: TierSaver, taskId: string, writes: Record<string, unknown>) => {
    const { config } = (await saver.getTuple(on))!;
    await saver.putWrites(config, Object.entries(writes), taskId, "");
  };
  const lists: Versions = {
    current: 2,
    steps: [
      step(2, {
        from: ["log", "notes"],
        to: "all",
        up: ({ log = [], notes = [] }: Record<string, string[]>, { kind }) => [kind, ...log, ...notes],
      }),
    ],
  };
  const reduced: Versions = { ...lists, steps: [step(2, { ...lists.steps[0]!.changes![0], reduced: true })] };
  const begun = async (tier: Tier, channels: Record<string, unknown>, input: Record<string, unknown>) =>
    await graphOf(at(tier), channels, { look: () => ({}) }).invoke(input, on);

  test("a task that was answered, and whose half another task's took in, doesn't run again", async () => {
    const tier = new MemoryTier();
    const ran: string[] = [];
    const nodes = (): Record<string, Node> => ({
      a: () => {
        const said = String(interrupt("first?"));
        ran.push("a");
        return { first: said };
      },
      ask,
      b: () => (ran.push("b"), { last: "Hopper" }),
    });
    const old = graphOf(at(tier), apart(), nodes());
    await old.invoke(ada, on);
    const asked = (await old.getState(on)).tasks.flatMap(({ interrupts }) => interrupts);
    const idOf = (question: string) => asked.find(({ value }) => value === question)!.id!;
    await old.invoke(new Command({ resume: { [idOf("first?")]: "Grace" } }), on);
    const graph = graphOf(at(tier, join), whole(), nodes());
    const result = await graph.invoke(new Command({ resume: { [idOf("ok?")]: "yes" } }), on);
    expect(result).toEqual({ name: "Grace Hopper", said: "yes" });
    expect(ran).toEqual(["b", "a"]);
  });

  test("tasks of two versions wrote to one checkpoint: those of the older one join the newer one's on the way", async () => {
    const tier = new MemoryTier();
    await begun(tier, { forename: text()(), last: text()() }, { forename: "Ada", last: "Lovelace" });
    const steps = [step(2, { from: "forename", to: "first" }), step(3, ...join.steps[0]!.changes!)];
    await put(at(tier), "a", { forename: "Grace" });
    await put(at(tier, { current: 2, steps }), "b", { last: "Hopper" });
    expect(await writesOf(at(tier, { current: 3, steps }))).toEqual([["b", "name", "Grace Hopper"]]);
    expect(await writesOf(at(tier, { current: 2, steps }))).toEqual([
      ["a", "first", "Grace"],
      ["b", "last", "Hopper"],
    ]);
  });

  test("what the checkpoint holds can't be led down to the version of the write: refused by name", async () => {
    const tier = new MemoryTier();
    await begun(tier, apart(), ada);
    const upward = { from: ["first", "last"], to: "name", up: joined };
    await graphOf(at(tier, join), whole(), { look: () => ({}) }).invoke({}, on);
    await put(at(tier, stillApart), "a", { first: "Grace" });
    const oneWay = at(tier, { current: 2, steps: [step(2, upward)] });
    await expect(oneWay.getTuple(on)).rejects.toEqual(failed("what last holds isn't known here"));
    expect(await writesOf(at(tier, join))).toEqual([["a", "name", "Grace Lovelace"]]);
  });

  test("a channel that never had a value is no hole", async () => {
    const tier = new MemoryTier();
    await begun(tier, apart(), { first: "Ada" });
    await put(at(tier), "a", { first: "Grace" });
    const up = (names: Partial<Names>) => Object.keys(names).join();
    const versions: Versions = { current: 2, steps: [step(2, { from: ["first", "last"], to: "name", up })] };
    expect(await writesOf(at(tier, versions))).toEqual([["a", "name", "first"]]);
  });

  test("an Overwrite is joined with what the other channels hold, whether they have reducers or not", async () => {
    for (const versions of [lists, reduced]) {
      const tier = new MemoryTier();
      await begun(tier, { log: strings(), notes: strings() }, { log: ["l"], notes: ["n"] });
      await put(at(tier), "a", { log: new Overwrite(["fresh"]) });
      const all = new Overwrite(["value", "fresh", "n"]);
      expect(await writesOf(at(tier, versions))).toEqual([["a", "all", all]]);
      await put(at(tier), "b", { notes: ["m"] });
      const says = versions === lists ? "whether they have reducers isn't known" : "overwrote one of them";
      await expect(at(tier, versions).getTuple(on)).rejects.toEqual(failed(says));
    }
  });

  test("a channel that a step wrote to twice has a reducer", async () => {
    const tier = new MemoryTier();
    await begun(tier, { log: strings(), notes: strings() }, { log: ["l"], notes: ["n"] });
    await put(at(tier), "a", { log: ["a"], notes: ["b"] });
    await put(at(tier), "b", { log: ["c"], notes: ["d"] });
    const both = [
      ["a", "all", ["write", "a", "b"]],
      ["b", "all", ["write", "c", "d"]],
    ];
    expect(await writesOf(at(tier, lists))).toEqual(both);
    await put(at(tier), "c", { log: ["e"] });
    await expect(at(tier, lists).getTuple(on)).rejects.toEqual(failed("a step wrote only log"));
    expect(await writesOf(at(tier, reduced))).toEqual([...both, ["c", "all", ["write", "e"]]]);
  });

  test("what an updateState wrote isn't the other half of a task's", async () => {
    const tier = new MemoryTier();
    const append = (all: string[], updates: string[][]): string[] => [...all, ...updates.flat()];
    const channels = { ...apart(), log: () => new DeltaChannel<string[], string[]>(append) };
    const nodes: Record<string, Node> = { look: () => ({ first: "Grace" }), ask };
    const old = graphOf(at(tier), channels, nodes);
    await old.invoke({ ...ada, log: ["in"] }, on);
    const { config } = await old.getState(on);
    await old.updateState(config, { last: "Byron", log: ["by hand"] }, "look");
    const graph = graphOf(at(tier, join), { ...whole(), log: channels.log }, nodes);
    const { pendingWrites = [] } = (await at(tier, join).getTuple(config))!;
    expect(pendingWrites.flatMap(([, channel, value]) => (channel === "name" ? [value] : [])).sort()).toEqual(
      ["Ada Byron", "Grace Lovelace"],
    );
    expect((await graph.getState(on)).values).toEqual({ name: "Ada Byron", log: ["in", "by hand"] });
  });

  test("DeltaChannels that are joined are rebuilt from what each task wrote, and never from some of their values", async () => {
    const append = (all: string[], updates: string[][]): string[] => [...all, ...updates.flat()];
    const up = ({ log = [], notes = [] }: Record<string, string[]>) => [...log, ...notes];
    const versions: Versions = { current: 2, steps: [step(2, { from: ["log", "notes"], to: "all", up })] };
    const nodes: Record<string, Node> = {
      look: () => ({ log: ["l"], notes: ["n"] }),
      more: () => ({ notes: ["m"] }),
      ask,
    };
    for (const snapshotFrequency of [2, 1000]) {
      const tier = new MemoryTier();
      const delta = () => () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency });
      const old = graphOf(at(tier), { log: delta(), notes: delta() }, nodes);
      await old.invoke({ notes: ["note"] }, on);
      await old.invoke(answer, on);
      await old.invoke({ log: ["in"], notes: ["again"] }, on);
      const graph = graphOf(at(tier, versions), { all: delta() }, nodes);
      if (snapshotFrequency === 2) {
        const says = "only some of the DeltaChannels";
        await expect(graph.invoke(answer, on)).rejects.toEqual(failed(says));
        continue;
      }
      const { all } = (await graph.invoke(answer, on)) as unknown as { all: string[] };
      expect([...all].sort()).toEqual(["again", "in", "l", "l", "m", "m", "n", "n", "note"]);
      const again = graphOf(at(tier, versions), { all: delta() }, nodes);
      expect((await again.getState(on)).values).toMatchObject({ all });
    }
  });
});
