import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { CheckpointMetadata, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { fork, merge } from "@stratigraph/branch";
import { MemorySaver, type TierSaver } from "@stratigraph/core";
import { chat, deltaChat, human, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";

const versioned = "delta_writes_versioned";

describe.each(savers)("what a merged checkpoint carries on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const headOf = async (threadId: string): Promise<CheckpointTuple> => (await saver.getTuple(on(threadId)))!;

  /** Puts a thread's head again, as LangGraph 1.5 and later, or earlier ones, would have: with the flag or without. */
  async function flag(threadId: string, isVersioned: boolean, seen?: Record<string, number>): Promise<void> {
    const { checkpoint, metadata, parentConfig } = await headOf(threadId);
    const { [versioned]: _flag, ...rest } = metadata as CheckpointMetadata & Record<string, unknown>;
    const versions_seen =
      seen === undefined
        ? checkpoint.versions_seen
        : { ...checkpoint.versions_seen, __snapshot_bumps__: seen };
    await saver.put(
      parentConfig ?? { configurable: { thread_id: threadId, checkpoint_ns: "" } },
      { ...checkpoint, versions_seen },
      { ...rest, ...(isVersioned ? { [versioned]: true } : {}) } as CheckpointMetadata,
      {},
    );
  }

  test.each([
    [true, true, true],
    [true, false, undefined],
    [false, true, undefined],
    [false, false, undefined],
  ])(
    "DeltaChannels' writes have versions on one side: %s, on the other: %s",
    async (ours, theirs, expected) => {
      const graph = deltaChat(saver, 1000);
      const target = `v ${ours} ${theirs}`;
      await graph.invoke({ messages: [human("base", "base")] }, on(target));
      const { threadId } = await fork(saver, target);
      await graph.invoke({ messages: [human("one", "one")] }, on(target));
      await graph.invoke({ messages: [human("two", "two")] }, on(threadId));
      await flag(target, ours);
      await flag(threadId, theirs);
      expect((await merge(graph, target, threadId)).status).toBe("merged");
      const { checkpoint, metadata } = await headOf(target);
      expect((metadata as Record<string, unknown>)[versioned]).toBe(expected);
      // All counting begins at the snapshot that it stores.
      expect(metadata).not.toHaveProperty("counters_since_delta_snapshot");
      expect(checkpoint.channel_values).toHaveProperty("messages");
      expect(checkpoint.channel_versions).toHaveProperty("messages");
      await graph.invoke({ messages: [human("three", "three")] }, on(target));
      const said = textOf((await graph.getState(on(target))).values.messages);
      expect([...said].sort()).toEqual([
        "base",
        "one",
        "re: base",
        "re: one",
        "re: three",
        "re: two",
        "three",
        "two",
      ]);
    },
  );

  test("a DeltaChannel that was written without a version is found, and has one from then on", async () => {
    const graph = deltaChat(saver, 1000);
    await graph.invoke({ messages: [human("base", "base")] }, on("none"));
    const { threadId } = await fork(saver, "none", { history: "full" });
    // As an early updateState left it: the write under the parent, and a checkpoint that doesn't know the channel.
    const head = await headOf(threadId);
    const { messages: _messages, ...channel_versions } = head.checkpoint.channel_versions;
    await saver.put(head.parentConfig!, { ...head.checkpoint, channel_versions }, head.metadata!, {});
    await graph.updateState(on("none"), { messages: [human("ours", "ours")] });
    await saver.put(
      head.config,
      { ...head.checkpoint, id: `${head.checkpoint.id}+`, channel_versions },
      { source: "update", step: 9, parents: {} },
      {},
    );
    await merge(graph, "none", threadId, { strategy: "union" });
    expect(textOf((await graph.getState(on("none"))).values.messages)).toContain("base");
  });

  test("a DeltaChannel that loses its value begins anew", async () => {
    const graph = deltaChat(saver, 1000);
    await graph.invoke({ messages: [human("base", "base")] }, on("lost"));
    const { threadId } = await fork(saver, "lost");
    await graph.invoke({ messages: [human("one", "one")] }, on("lost"));
    await graph.invoke({ messages: [human("two", "two")] }, on(threadId));
    await merge(graph, "lost", threadId, { strategy: () => undefined });
    expect((await graph.getState(on("lost"))).values.messages).toEqual([]);
  });

  test("what nodes really read stays told from what counts as seen", async () => {
    const graph = deltaChat(saver, 1000);
    await graph.invoke({ messages: [human("base", "base")] }, on("bumps"));
    const { threadId } = await fork(saver, "bumps");
    await graph.invoke({ messages: [human("one", "one")] }, on("bumps"));
    await graph.invoke({ messages: [human("two", "two")] }, on(threadId));
    const { checkpoint, parentConfig, metadata } = await headOf("bumps");
    const version = checkpoint.channel_versions["messages"] as number;
    const versions_seen = {
      ...checkpoint.versions_seen,
      listens: { messages: version },
      __snapshot_bumps__: { "listens|messages": version, "listens:messages": 1 },
    };
    await saver.put(parentConfig!, { ...checkpoint, versions_seen }, metadata!, {});
    await merge(graph, "bumps", threadId);
    const merged = (await headOf("bumps")).checkpoint;
    const next = merged.channel_versions["messages"];
    expect(next).not.toBe(version);
    expect(merged.versions_seen["listens"]).toEqual({ messages: next });
    expect(merged.versions_seen["__snapshot_bumps__"]).toEqual({
      "listens|messages": next,
      "listens:messages": 1,
    });
  });
});

describe("reasons", () => {
  test("a reducer that makes up ids, and text that has no union, are told as what they are", async () => {
    const saver = new MemorySaver();
    const graph = chat(saver);
    await graph.invoke({ messages: [human("base")], title: "base" }, on("t"));
    const { threadId } = await fork(saver, "t");
    await graph.updateState(on("t"), { messages: [new HumanMessage("ours")], title: "ours" });
    await graph.updateState(on(threadId), {
      messages: [new HumanMessage("theirs"), new AIMessage("also")],
      title: "theirs",
    });
    const result = await merge(graph, "t", threadId, { strategy: { messages: "reducer", title: "union" } });
    if (result.status !== "conflict") throw new Error(result.status);
    expect(Object.fromEntries(result.plan.channels.map(({ name, reason }) => [name, reason]))).toEqual({
      messages:
        "the updates on record don't add up to the source's value: 2 of the messages on record have no id, so the reducer " +
        'makes up others each time; give messages ids, or use "union"',
      title:
        "both sides changed it, and text can't be united: lists, objects, Maps and Sets can, with their like",
    });
  });

  test("what both sides changed alike is settled", async () => {
    const saver = new MemorySaver();
    const graph = chat(saver);
    await graph.invoke({ messages: [human("base", "base")] }, on("alike"));
    const { threadId } = await fork(saver, "alike");
    for (const [thread, own] of [
      ["alike", "ours"],
      [threadId, "theirs"],
    ] as const)
      await graph.updateState(on(thread), { messages: [human("mended", "base"), human(own, own)] });
    expect((await merge(graph, "alike", threadId)).status).toBe("merged");
    const { messages } = (await graph.getState(on("alike"))).values;
    expect(textOf(messages)).toEqual(["mended", "re: base", "ours", "theirs"]);
  });

  test("the order of both sides' additions: by reducer ours first, by union whoever began first", async () => {
    const saver = new MemorySaver();
    const graph = chat(saver);
    for (const strategy of ["reducer", "union"] as const) {
      await graph.invoke({ messages: [human("base")], notes: ["base"] }, on(strategy));
      const { threadId } = await fork(saver, strategy);
      await graph.updateState(on(threadId), { notes: ["theirs"], messages: [human("theirs")] });
      await graph.updateState(on(strategy), { notes: ["ours"], messages: [human("ours")] });
      await merge(graph, strategy, threadId, { strategy });
      const { notes, messages } = (await graph.getState(on(strategy))).values;
      const order = strategy === "reducer" ? ["ours", "theirs"] : ["theirs", "ours"];
      expect(notes).toEqual(["base", ...order]);
      expect(textOf(messages)).toEqual(["base", "re: base", ...order]);
    }
  });
});
