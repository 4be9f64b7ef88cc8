import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { MemoryTier, type TierSaver } from "@stratigraph/core";
import { TieredSaver, boundedMemory } from "@stratigraph/tiered";
import { fork, forkMany, lineage } from "@stratigraph/branch";
import { chat, deltaChat, human, on, textOf } from "./support/graphs.ts";
import { savers } from "./support/savers.ts";
import { inRounds } from "../../../../test/rounds.ts";

type Graph = ReturnType<typeof chat>;

// With few rounds on memory alone: what is read, other tests of forks read on PostgreSQL too.
const tried = inRounds({ few: savers.slice(0, 1), all: savers });

describe.each(tried)("forks by a message on %s", (_name, open) => {
  let saver: TierSaver;
  let close: () => Promise<void>;
  beforeAll(async () => ({ saver, close } = await open()));
  afterAll(() => close());

  const texts = async (thread: string, graph: Pick<Graph, "getState"> = chat(saver)) =>
    textOf((await graph.getState(on(thread))).values.messages ?? []);
  const say = async (thread: string, text: string, id: string, graph: Pick<Graph, "invoke"> = chat(saver)) =>
    await graph.invoke({ messages: [human(text, id)] }, on(thread));

  test("a question is edited, the first or a later one, and an answer is given anew; the source stays", async () => {
    for (const n of ["1", "2", "3"]) await say("t", `q${n}`, `t${n}`);
    const before = (await chat(saver).getState(on("t"))).values;
    const second = await fork(saver, "t", { message: "t2" });
    expect(await texts(second.threadId)).toEqual(["q1", "re: q1"]);
    await say(second.threadId, "edited", "t2b");
    expect(await texts(second.threadId)).toEqual(["q1", "re: q1", "edited", "re: edited"]);
    const [first] = await forkMany(saver, "t", ["t-first"], { message: "t1" });
    expect(await texts(first!.threadId)).toEqual([]);
    await say("t-first", "begun anew", "t1b");
    expect(await texts("t-first")).toEqual(["begun anew", "re: begun anew"]);
    const again = await fork(saver, "t", { message: "re-t2" });
    expect((await chat(saver).getState(again.config)).next).toEqual(["answer"]);
    await chat(saver).invoke(null, again.config);
    expect(await texts(again.threadId)).toEqual(["q1", "re: q1", "q2", "re: q2"]);
    expect((await chat(saver).getState(on("t"))).values).toEqual(before);
  });

  test("a fork is edited before where it began: it goes on from the thread it came from", async () => {
    for (const n of ["1", "2", "3"]) await say("e", `q${n}`, `e${n}`);
    const one = await fork(saver, "e", { message: "e3" });
    await say(one.threadId, "other", "e3b");
    const two = await fork(saver, one.threadId, { message: "e2" });
    expect(await texts(two.threadId)).toEqual(["q1", "re: q1"]);
    expect((await lineage(saver, two.threadId))[0]!.threadId).toBe("e");
    const own = await fork(saver, one.threadId, { message: "e3b" });
    expect(await texts(own.threadId)).toEqual(["q1", "re: q1", "q2", "re: q2"]);
    await saver.deleteThread("e");
    await expect(fork(saver, one.threadId, { message: "e2" })).rejects.toThrow("fork without its history");
  });

  test("a message that was changed, removed or added by hand is found where it came in", async () => {
    const graph = chat(saver);
    await say("r", "q1", "r1");
    await graph.updateState(on("r"), { messages: [new AIMessage({ content: "by hand", id: "hand" })] });
    await say("r", "q2", "r2");
    await graph.updateState(on("r"), { messages: [new HumanMessage({ content: "changed", id: "r2" })] });
    await graph.updateState(on("r"), { messages: [new RemoveMessage({ id: "r1" })] });
    await graph.updateState(on("r"), { messages: [new RemoveMessage({ id: "re-r2" })] });
    expect(await texts((await fork(saver, "r", { message: "r2" })).threadId)).toEqual([
      "q1",
      "re: q1",
      "by hand",
    ]);
    expect(await texts((await fork(saver, "r", { message: "hand" })).threadId)).toEqual(["q1", "re: q1"]);
    // Neither stands in the newest state, as after a summary.
    expect(await texts((await fork(saver, "r", { message: "r1" })).threadId)).toEqual([]);
    expect((await texts((await fork(saver, "r", { message: "re-r2" })).threadId)).at(-1)).toBe("q2");
  });

  test("of two branches of one thread, the one that leads to the point counts", async () => {
    await say("b", "q1", "b1");
    const { config } = await chat(saver).getState(on("b"));
    const one = config.configurable!["checkpoint_id"] as string;
    await say("b", "left", "left");
    const left = (await chat(saver).getState(on("b"))).config.configurable!["checkpoint_id"] as string;
    await chat(saver).invoke({ messages: [human("right", "right")] }, on("b", one));
    await expect(fork(saver, "b", { message: "left" })).rejects.toMatchObject({
      code: "NOT_FOUND",
      data: { threadId: "b", message: "left" },
    });
    const made = await fork(saver, { threadId: "b", checkpointId: left }, { message: "left" });
    expect(await texts(made.threadId)).toEqual(["q1", "re: q1"]);
    await expect(
      fork(saver, { threadId: "b", checkpointId: one }, { message: "right" }),
    ).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("messages in a DeltaChannel are found in what was written, and in snapshots", async () => {
    const graph = deltaChat(saver, 4);
    for (let n = 0; n < 6; n += 1) await say("d", `q${n}`, `d${n}`, graph as never);
    for (let n = 0; n < 6; n += 1) {
      const { threadId } = await fork(saver, "d", { message: `d${n}` });
      expect(await texts(threadId, graph as never)).toHaveLength(2 * n);
      await say(threadId, "edited", "edited", graph as never);
      expect((await texts(threadId, graph as never)).slice(2 * n)).toEqual(["edited", "re: edited"]);
    }
    await graph.updateState(on("d"), { messages: [new RemoveMessage({ id: "re-d3" })] });
    const again = await fork(saver, "d", { message: "re-d3" });
    expect(await texts(again.threadId, graph as never)).toHaveLength(7);
  });

  test("what isn't there, or has nothing before it, is refused, and nothing is made", async () => {
    const exit = { ...on("x"), durability: "exit" as const };
    await chat(saver).invoke({ messages: [human("q1", "x1")] }, exit);
    await chat(saver).invoke({ messages: [human("q2", "x2")] }, exit);
    expect(await texts((await fork(saver, "x", { message: "x2" })).threadId)).toEqual(["q1", "re: q1"]);
    const refused = async (options: object) =>
      await expect(fork(saver, "x", { to: "x-none", ...options })).rejects;
    await (await refused({ message: "x1" })).toThrow("nothing");
    await (await refused({ message: "nobody" })).toMatchObject({ code: "NOT_FOUND" });
    await (await refused({ message: "" })).toMatchObject({ code: "INVALID_OPTION" });
    await (await refused({ message: 7 })).toMatchObject({ code: "INVALID_OPTION" });
    await (await refused({ messageId: "x1" })).toThrow('The id of a message is the option "message"');
    await say("p", "q1", "p1");
    await say("p", "q2", "p2");
    await saver.prune(["p"], { strategy: "keep_latest" });
    await expect(fork(saver, "p", { message: "p1" })).rejects.toThrow("was pruned");
    expect((await saver.tier.peek({ threadId: "x-none", namespace: "" })).head).toBeUndefined();
  });
});

test("a message of an archived thread", async () => {
  const options = { hot: boundedMemory(), warm: new MemoryTier(), cold: new MemoryTier() };
  const month = 30 * 86_400_000;
  const saver = new TieredSaver({ ...options, archiveAfter: "7d", pause: "0ms" }, () => Date.now() + month);
  for (const n of ["1", "2"]) await chat(saver).invoke({ messages: [human(`q${n}`, `a${n}`)] }, on("a"));
  const { steps } = await saver.maintain();
  expect(steps.filter(({ what }) => what === "archive")).not.toHaveLength(0);
  const { config } = await fork(saver, "a", { message: "a2" });
  expect(textOf((await chat(saver).getState(config)).values.messages)).toEqual(["q1", "re: q1"]);
});
