import { Annotation, START, StateGraph } from "@langchain/langgraph";
import {
  BinaryOperatorAggregate,
  EphemeralValue,
  LastValue,
  Topic,
  UntrackedValueChannel,
} from "@langchain/langgraph/channels";
import { applyMerge, fork, forkMany, merge, type MergePlan } from "@stratigraph/branch";
import type { TierSaver } from "@stratigraph/core";
import { on } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

const State = Annotation.Root({
  last: () => new LastValue<string>(),
  sum: () =>
    new BinaryOperatorAggregate<number>(
      (a, b) => a + b,
      () => 0,
    ),
  topic: () => new Topic<string>(),
  all: () => new Topic<string>({ accumulate: true }),
  kept: () => new Topic<string>({ accumulate: true, unique: true }),
  once: () => new EphemeralValue<string>(),
  untracked: () => new UntrackedValueChannel<string>(),
});

const many = (...values: string[]): string[] => values;

/** Each run writes what it is told to every kind of channel. */
const graphOf = (checkpointer: TierSaver) =>
  new StateGraph(State)
    .addNode("write", ({ once }) => ({
      sum: 1,
      topic: many(`t ${once}`),
      all: many(`all ${once}`),
      kept: many("both", `kept ${once}`),
      untracked: "x",
    }))
    .addEdge(START, "write")
    .compile({ checkpointer });

describe.each(savers)("every kind of channel on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const run = async (id: string, once: string, last?: string): Promise<void> => {
    await graphOf(saver).invoke({ once, ...(last === undefined ? {} : { last }) }, on(id));
  };
  const forked = async (name: string): Promise<readonly [string, string]> => {
    await run(name, "base", "l");
    const [a, b] = [`${name}-a`, `${name}-b`];
    await forkMany(saver, { threadId: name }, [a, b]);
    await run(a, "a");
    await run(b, "b", "of b");
    return [a, b];
  };

  test("a fork has what its source has, and takes no more than it needs", async () => {
    await run("f", "base", "l");
    await run("f", "more");
    const made = await fork(saver, { threadId: "f" });
    expect((await graphOf(saver).getState(made.config)).values).toEqual(
      (await graphOf(saver).getState(on("f"))).values,
    );
  });

  test("by their reducers: updates of both sides, once each", async () => {
    const [a, b] = await forked("r");
    const result = await merge(graphOf(saver), a, { threadId: b }, { strategy: "reducer" });
    expect(result).toMatchObject({
      status: "merged",
      channels: { last: "theirs", sum: "reducer", all: "reducer", kept: "reducer" },
    });
    const { values, next } = await graphOf(saver).getState(on(a));
    expect(values).toMatchObject({
      last: "of b",
      sum: 3,
      all: ["all base", "all a", "all b"],
      kept: ["both", "kept base", "kept a", "kept b"],
      topic: ["t b"],
    });
    expect(next).toEqual([]);
    await run(a, "on");
    expect((await graphOf(saver).getState(on(a))).values).toMatchObject({
      sum: 4,
      all: ["all base", "all a", "all b", "all on"],
      kept: ["both", "kept base", "kept a", "kept b", "kept on"],
      topic: ["t on"],
    });
  });

  test("by union, the same either way round", async () => {
    const [a, b] = await forked("u");
    const strategy = { "*": "union", sum: "reducer", topic: "ours" } as const;
    await forkMany(saver, { threadId: b }, ["u-b2"], { history: "full" });
    await merge(graphOf(saver), "u-b2", { threadId: a }, { strategy });
    await merge(graphOf(saver), a, { threadId: b }, { strategy });
    const [one, other] = [
      (await graphOf(saver).getState(on(a))).values,
      (await graphOf(saver).getState(on("u-b2"))).values,
    ];
    expect(one).toMatchObject({
      sum: 3,
      all: ["all base", "all a", "all b"],
      kept: ["both", "kept base", "kept a", "kept b"],
      topic: ["t a"],
    });
    expect(other).toEqual({ ...one, topic: ["t b"] });
  });

  test("by a person: the plan as JSON, answered, refused once the target went on", async () => {
    const [a, b] = await forked("p");
    const before = (await graphOf(saver).getState(on(a))).values;
    const result = await merge(graphOf(saver), a, { threadId: b }, { strategy: "manual" });
    if (result.status !== "conflict") throw new Error(result.status);
    expect((await graphOf(saver).getState(on(a))).values).toEqual(before);
    const plan = JSON.parse(JSON.stringify(result.plan)) as MergePlan;
    expect(plan.channels.map(({ name, ours, theirs }) => [name, ours, theirs])).toEqual([
      ["topic", ["t a"], ["t b"]],
      ["all", ["all base", "all a"], ["all base", "all b"]],
      [
        "kept",
        [
          ["both", "kept base", "kept a"],
          ["both", "kept base", "kept a"],
        ],
        [
          ["both", "kept base", "kept b"],
          ["both", "kept base", "kept b"],
        ],
      ],
    ]);
    const answers = { topic: "ours", all: { value: ["mine"] }, kept: "base" } as const;
    const { all: _all, ...some } = answers;
    await expect(applyMerge(graphOf(saver), plan, some)).rejects.toMatchObject({
      code: "MERGE_CONFLICT",
      data: { channels: [{ name: "all", base: ["all base"], theirs: ["all base", "all b"] }] },
    });
    await run(a, "later");
    await expect(applyMerge(graphOf(saver), plan, answers)).rejects.toMatchObject({
      code: "CHECKPOINT_CONFLICT",
      data: { threadId: a, expected: [plan.target.checkpointId] },
    });
    const again = await merge(graphOf(saver), a, { threadId: b }, { strategy: "manual" });
    if (again.status !== "conflict") throw new Error(again.status);
    // The target went on, so its sum differs by now.
    expect(again.plan.channels.map(({ name }) => name)).toEqual(["sum", "topic", "all", "kept"]);
    const more = { ...answers, sum: { value: 40 } };
    expect((await applyMerge(graphOf(saver), again.plan, more)).status).toBe("merged");
    expect((await graphOf(saver).getState(on(a))).values).toMatchObject({
      last: "of b",
      sum: 40,
      topic: ["t later"],
      all: ["mine"],
      kept: ["both", "kept base"],
    });
    await run(a, "on");
    expect((await graphOf(saver).getState(on(a))).values).toMatchObject({
      sum: 41,
      kept: ["both", "kept base", "kept on"],
    });
  });
});
