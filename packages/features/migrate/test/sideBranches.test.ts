import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, Command, DeltaChannel, interrupt, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver as OfficialMemory, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { promote } from "@stratigraph/branch";
import { MemorySaver, MemoryTier, TierSaver } from "@stratigraph/core";
import {
  exportThreads,
  importThreads,
  openSource,
  openTarget,
  saverSource,
  saverTarget,
} from "@stratigraph/migrate";
import { expect, onTestFinished, test } from "vitest";
import { tierWith } from "./support/tierWith.ts";

// Two runs that go on from one checkpoint both leave their pending writes there. A copy rebuilds each branch from its own.

const ada = { configurable: { thread_id: "ada" } };

const State = Annotation.Root({
  log: () =>
    new DeltaChannel<string[], string[]>((log, writes) => [...(log ?? []), ...writes.flat()], {
      snapshotFrequency: 1000,
      initialValueFactory: () => [],
    }),
  plain: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const says = (text: string) => ({ log: [text], plain: [text] });

function asking(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("first", () => says("first"))
    .addNode("asks", () => says(`answered ${interrupt<string, string>("?")}`))
    .addNode("last", ({ log }) => says(`last of ${log.length}`))
    .addEdge(START, "first")
    .addEdge("first", "asks")
    .addEdge("asks", "last")
    .compile({ checkpointer });
}

/** A graph whose second step fails as long as it is told to. */
function failing(checkpointer: BaseCheckpointSaver, text: string, fails = false) {
  return new StateGraph(State)
    .addNode("first", () => says(`first ${text}`))
    .addNode("beside", () => says(`beside ${text}`))
    .addNode("second", () => {
      if (fails) throw new Error("it failed");
      return says(`second ${text}`);
    })
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("first", "beside")
    .compile({ checkpointer });
}

type Durability = "sync" | "async" | "exit";

/** What makes side branches, and leaves a thread. */
const stories: Readonly<Record<string, (saver: TierSaver, durability: Durability) => Promise<unknown>>> = {
  "two answers at once": async (saver, durability) => {
    await asking(saver).invoke(says("in"), { ...ada, durability });
    const answer = (resume: string) => asking(saver).invoke(new Command({ resume }), { ...ada, durability });
    return await Promise.allSettled([answer("yes"), answer("no")]);
  },
  "an update beside a question": async (saver, durability) => {
    await asking(saver).invoke(says("in"), { ...ada, durability });
    const waiting = (await asking(saver).getState(ada)).config;
    await asking(saver).updateState(waiting, says("updated"));
    await asking(saver).invoke(new Command({ resume: "yes" }), { ...waiting, durability });
  },
  "a fork from an older checkpoint, a crash and a repetition": async (saver, durability) => {
    await failing(saver, "one").invoke(says("in one"), { ...ada, durability });
    const older = (await failing(saver, "").getState(ada)).config;
    await failing(saver, "two").invoke(says("in two"), { ...ada, durability });
    await failing(saver, "three", true)
      .invoke(says("in three"), { ...older, durability })
      .catch(() => undefined);
    await failing(saver, "four").invoke(null, { ...ada, durability });
    await failing(saver, "five").invoke(says("in five"), { ...older, durability });
  },
  "a question that is asked again": async (saver, durability) => {
    await asking(saver).invoke(says("in"), { ...ada, durability });
    const waiting = (await asking(saver).getState(ada)).config.configurable as { checkpoint_id: string };
    await asking(saver).invoke(new Command({ resume: "yes" }), { ...ada, durability });
    await promote(saver, { threadId: "ada", checkpointId: waiting.checkpoint_id });
    await asking(saver).invoke(new Command({ resume: "no" }), { ...ada, durability });
  },
  "two runs at once": async (saver, durability) => {
    await failing(saver, "one").invoke(says("in one"), { ...ada, durability });
    const turn = (text: string) => failing(saver, text).invoke(says(`in ${text}`), { ...ada, durability });
    return await Promise.allSettled([turn("this"), turn("that")]);
  },
};

/** The values that LangGraph shows of every checkpoint, side branches too, by the checkpoint's id. */
async function shown(saver: BaseCheckpointSaver): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const configs = [];
  for await (const { config } of saver.list(ada)) configs.push(config);
  for (const config of configs) {
    const { values, tasks } = await asking(saver).getState(config);
    const told = tasks.map(({ name, interrupts, error }) => [name, interrupts.length, error !== undefined]);
    found[String(config.configurable?.["checkpoint_id"])] = [values, told];
  }
  return found;
}

function fileName(): string {
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-branches-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "threads.jsonl");
}

async function throughFile(from: TierSaver, to: TierSaver) {
  const path = fileName();
  const target = await openTarget(path);
  await exportThreads(from, target);
  await target.close();
  return await importThreads(await openSource(path), to);
}

const encryption = { keys: { k: Buffer.alloc(32, 7) }, activeKey: "k", hashKey: Buffer.alloc(32, 8) };
const cases = Object.keys(stories).flatMap((story) =>
  (["sync", "async", "exit"] as const).map((durability) => ({ story, durability })),
);

test.each(cases)(
  "$story, under $durability: each checkpoint shows what it showed",
  async ({ story, durability }) => {
    const from = new MemorySaver({ conflict: "branch" });
    await stories[story]!(from, durability);
    const wanted = await shown(from);
    expect(Object.keys(wanted).length).toBeGreaterThan(1);
    const ways: [string, (to: TierSaver) => Promise<object>][] = [
      ["a file", async (to) => await throughFile(from, to)],
      ["its saver", async (to) => await importThreads(saverSource(from), to)],
      ["an export to ours", async (to) => await exportThreads(from, saverTarget(to))],
    ];
    for (const [way, copy] of ways) {
      const to = new MemorySaver({ conflict: "branch", encryption });
      expect(await copy(to), way).toMatchObject({ verified: true, differences: [], threads: 1 });
      expect(await shown(to), way).toEqual(wanted);
      // Again: nothing is added, and nothing is said to have gone on.
      expect(await copy(to), way).toMatchObject({ checkpoints: 0, writes: 0, differences: [], diverged: [] });
      // A copy of the copy has it, too, and what goes on there isn't wound back.
      const third = new MemorySaver();
      await throughFile(to, third);
      expect(await shown(third), way).toEqual(wanted);
      await failing(to, "more").invoke(says("more"), ada);
      const more = await shown(to);
      await copy(to);
      expect(await shown(to), way).toEqual(more);
    }
  },
);

test.each(cases)(
  "$story, under $durability: LangGraph's saver gets no branch it would mix",
  async ({ story, durability }) => {
    const from = new MemorySaver({ conflict: "branch" });
    await stories[story]!(from, durability);
    const wanted = await shown(from);
    const official = new OfficialMemory();
    const report = await exportThreads(from, saverTarget(official, { branches: true }));
    expect(report).toMatchObject({ verified: true, differences: [], threads: 1 });
    const copied = await shown(official);
    expect(Object.keys(copied).length + report.leftOut).toBe(Object.keys(wanted).length);
    for (const [id, [values]] of Object.entries(copied) as [string, [unknown]][])
      expect([id, values]).toEqual([id, (wanted[id] as [unknown])[0]]);
  },
);

test("a copy that is rebuilt from other writes is told and not served", async () => {
  const from = new MemorySaver({ conflict: "branch" });
  await stories["two answers at once"]!(from, "async");
  const tier = new MemoryTier();
  // A storage that loses which batches a checkpoint was made from: the stored values are all there.
  const losing = new TierSaver(
    tierWith(tier, {
      append: async (request: Parameters<MemoryTier["append"]>[0]) =>
        await tier.append({ ...request, writes: request.writes?.slice(0, 1) ?? [] }),
    }),
  );
  const report = await importThreads(saverSource(from), losing);
  expect(report.differences.map(({ what }) => what)).toContain(
    "what its DeltaChannels are rebuilt from differs",
  );
  expect(await losing.getTuple(ada)).toBeUndefined();
});
