import { AIMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { StratigraphError, TierSaver } from "@stratigraph/core";
import { expect, vi } from "vitest";
import { FaultyTier } from "../faulty/faultyTier.ts";
import type { GraphContext, ThreadConfig } from "../graphs/context.ts";

const metadata = { source: "loop", step: 0, parents: {} } as const;

const checkpointOf = (n = 0): Checkpoint => ({ ...emptyCheckpoint(), id: uuid6(n) });

/** The config of a checkpoint of the root namespace. */
const configOf = (thread: ThreadConfig, checkpointId: string) => ({
  configurable: { ...thread.configurable, checkpoint_ns: "", checkpoint_id: checkpointId },
});

/** A graph whose model asks for one tool, which runs `pay` with the config that it is given. */
const payingGraph = (checkpointer: TierSaver, pay: (config: RunnableConfig) => Promise<void>) => {
  const payTool = tool(
    async (_input: unknown, config: RunnableConfig) => {
      await pay(config);
      return "paid";
    },
    { name: "pay", description: "Pays.", schema: { type: "object", properties: {} } },
  );
  return new StateGraph(MessagesAnnotation)
    .addNode("model", () => ({
      messages: [new AIMessage({ content: "", tool_calls: [{ name: "pay", args: {}, id: "call_1" }] })],
    }))
    .addNode("tools", new ToolNode([payTool]))
    .addEdge(START, "model")
    .addEdge("model", "tools")
    .addEdge("tools", END)
    .compile({ checkpointer });
};

/** Tests of `stored()`, which resolves when a checkpoint is certain to survive a crash. */
export const storedTests = ({ test, saver, thread }: GraphContext): void => {
  /** A saver of its own over the storage under test, whose calls can be held, delayed and failed. */
  const open = (): { door: FaultyTier; own: TierSaver } => {
    const given = saver();
    if (!(given instanceof TierSaver)) throw new Error("these tests need one of Stratigraph's savers");
    const door = new FaultyTier(given.tier);
    return { door, own: new TierSaver(door) };
  };

  /** How many tool calls another saver over the storage finds in the messages of the checkpoint that issued a call. */
  const callsStored = async (at: RunnableConfig): Promise<number | undefined> => {
    const found = await open().own.getTuple(at);
    const messages = found?.checkpoint.channel_values["messages"] as AIMessage[] | undefined;
    return messages?.reduce((sum, { tool_calls = [] }) => sum + tool_calls.length, 0);
  };

  for (const durability of ["sync", "async"] as const) {
    test(`a tool that waits acts after its message is stored, durability ${durability}`, async () => {
      const { door, own } = open();
      const found: (number | undefined)[] = [];
      const asked: string[] = [];
      // Under "async", a put begins when the previous one has ended, so holding the first one delays all of them.
      const hold = durability === "async" ? door.hold("append") : undefined;
      const graph = payingGraph(own, async ({ configurable = {} }) => {
        const map = configurable["checkpoint_map"] as Record<string, string>;
        const at = configOf({ configurable: { thread_id: String(configurable["thread_id"]) } }, map[""]!);
        found.push(await callsStored(at));
        const before = door.calls.length;
        const waiting = own.stored(at);
        hold?.release();
        await waiting;
        asked.push(...door.calls.slice(before).map(({ method }) => method));
        found.push(await callsStored(at));
      });
      await graph.invoke({ messages: [] }, { ...thread(), durability });
      expect(found).toEqual([durability === "sync" ? 1 : undefined, 1]);
      // Until its put begins, the saver looks for the checkpoint in the storage.
      const allowed = durability === "sync" ? [] : ["append", "list"];
      expect(asked.filter((method) => !allowed.includes(method))).toEqual([]);
    });
  }

  test("a checkpoint that was put or read is known at once, without a call", async () => {
    const config = thread();
    const { own } = open();
    const at = await own.put(config, checkpointOf(), metadata, {});
    const { door, own: other } = open();
    await other.getTuple(config);
    for (const by of [own, other]) {
      const before = door.calls.length;
      await by.stored(at);
      expect(door.calls.length).toBe(before);
    }
  });

  test("it waits for a put that begins later, and for one of another process", async () => {
    const config = thread();
    for (const isOwn of [true, false]) {
      const { own, door } = open();
      const checkpoint = checkpointOf(isOwn ? 0 : 1);
      let isStored = false;
      const waiting = own.stored(configOf(config, checkpoint.id)).then(() => expect(isStored).toBe(true));
      const looks = () => door.calls.filter(({ method }) => method === "list");
      await vi.waitFor(() => expect(looks()).not.toEqual([]), { timeout: 30_000 });
      const head = await open().own.getTuple(config);
      const by = isOwn ? own : open().own;
      if (head !== undefined) await by.getTuple(config);
      await by.put(head?.config ?? config, checkpoint, metadata, {}).then(() => (isStored = true));
      // The other process learns that its put has ended before this one can look, so the order isn't left to chance.
      await waiting;
      expect(looks().every(({ args }) => (args[0] as { recordsOnly?: boolean }).recordsOnly === true)).toBe(
        true,
      );
    }
  });

  test("it fails as the put that it waits for does", async () => {
    const config = thread();
    const { door, own } = open();
    const [failing, late] = [checkpointOf(), checkpointOf(1)];
    const full = new StratigraphError("STORAGE_FULL", "The disk is full.");
    const before = own.stored(configOf(config, failing.id));
    const hold = door.hold("append");
    door.failNext("append", full);
    const putting = own.put(config, failing, metadata, {});
    await hold.reached;
    const meanwhile = own.stored(configOf(config, failing.id));
    const refusal = { code: "STORAGE_FULL" };
    const refused = Promise.all([
      expect(before).rejects.toMatchObject(refusal),
      expect(meanwhile).rejects.toMatchObject(refusal),
      expect(putting).rejects.toMatchObject(refusal),
    ]);
    hold.release();
    await refused;
    // A late write to a deleted thread is dropped silently under "async", but a caller that waits for it gets an error.
    const run = { ...config, control: {}, durability: "async" };
    const first = await own.put(run, failing, metadata, {});
    await open().own.deleteThread(config.configurable.thread_id);
    const waits = expect(own.stored(configOf(config, late.id))).rejects.toMatchObject({
      code: "THREAD_DELETED",
    });
    await own.put({ ...run, ...first }, late, metadata, {});
    await waits;
  });

  test("it ends when time is up, or by its signal", async () => {
    const config = thread();
    const { door, own } = open();
    const { id } = checkpointOf();
    const at = configOf(config, id);
    const data = { threadId: config.configurable.thread_id, namespace: "", checkpointId: id, timeoutMs: 70 };
    const late = { code: "NOT_DURABLE", data };
    await expect(own.stored(at, { timeout: "70ms" })).rejects.toMatchObject(late);
    door.failNext("list", new StratigraphError("UNAVAILABLE", "No answer."), { times: 100 });
    const cause = { code: "UNAVAILABLE" };
    await expect(own.stored(at, { timeout: "70ms" })).rejects.toMatchObject({ ...late, cause });
    const controller = new AbortController();
    const aborted = expect(own.stored(at, { signal: controller.signal })).rejects.toBe("enough");
    controller.abort("enough");
    await aborted;
    await expect(own.stored(at, { signal: controller.signal })).rejects.toBe("enough");
    const hold = door.hold("append");
    const putting = own.put(config, { ...checkpointOf(), id }, metadata, {});
    await hold.reached;
    await expect(own.stored(at, { timeout: "70ms" })).rejects.toMatchObject(late);
    hold.release();
    await putting;
    await own.stored(at, { timeout: "70ms" });
  });

  test("a checkpoint of a subgraph that stores none isn't waited for", async () => {
    const config = thread();
    const { door, own } = open();
    const run = { control: {} };
    const { id } = checkpointOf();
    const at = { configurable: { ...config.configurable, checkpoint_ns: "sub:1", checkpoint_id: id } };
    // A run reads the namespace of each graph before the graph's first tasks, except that of a graph with checkpointer: false.
    await own.getTuple({ ...config, ...run });
    await expect(own.stored({ ...at, ...run })).rejects.toMatchObject({
      code: "NOT_DURABLE",
      message: expect.stringContaining("which stores none") as string,
    });
    expect(door.calls.filter(({ method }) => method === "list")).toHaveLength(1);
    // Runs about which nothing is known, and runs that do read the namespace, wait.
    const waits = { code: "NOT_DURABLE", data: { timeoutMs: 70 } };
    const stranger = { control: {} };
    await expect(own.stored({ ...at, ...stranger }, { timeout: "70ms" })).rejects.toMatchObject(waits);
    await own.getTuple({ configurable: { ...config.configurable, checkpoint_ns: "sub:1" }, ...run });
    await expect(own.stored({ ...at, ...run }, { timeout: "70ms" })).rejects.toMatchObject(waits);
  });

  test("an outage while it looks is waited out, and what can't pass is thrown", async () => {
    const config = thread();
    const at = await open().own.put(config, checkpointOf(), metadata, {});
    const { door, own } = open();
    door.failNext("list", new StratigraphError("UNAVAILABLE", "No answer."));
    await own.stored(at);
    expect(door.calls.map(({ outcome }) => outcome)).toEqual(["refused", "stopped"]);
    door.failNext("list", new StratigraphError("ACCESS_DENIED", "Not you."));
    await expect(open().own.stored(at)).resolves.toBeUndefined();
    await expect(own.stored(at)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });
};
