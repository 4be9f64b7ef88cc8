import { Command } from "@langchain/langgraph";
import { fork, merge, promote, undo } from "@stratigraph/branch";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { TierSaver } from "@stratigraph/core";
import { inRounds } from "../../../../../../test/rounds.ts";
import { chat, deltaChat, human, nested } from "../../../../../features/branch/test/support/graphs.ts";
import { CallChain } from "../../../../testing/src/promises/callChain.ts";
import { agent, line, on, storages, turns, verified } from "./support.ts";

// What isn't damage, however unusual.

const { memory, postgres } = storages;
const wanted = inRounds<Record<string, (typeof storages)[keyof typeof storages]>>({
  few: { memory, postgres },
  all: storages,
});

describe.each(Object.entries(wanted))("in %s", (_, openStorage) => {
  let storage: Awaited<ReturnType<typeof openStorage>>;
  beforeAll(async () => {
    storage = await openStorage();
  });
  afterAll(() => storage.close());

  const clean = async (least: number): Promise<void> => {
    const report = await verified(storage.open());
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({ complete: true, leftOut: 0, unsettled: 0 });
    expect(report.totals.threads).toBeGreaterThanOrEqual(least);
  };

  test("an empty storage", () => clean(0));

  test("tool calls, inherited by a fork, kept by pruning, and of a thread that has nothing else", async () => {
    const saver = new TierSaver(storage.open());
    await turns(saver, "called", 3);
    await new CallChain(saver, "called").add(3);
    await fork(saver, "called", { to: "called again" });
    await new CallChain(saver, "called again").add(1);
    await saver.prune(["called"], { strategy: "keep_latest" });
    await new CallChain(saver, "calls alone").add(2);
    await clean(3);
  });

  test("a branch from a checkpoint that was pruned while somebody looked at it", async () => {
    const saver = new TierSaver(storage.open(), { conflict: "branch" });
    await turns(saver, "gone on", 3);
    const ids = await history(saver, "gone on");
    const tip = await saver.getTuple(on("gone on"));
    // The head goes back, so that pruning removes the tip, from which somebody goes on at the same time.
    await promote(saver, { threadId: "gone on", checkpointId: ids[3]! });
    await new TierSaver(storage.open()).prune(["gone on"], { strategy: "keep_latest", keepLast: 2 });
    const { checkpoint, metadata, config } = tip!;
    const id = uuid6(1);
    await saver.put(config, { ...checkpoint, id }, { ...metadata!, source: "update" }, {});
    await promote(saver, { threadId: "gone on", checkpointId: id });
    await clean(1);
  });

  test("turns, interrupts, time travel, undo, promote, forks, side branches, pruning and deletions", async () => {
    const saver = new TierSaver(storage.open());
    await turns(saver, "plain", 4);
    await agent(saver).invoke({ log: [line("?")], note: "ask" }, on("asking \u001b[31m'😀\u202e"));
    await agent(saver).invoke({ log: [line("?")], note: "ask" }, on("answered"));
    await agent(saver).invoke(new Command({ resume: "yes" }), on("answered"));
    await turns(saver, "travelled", 3);
    const states = [];
    for await (const state of agent(saver).getStateHistory(on("travelled"))) states.push(state);
    await agent(saver).invoke(null, states[4]!.config);
    await turns(saver, "undone", 3);
    const [, , , earlier] = await history(saver, "undone");
    await promote(saver, { threadId: "undone", checkpointId: earlier! });
    await undo(saver, "undone");
    await turns(saver, "promoted", 3);
    const [, , , back] = await history(saver, "promoted");
    await promote(saver, { threadId: "promoted", checkpointId: back! });
    await turns(saver, "went on", 2);
    const [, , , other] = await history(saver, "went on");
    await promote(saver, { threadId: "went on", checkpointId: other! });
    await turns(saver, "went on", 1);
    const { threadId } = await fork(saver, { threadId: "plain" });
    await turns(saver, threadId, 1);
    await saver.copyThread("travelled", "copy");
    await turns(saver, "pruned", 4);
    await saver.prune(["pruned", "travelled", "answered"], { strategy: "keep_latest", keepLast: 3 });
    await turns(saver, "deleted", 1);
    await saver.deleteThread("deleted");
    const losing = new TierSaver(storage.open(), { conflict: "branch" });
    await turns(losing, "raced", 1);
    const winning = new TierSaver(storage.open(), { conflict: "branch" });
    await Promise.all([turns(losing, "raced", 2), turns(winning, "raced", 2)]);
    await agent(saver).invoke({ log: [line("exit")], note: "" }, { ...on("exit"), durability: "exit" });
    await agent(saver).invoke({ log: [line("exit")], note: "" }, { ...on("exit"), durability: "exit" });
    await clean(12);
  });

  test("subgraphs, DeltaChannels, interrupts wound back, and merges", async () => {
    const saver = new TierSaver(storage.open());
    for (const threadId of ["nested", "nested back", "nested pruned"]) {
      await nested(saver).invoke({ log: ["start"] }, on(threadId));
      await nested(saver).invoke(new Command({ resume: "one" }), on(threadId));
      await nested(saver).invoke({ log: ["again"] }, on(threadId));
    }
    const roots: string[] = [];
    for await (const { record } of saver.tier.list({
      threadId: "nested back",
      namespace: "",
      recordsOnly: true,
    }))
      roots.push(record.checkpointId);
    for (const checkpointId of [roots[3]!, roots[1]!, roots[0]!, roots[4]!])
      await promote(saver, { threadId: "nested back", checkpointId });
    await nested(saver).invoke(null, on("nested back"));
    await saver.prune(["nested pruned"], { strategy: "keep_latest", keepLast: 2 });
    for (let n = 0; n < 6; n += 1) await deltaChat(saver).invoke({ messages: [human(`${n}`)] }, on("delta"));
    await saver.prune(["delta"], { strategy: "keep_latest", keepLast: 2 });
    for (const text of ["one", "two"]) await chat(saver).invoke({ messages: [human(text)] }, on("merged"));
    const { threadId: other } = await fork(saver, { threadId: "merged" });
    await chat(saver).invoke({ messages: [human("theirs")] }, on(other));
    await chat(saver).invoke({ messages: [human("ours")] }, on("merged"));
    const strategy = { sum: "reducer" } as const;
    expect((await merge(chat(saver), "merged", { threadId: other }, { strategy })).status).toBe("merged");
    await turns(saver, "evicted", 1);
    const { revision } = await saver.tier.peek({ threadId: "evicted", namespace: "" });
    await saver.tier.evict("evicted", revision);
    await clean(7);
  });
});

async function history(saver: TierSaver, threadId: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { config } of agent(saver).getStateHistory(on(threadId)))
    ids.push(config.configurable!["checkpoint_id"] as string);
  return ids;
}
