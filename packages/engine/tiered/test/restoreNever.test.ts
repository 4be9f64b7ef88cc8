import { Annotation, DeltaChannel, START, StateGraph } from "@langchain/langgraph";
import { MemoryTier, type TierSaver } from "@stratigraph/core";
import { TieredSaver } from "@stratigraph/tiered";

// A thread that may be read from the archive, but not continued: nothing runs, and nothing is written.

const append = (state: string[], writes: string[][]): string[] => [...state, ...writes.flat()];

const on = { configurable: { thread_id: "ada" } };
const sealed = {
  code: "EVICTED",
  data: { threadId: "ada", restoreOn: "never" },
  message: expect.stringContaining('restoreOn: "never"'),
};

describe.each(["plain", "delta"] as const)("a graph with a %s channel", (kind) => {
  let ran = 0;
  const graph = (checkpointer: TierSaver) =>
    new StateGraph(
      Annotation.Root({
        log:
          kind === "plain"
            ? Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] })
            : () => new DeltaChannel<string[], string[]>(append, { snapshotFrequency: 1000 }),
      }),
    )
      .addNode("work", () => {
        ran += 1;
        return { log: ["worked"] };
      })
      .addEdge(START, "work")
      .compile({ checkpointer });

  test.each(["sync", "async", "exit"] as const)(
    "durability %s: a turn is refused before its nodes run",
    async (durability) => {
      const tiers = { warm: new MemoryTier(), cold: new MemoryTier() };
      const open = (): TieredSaver => new TieredSaver({ ...tiers, archiveAfter: "7d", restoreOn: "never" });
      const writer = open();
      for (const each of ["one", "two"]) await graph(writer).invoke({ log: [each] }, on);
      const before = (await graph(writer).getState(on)).values;
      await writer.tier.archiveThread!("ada", async () => undefined);
      ran = 0;
      const { revision } = await tiers.warm.peek({ threadId: "ada", namespace: "" });
      const reader = open();
      const state = await graph(reader).getState(on);
      expect(state.values).toEqual(before);
      const older = [];
      for await (const each of graph(reader).getStateHistory(on)) older.push(each);
      await expect(graph(reader).invoke({ log: ["three"] }, { ...on, durability })).rejects.toMatchObject(
        sealed,
      );
      await expect(graph(reader).invoke(null, { ...older[2]!.config, durability })).rejects.toMatchObject(
        sealed,
      );
      await expect(graph(reader).updateState(on, { log: ["three"] })).rejects.toMatchObject(sealed);
      await expect(reader.promote(older[2]!.config)).rejects.toMatchObject(sealed);
      expect(ran).toBe(0);
      expect((await tiers.warm.peek({ threadId: "ada", namespace: "" })).revision).toBe(revision);
      // What the error says.
      await reader.tier.restoreThread!("ada");
      await graph(reader).invoke({ log: ["three"] }, { ...on, durability });
      expect((await graph(open()).getState(on)).values.log).toEqual([...before.log, "three", "worked"]);
    },
  );
});
