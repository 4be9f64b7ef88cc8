// long file: every outcome of two savers that meet on one thread, over the same few helpers
import { emptyCheckpoint, type Checkpoint, type CheckpointMetadata } from "@langchain/langgraph-checkpoint";
import {
  CheckpointConflictError,
  StratigraphError,
  type LostRace,
  type SaverOptions,
} from "@stratigraph/core";
import { describe, expect, test } from "vitest";
import {
  Storage,
  acknowledged,
  contents,
  gate,
  langGraphVersion,
  stepsBy,
  traced,
  twoSteps,
  unhandled,
} from "./support.ts";

/** Whether a put that rejects under "async" rejects the run and nothing else: LangGraph from 1.5 on. */
const deliversUnderAsync = langGraphVersion().localeCompare("1.5", "en", { numeric: true }) >= 0;

const thread = { configurable: { thread_id: "t" } };
const metadata: CheckpointMetadata = { source: "loop", step: 1, parents: {} };

function checkpoint(id: string): Checkpoint {
  return { ...emptyCheckpoint(), id, channel_values: { v: id }, channel_versions: { v: 1 } };
}

function idOf(config: { configurable?: Record<string, unknown> }): string {
  return String(config.configurable?.["checkpoint_id"]);
}

/** A loses: it read the thread, then B ran a whole turn, then A goes on. */
async function lostRace(
  durability: "sync" | "async" | "exit",
  options: Pick<SaverOptions, "conflict" | "onConflict"> = {},
) {
  const storage = new Storage();
  const { saver: a, door } = storage.open(options);
  const { saver: b } = storage.open();
  await twoSteps(b).invoke({ who: "base" }, thread);
  const hold = door.hold("append");
  const run = twoSteps(a).invoke({ who: "A" }, { ...thread, durability });
  const outcome = run.then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  );
  await hold.reached;
  await twoSteps(b).invoke({ who: "B" }, thread);
  hold.release();
  return { storage, a, b, outcome: await outcome };
}

describe("two savers race on one thread", () => {
  for (const durability of ["sync", "exit"] as const) {
    test(`${durability}: the loser rejects, and leaves nothing`, async () => {
      const events = traced();
      const reasons = unhandled();
      const { storage, b, outcome } = await lostRace(durability);
      expect(outcome.error).toBeInstanceOf(CheckpointConflictError);
      const state = await twoSteps(b).getState(thread);
      expect(state.values).toMatchObject({ log: [...stepsBy("base"), ...stepsBy("B")], who: "B" });
      const error = outcome.error as CheckpointConflictError;
      expect(error.data).toMatchObject({ threadId: "t", namespace: "", head: idOf(state.config) });
      expect(await b.conflicts("t")).toEqual([]);
      for await (const { record } of storage.tier.list({ threadId: "t" }))
        expect(record.lostTo).toBeUndefined();
      expect(events).toMatchObject([{ type: "conflict", outcome: "thrown", head: idOf(state.config) }]);
      expect(reasons).toEqual([]);
    });
  }

  test("async: the loser goes on beside the head; nothing is lost, nothing unhandled", async () => {
    const events = traced();
    const reasons = unhandled();
    const { b, a, outcome } = await lostRace("async");
    expect(outcome.value).toMatchObject({ log: [...stepsBy("base"), ...stepsBy("A")], who: "A" });
    const graph = twoSteps(b);
    const state = await graph.getState(thread);
    expect(state.values).toMatchObject({ log: [...stepsBy("base"), ...stepsBy("B")], who: "B" });
    const [conflict, ...more] = await b.conflicts("t");
    expect(more).toEqual([]);
    expect(conflict).toMatchObject({
      threadId: "t",
      namespace: "",
      lostTo: idOf(state.config),
      checkpoints: 4,
    });
    expect(await a.conflicts("t")).toEqual([conflict]);
    const at = (checkpoint_id: string) => ({
      configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id },
    });
    const side = await graph.getState(at(conflict!.checkpointId));
    expect(side.values).toMatchObject({ log: [...stepsBy("base"), ...stepsBy("A")], who: "A" });
    expect(side.next).toEqual([]);
    const first = await graph.getState(at(conflict!.firstCheckpointId));
    expect(idOf(first.parentConfig!)).toBe(conflict!.parentId);
    expect(events.filter(({ type }) => type === "conflict")).toHaveLength(4);
    expect(events).toMatchObject(
      Array.from({ length: 4 }, () => ({ type: "conflict", outcome: "branched" })),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(reasons).toEqual([]);
  });

  test("async, throw: the run rejects; from LangGraph 1.5 on nothing is left unhandled", async () => {
    const reasons = unhandled();
    const { b, outcome } = await lostRace("async", { conflict: "throw" });
    expect(outcome.error).toBeInstanceOf(CheckpointConflictError);
    if (deliversUnderAsync) expect(reasons).toEqual([]);
    const state = await twoSteps(b).getState(thread);
    expect(state.values).toMatchObject({ log: [...stepsBy("base"), ...stepsBy("B")], who: "B" });
  });

  test("promote makes the lost branch the head; promoting back undoes it", async () => {
    const { b } = await lostRace("async");
    const graph = twoSteps(b);
    const winner = await graph.getState(thread);
    const [conflict] = await b.conflicts("t");
    const at = (checkpoint_id: string) => ({ configurable: { thread_id: "t", checkpoint_id } });
    expect(await b.promote(at(conflict!.checkpointId))).toBe(idOf(winner.config));
    expect((await graph.getState(thread)).values["who"]).toBe("A");
    expect(await b.conflicts("t")).toEqual([]);
    expect((await graph.getState(winner.config)).values).toEqual(winner.values);
    expect(await b.promote(winner.config)).toBe(conflict!.checkpointId);
    expect(await graph.getState(thread)).toEqual(winner);
    await b.promote(at(conflict!.checkpointId));
    const result = await graph.invoke({ who: "next" }, { ...thread, durability: "sync" });
    expect(result.log).toEqual([...stepsBy("base"), ...stepsBy("A"), ...stepsBy("next")]);
  });

  test("promote refuses what isn't there, and a head that moves meanwhile", async () => {
    const { storage, b } = await lostRace("async");
    const [conflict] = await b.conflicts("t");
    const at = (checkpoint_id?: string) => ({ configurable: { thread_id: "t", checkpoint_id } });
    await expect(b.promote(at("nowhere"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(b.promote(at())).rejects.toMatchObject({ code: "NOT_FOUND" });
    const { saver: c, door } = storage.open();
    const hold = door.hold("append");
    const promoting = c.promote(at(conflict!.checkpointId));
    await hold.reached;
    await twoSteps(b).invoke({ who: "B again" }, thread);
    hold.release();
    await expect(promoting).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
    expect((await twoSteps(b).getState(thread)).values["who"]).toBe("B again");
    expect(await b.conflicts("t")).toEqual([conflict]);
  });

  for (const poll of ["getState", "getStateHistory"] as const) {
    for (const durability of ["sync", "async"] as const) {
      test(`polling ${poll} through the loser's saver makes no fork of it (${durability})`, async () => {
        const storage = new Storage();
        const { saver: a, door } = storage.open();
        const { saver: b } = storage.open();
        const { during, reached, open } = gate();
        const run = twoSteps(a, during).invoke({ who: "A" }, { ...thread, durability });
        const settled = Promise.allSettled([run]);
        await reached;
        await acknowledged(door, "append", 2);
        await twoSteps(b).invoke({ who: "B" }, thread);
        const graph = twoSteps(a);
        if (poll === "getState") expect((await graph.getState(thread)).values.who).toBe("B");
        else for await (const _state of graph.getStateHistory(thread)) continue;
        open();
        const [outcome] = await settled;
        expect((await twoSteps(b).getState(thread)).values.who).toBe("B");
        expect(outcome!.status).toBe(durability === "sync" ? "rejected" : "fulfilled");
        expect(await a.conflicts("t")).toHaveLength(durability === "sync" ? 0 : 1);
      });
    }
  }

  test("the loser is a run that already wrote, waiting in a node", async () => {
    for (const durability of ["sync", "async"] as const) {
      const storage = new Storage();
      const { saver: a, door } = storage.open();
      const { saver: b } = storage.open();
      const { during, reached, open } = gate();
      const run = twoSteps(a, during).invoke({ who: "A" }, { ...thread, durability });
      const settled = Promise.allSettled([run]);
      await reached;
      await acknowledged(door, "append", 2);
      await twoSteps(b).invoke({ who: "B" }, thread);
      open();
      const [outcome] = await settled;
      const state = await twoSteps(b).getState(thread);
      expect(state.values).toMatchObject({ log: stepsBy("B"), who: "B" });
      expect(outcome!.status).toBe(durability === "sync" ? "rejected" : "fulfilled");
      expect(await b.conflicts("t")).toHaveLength(durability === "sync" ? 0 : 1);
    }
  });

  test("many runs on an empty thread: one wins, the others are whole branches", async () => {
    const storage = new Storage();
    const reasons = unhandled();
    const names = ["A", "B", "C", "D", "E"];
    const results = await Promise.all(
      names.map((who) => twoSteps(storage.open().saver).invoke({ who }, { ...thread, durability: "async" })),
    );
    expect(results.map(({ log }) => log)).toEqual(names.map(stepsBy));
    const { saver } = storage.open();
    const winner = (await twoSteps(saver).getState(thread)).values;
    expect(winner.log).toEqual(stepsBy(winner.who));
    const conflicts = await saver.conflicts("t");
    const losers: string[] = [];
    for (const { checkpointId } of conflicts) {
      const config = { configurable: { thread_id: "t", checkpoint_id: checkpointId } };
      const { values } = await twoSteps(saver).getState(config);
      expect(values.log).toEqual(stepsBy(values.who));
      losers.push(values.who);
    }
    expect([winner.who, ...losers].sort()).toEqual(names);
    expect(reasons).toEqual([]);
  });
});

describe("onConflict", () => {
  for (const [durability, outcome, times] of [
    ["async", "branched", 4],
    ["sync", "thrown", 1],
  ] as const) {
    test(`${durability}: is told of each put that lost`, async () => {
      const lost: LostRace[] = [];
      const { b } = await lostRace(durability, { onConflict: (race) => void lost.push(race) });
      const head = idOf((await twoSteps(b).getState(thread)).config);
      expect(lost).toHaveLength(times);
      for (const race of lost) {
        expect(race).toMatchObject({ threadId: "t", namespace: "", outcome });
        expect(race.head! <= head && race.parentId !== undefined && race.checkpointId !== head).toBe(true);
      }
      const [conflict] = await b.conflicts("t");
      if (outcome === "branched") {
        expect(lost.at(-1)!.checkpointId).toBe(conflict!.checkpointId);
        expect(lost[0]).toMatchObject({ parentId: conflict!.parentId, head: conflict!.lostTo });
      }
    });
  }

  for (const [how, onConflict] of [
    [
      "throws",
      (): void => {
        throw new Error("pager is down");
      },
    ],
    ["rejects", async (): Promise<void> => await Promise.reject(new Error("pager is down"))],
    ["never answers", async (): Promise<void> => await new Promise<never>(() => {})],
  ] as const) {
    test(`one that ${how} changes nothing, and is traced`, async () => {
      const events = traced();
      const reasons = unhandled();
      const { outcome } = await lostRace("async", { onConflict });
      expect(outcome.value).toMatchObject({ who: "A" });
      await new Promise((resolve) => setImmediate(resolve));
      expect(reasons).toEqual([]);
      expect(events.filter(({ type }) => type === "hook")).toMatchObject(
        how === "never answers"
          ? []
          : Array.from({ length: 4 }, () => ({
              hook: "onConflict",
              threadId: "t",
              error: { message: "pager is down" },
            })),
      );
    });
  }

  test("puts that lose no race aren't told", async () => {
    const lost: LostRace[] = [];
    const { saver } = new Storage().open({ onConflict: (race) => void lost.push(race) });
    const graph = twoSteps(saver);
    for (const who of ["a", "b"]) await graph.invoke({ who }, thread);
    await graph.updateState(thread, { note: "n" });
    expect(lost).toEqual([]);
  });
});

describe("conflict policies", () => {
  const run = { control: {} };
  const cases = [
    { conflict: "auto", config: {}, refuses: true, where: "outside runs" },
    { conflict: "auto", config: { ...run, durability: "sync" }, refuses: true, where: "in a sync run" },
    { conflict: "auto", config: { ...run, durability: "exit" }, refuses: true, where: "in an exit run" },
    { conflict: "auto", config: { ...run, durability: "async" }, refuses: false, where: "in an async run" },
    { conflict: "auto", config: run, refuses: false, where: "in a run that names no durability" },
    { conflict: "throw", config: { ...run, durability: "async" }, refuses: true, where: "in an async run" },
    { conflict: "throw", config: {}, refuses: true, where: "outside runs" },
    { conflict: "branch", config: { ...run, durability: "sync" }, refuses: false, where: "in a sync run" },
    { conflict: "branch", config: {}, refuses: false, where: "outside runs" },
  ] as const;

  for (const { conflict, config, refuses, where } of cases) {
    test(`${conflict}, ${where}: ${refuses ? "throws" : "branches"}`, async () => {
      const storage = new Storage();
      const { saver: a } = storage.open({ conflict });
      const { saver: b } = storage.open();
      const ours = { ...config, control: "control" in config ? {} : undefined, ...thread };
      await b.put(thread, checkpoint("c1"), metadata, { v: 1 });
      await a.getTuple(ours);
      const onFirst = { configurable: { ...thread.configurable, checkpoint_id: "c1" } };
      await b.put(onFirst, checkpoint("c2"), metadata, { v: 1 });
      const put = a.put({ ...ours, ...onFirst }, checkpoint("c3"), metadata, { v: 1 });
      if (refuses) await expect(put).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });
      else
        expect(await put).toEqual({
          configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: "c3" },
        });
      expect((await b.getTuple(thread))?.checkpoint.id).toBe("c2");
      expect(await b.conflicts("t")).toHaveLength(refuses ? 0 : 1);
    });
  }

  test("branch under sync: the run goes on to its end, beside the head", async () => {
    const { b, outcome } = await lostRace("sync", { conflict: "branch" });
    expect(outcome.value).toMatchObject({ log: [...stepsBy("base"), ...stepsBy("A")] });
    expect(await b.conflicts("t")).toMatchObject([{ checkpoints: 4 }]);
  });

  test("time travel, forks and updateState aren't conflicts, under any policy", async () => {
    for (const conflict of ["throw", "branch", "auto"] as const) {
      const { saver } = new Storage().open({ conflict });
      const graph = twoSteps(saver);
      await graph.invoke({ who: "first" }, { ...thread, durability: "sync" });
      const history = [];
      for await (const state of graph.getStateHistory(thread)) history.push(state);
      const start = history.find(({ next }) => next[0] === "one")!;
      for (const who of ["second", "third"]) {
        const forked = await graph.updateState(start.config, { who });
        const result = await graph.invoke(null, { ...forked, durability: "sync" });
        expect(result.log).toEqual(stepsBy(who));
        expect((await graph.getState(thread)).values.who).toBe(who);
      }
      expect((await graph.getState(history[0]!.config)).values.log).toEqual(stepsBy("first"));
      expect(await saver.conflicts("t")).toEqual([]);
    }
  });

  test("a put whose acknowledgement was lost may be repeated, also after others went on", async () => {
    const storage = new Storage();
    const { saver: a, door } = storage.open({ conflict: "throw" });
    const { saver: b } = storage.open({ conflict: "throw" });
    const first = checkpoint("c1");
    await a.getTuple(thread);
    door.dropAcknowledgement("append");
    await expect(a.put(thread, first, metadata, { v: 1 })).rejects.toThrow("planned");
    const { records, blobs } = await contents(storage.tier, "t");
    expect(records).toHaveLength(1);
    await a.put(thread, first, metadata, { v: 1 });
    expect(await contents(storage.tier, "t")).toMatchObject({ records, blobs });
    const config = { configurable: { ...thread.configurable, checkpoint_id: "c1" } };
    await b.getTuple(thread);
    await b.put(config, checkpoint("c2"), metadata, { v: 1 });
    await a.put(thread, first, metadata, { v: 1 });
    expect((await b.getTuple(thread))?.checkpoint.id).toBe("c2");
  });

  test("an error of the tier is the run's error, whatever the policy", async () => {
    const { saver, door } = new Storage().open({ conflict: "branch" });
    door.failNext("append", new StratigraphError("UNAVAILABLE", "the server is gone"));
    const run = twoSteps(saver).invoke({ who: "A" }, { ...thread, durability: "sync" });
    await expect(run).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});
