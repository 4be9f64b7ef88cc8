import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { TierSaver, type SaverOptions, type Tier } from "@stratigraph/core";
import { expect, test } from "vitest";
import { storages } from "./fixtures/stateStorages.ts";
import { allRounds, inRounds } from "../../../../test/rounds.ts";

// Random stories of a step that is half run under one state version and goes on under another, beside the same run under the first alone.

type Version = 1 | 2 | 3;
type Versions = NonNullable<SaverOptions["stateVersions"]>;

/** What a task writes, in the words of no version; `log` more than once, if it has several. */
interface Work {
  readonly first?: string;
  readonly last?: string;
  readonly log: readonly string[];
  readonly notes?: string;
}

interface Story {
  readonly input: Work;
  /** By node: whether it is done before the change of versions, dies before it, or asks. */
  readonly nodes: readonly { readonly fate: "done" | "dies" | "asks"; readonly work: Work }[];
  readonly begunIn: Version;
  readonly resumedIn: Version;
  readonly readIn: Version;
}

const marked = (mark: string) => (all: readonly string[]) => all.map((text) => `${mark}:${text}`);
const unmarked = (all: readonly string[], mark: string) =>
  all.filter((text) => text.startsWith(mark)).map((text) => text.slice(mark.length + 1));
const joined = ({ first, last }: Record<string, string>) => `${first}|${last}`;

const steps: Versions["steps"] = [
  {
    to: 2,
    changes: [
      {
        from: ["first", "last"],
        to: "name",
        up: joined,
        down: (name: string) => ({ first: name.split("|")[0], last: name.split("|")[1] }),
      },
      { from: "log", to: "lines" },
    ],
  },
  {
    to: 3,
    changes: [
      {
        from: "name",
        to: ["given", "family"],
        up: (name: string) => ({ given: name.split("|")[0], family: name.split("|")[1] }),
        down: ({ given, family }: Record<string, string>) => `${given}|${family}`,
      },
      {
        from: ["lines", "notes"],
        to: "all",
        reduced: true,
        up: ({ lines = [], notes = [] }: Record<string, string[]>) => [
          ...marked("line")(lines),
          ...marked("note")(notes),
        ],
        down: (all: string[]) => ({ lines: unmarked(all, "line"), notes: unmarked(all, "note") }),
      },
    ],
  },
];

const list = () => Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] });
const channels = {
  1: () => ({ first: Annotation<string>, last: Annotation<string>, log: list(), notes: list() }),
  2: () => ({ name: Annotation<string>, lines: list(), notes: list() }),
  3: () => ({ given: Annotation<string>, family: Annotation<string>, all: list() }),
} as const;

/** What a task of a version returns: one update for each text of its log. */
function updatesOf(version: Version, { first, last, log, notes }: Work): Record<string, unknown>[] {
  const names = {
    1: { first, last },
    2: { name: first !== undefined && last !== undefined ? `${first}|${last}` : undefined },
    3: { given: first, family: last },
  }[version];
  const lists = (line?: string, note?: string): Record<string, unknown> =>
    version === 3
      ? {
          all: [
            ...marked("line")(line === undefined ? [] : [line]),
            ...marked("note")(note === undefined ? [] : [note]),
          ],
        }
      : {
          [version === 1 ? "log" : "lines"]: line === undefined ? undefined : [line],
          notes: note === undefined ? undefined : [note],
        };
  const all = [{ ...names, ...lists(log[0], notes) }, ...log.slice(1).map((line) => lists(line))];
  return all.map((update) =>
    Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined)),
  );
}

function graphOf(tier: Tier, version: Version, { nodes }: Story, ran: string[], isAlive: boolean) {
  const graph = new StateGraph(Annotation.Root(channels[version]() as ReturnType<(typeof channels)[1]>));
  for (const [n, { fate, work }] of nodes.entries()) {
    graph.addNode(`n${n}`, (() => {
      if (fate === "asks") interrupt(`question ${n}`);
      if (fate === "dies" && !isAlive) throw new Error("the process dies");
      ran.push(`n${n}`);
      return updatesOf(version, work).map((update) => new Command({ update }));
    }) as never);
    graph.addEdge(START, `n${n}` as never);
  }
  return graph.compile({ checkpointer: new TierSaver(tier, { stateVersions: { current: version, steps } }) });
}

/** Numbers below n, always the same for a seed. */
function randomOf(seed: number): (n: number) => number {
  let state = seed * 2654435761 + 1;
  return (n) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % n;
  };
}

function storyOf(seed: number): Story {
  const random = randomOf(seed);
  const version = () => (1 + random(3)) as Version;
  const [begunIn, resumedIn, readIn] = [version(), version(), version()];
  const [firstBy, lastBy] = [random(4), random(4)];
  const fates = (["done", "done", "dies", "asks"] as const).map((fate, n) => {
    const text = `w${n}`;
    const isDone = fate === "done";
    // What goes on in another version writes what each version can say: a name is whole there.
    const names = {
      ...(isDone && firstBy === n ? { first: `${text}-first` } : {}),
      ...(isDone && (lastBy === n || (begunIn === 2 && firstBy === n)) ? { last: `${text}-last` } : {}),
    };
    const log = Array.from({ length: random(3) }, (_, place) => `${text}-${place}`);
    return { fate, work: { ...names, log, ...(random(2) === 0 ? { notes: `${text}-note` } : {}) } };
  });
  const nodes = fates.filter(({ fate }) => fate !== "dies" || random(2) === 0).sort(() => random(3) - 1);
  const input: Work = { first: "Ada", last: "Lovelace", log: ["in"], notes: "in" };
  return { begunIn, resumedIn, readIn, input, nodes };
}

/** Lists that a version joined are in the order of each of them. */
function comparable(values: Record<string, unknown>): Record<string, unknown> {
  const { all, ...others } = values;
  return all === undefined
    ? others
    : { ...others, lines: unmarked(all as string[], "line"), notes: unmarked(all as string[], "note") };
}

async function played(tier: Tier, id: string, story: Story, resumedIn: Version): Promise<unknown> {
  const on = { configurable: { thread_id: id } };
  const ran: string[] = [];
  const { begunIn, readIn, input } = story;
  const [first, ...more] = updatesOf(begunIn, input);
  expect(more).toEqual([]);
  await graphOf(tier, begunIn, story, ran, false)
    .invoke(first as never, on)
    .catch(dies);
  const reader = graphOf(tier, readIn, story, ran, true);
  const half = await reader.getState(on);
  await graphOf(tier, resumedIn, story, ran, true).invoke(new Command({ resume: "yes" }) as never, on);
  const whole = await reader.getState(on);
  return {
    half: [comparable(half.values as Record<string, unknown>), [...half.next].sort()],
    whole: [comparable(whole.values as Record<string, unknown>), whole.next],
    ran,
  };
}

function dies(error: unknown): void {
  if (!(error instanceof Error) || error.message !== "the process dies") throw error;
}

const told = allRounds ? Object.keys(storages) : ["memory"];
test.each(told as (keyof typeof storages)[])(
  "on %s a half-run step becomes under another version what it becomes under its own",
  async (storage) => {
    const { tier, close } = await storages[storage]();
    try {
      const stories = storage === "memory" ? inRounds({ few: 12, all: 400 }) : 40;
      for (let seed = 0; seed < stories; seed += 1) {
        const story = storyOf(seed);
        const mixed = await played(tier, `mixed ${seed}`, story, story.resumedIn);
        const alone = await played(tier, `alone ${seed}`, story, story.begunIn);
        expect(mixed, `seed ${seed}: ${JSON.stringify(story)}`).toEqual(alone);
      }
    } finally {
      await close();
    }
  },
);
