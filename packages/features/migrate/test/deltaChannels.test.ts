import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver as OfficialMemory, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { MemorySaver } from "@stratigraph/core";
import { exportThreads, importThreads, openSource, saverSource, saverTarget } from "@stratigraph/migrate";
import { fileTarget } from "@stratigraph/migrate/internal";
import { expect, onTestFinished, test } from "vitest";

// What a DeltaChannel holds is nowhere in a checkpoint: it is a snapshot and the pending writes since. A copy that lacks one is shorter, in silence.

const on = (threadId: string) => ({ configurable: { thread_id: threadId } });

/** Each turn: one line of the user's, one of a node, two of nodes side by side, and a step that says nothing. */
function graphOn(checkpointer: BaseCheckpointSaver, snapshotFrequency: number) {
  const State = Annotation.Root({
    log: () =>
      new DeltaChannel<string[], string[]>((before, writes) => [...before, ...writes.flat()], {
        snapshotFrequency,
        initialValueFactory: () => [],
      }),
    count: Annotation<number>(),
  });
  return new StateGraph(State)
    .addNode("first", ({ log }) => ({ log: [`first of ${log.length}`], count: log.length }))
    .addNode("left", () => ({ log: ["left"] }))
    .addNode("right", () => ({ log: ["right"] }))
    .addNode("quiet", () => ({ count: 0 }))
    .addNode("last", () => ({ log: ["last"] }))
    .addEdge(START, "first")
    .addEdge("first", "left")
    .addEdge("first", "right")
    .addEdge(["left", "right"], "quiet")
    .addEdge("quiet", "last")
    .compile({ checkpointer });
}

async function said(saver: BaseCheckpointSaver, threadId: string, snapshots: number): Promise<string[]> {
  return (await graphOn(saver, snapshots).getState(on(threadId))).values.log;
}

const ways = (["sync", "async", "exit"] as const).flatMap((durability) =>
  [3, 1000].map((snapshots) => ({ durability, snapshots })),
);

test.each(ways)(
  "durability $durability, a snapshot every $snapshots updates: to another saver, into a file, and back",
  async ({ durability, snapshots }) => {
    const saver = new MemorySaver();
    const say = async (to: BaseCheckpointSaver, text: string) =>
      (await graphOn(to, snapshots).invoke({ log: [text] }, { ...on("ada"), durability })).log;
    for (const text of ["One", "Two"]) await say(saver, text);
    const wanted = await said(saver, "ada", snapshots);
    expect(wanted).toHaveLength(10);

    const official = new OfficialMemory();
    const exported = await exportThreads(saver, saverTarget(official, { branches: true }));
    expect(exported).toMatchObject({ verified: true, differences: [] });
    expect(await said(official, "ada", snapshots)).toEqual(wanted);

    const folder = mkdtempSync(join(tmpdir(), "stratigraph-delta-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "threads.jsonl");
    await exportThreads(saver, fileTarget({ path: file }));
    for (const open of [() => openSource(file), async () => saverSource(official)]) {
      const back = new MemorySaver();
      const source = await open();
      const imported = await importThreads(source, back);
      await source.close();
      expect(imported).toMatchObject({ threads: 1, verified: true, differences: [] });
      expect(await said(back, "ada", snapshots)).toEqual(wanted);
      const [here, there] = [await say(back, "Three"), await say(official, "Three")];
      expect(here).toEqual(there);
      expect(here).toHaveLength(15);
      await official.deleteThread("ada");
      await exportThreads(saver, saverTarget(official, { branches: true }));
    }
  },
);

test.each(ways)(
  "durability $durability, a snapshot every $snapshots updates: from LangGraph's own saver",
  async ({ durability, snapshots }) => {
    const official = new OfficialMemory();
    for (const text of ["One", "Two"])
      await graphOn(official, snapshots).invoke({ log: [text] }, { ...on("ada"), durability });
    const saver = new MemorySaver();
    const report = await importThreads(saverSource(official), saver);
    expect(report).toMatchObject({ threads: 1, verified: true, differences: [] });
    const tuples = [];
    for await (const tuple of official.list(on("ada"))) tuples.push(tuple);
    for (const { config } of tuples)
      expect((await graphOn(saver, snapshots).getState(config)).values).toEqual(
        (await graphOn(official, snapshots).getState(config)).values,
      );
  },
);

test("a turn under exit that lost the race for the next checkpoint left its lines there: a copy hasn't got them", async () => {
  const saver = new MemorySaver();
  const durability = "exit" as const;
  const say = async (text: string) =>
    await graphOn(saver, 1000).invoke({ log: [text] }, { ...on("ada"), durability });
  await say("One");
  const ends = await Promise.allSettled([say("this"), say("that")]);
  expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const wanted = await said(saver, "ada", 1000);
  expect(wanted).toHaveLength(10);
  const official = new OfficialMemory();
  await exportThreads(saver, saverTarget(official, { branches: true }));
  expect(await said(official, "ada", 1000)).toEqual(wanted);
});
