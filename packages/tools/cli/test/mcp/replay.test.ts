import { type AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { createJournal } from "@stratigraph/journal";
import { expect, test } from "vitest";
import { savers } from "../../../../features/branch/test/support/savers.ts";
import { agentOf, asks, payments, pays, says } from "../../../../features/journal/test/support/effects.ts";
import { createMcp } from "../../src/mcp/index.ts";
import { called, connected, readJson } from "./support/connected.ts";

interface Rebuilt {
  readonly complete: boolean;
  readonly snapshots: { checkpoint: string; parent?: string; uri: string; step: number }[];
  readonly calls: {
    tool: string;
    before: string;
    after: string;
    args: { value: unknown };
    result: { value: unknown };
  }[];
  readonly used: {
    snapshots: number;
    tokens: { total: number };
    calls: { tool: string; calls: number; replays: number }[];
  };
}

test.each(savers)(
  "on %s, a client rebuilds a run, and goes on from every snapshot without making a call again",
  async (_name, open) => {
    const { saver, close } = await open();
    const journal = createJournal(saver);
    const { pay, paid } = payments();
    const usage = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
    const answer = (message: AIMessage): AIMessage => Object.assign(message, { usage_metadata: usage });
    const agent = agentOf(
      journal,
      journal.tools([pay], { pay: "once" }),
      (turn) => answer(turn % 3 < 2 ? asks(pays(turn + 1)) : says("both are paid")),
      saver,
    );
    const on = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });
    const say = async (id: string, run?: string) =>
      await agent.graph.invoke(
        { messages: [new HumanMessage({ content: "pay", id })] },
        { ...on("ada"), ...(run !== undefined && { metadata: { run_id: run } }) },
      );
    await say("m1");
    const final = await say("m2", "run 2");
    expect(paid).toEqual([1, 2, 4, 5]);
    const history = [];
    for await (const state of agent.graph.getStateHistory({ configurable: { thread_id: "ada" } }))
      history.push(state);

    const mcp = createMcp({
      saver,
      allow: ["read", "write"],
      graphs: ["agent"],
      graph: () => Promise.resolve(agent.graph as never),
    });
    const client = await connected(mcp);
    const { items } = await called(client, "history", { thread: "ada", limit: 100 });
    // The first run has no id of its own: any of its checkpoints names it.
    const rebuilt = await Promise.all(
      [items.at(-2).checkpoint, encodeURIComponent(items[0].run)].map((run) =>
        readJson<Rebuilt>(client, `stratigraph://threads/ada/runs/${run}`),
      ),
    );

    // Every snapshot with its parent, as LangGraph itself tells them.
    const told = rebuilt.flatMap(({ snapshots }) => snapshots);
    expect(told.map(({ checkpoint, parent }) => [checkpoint, parent])).toEqual(
      history
        .toReversed()
        .map(({ config, parentConfig }) => [
          config.configurable!["checkpoint_id"],
          parentConfig?.configurable?.["checkpoint_id"],
        ]),
    );
    // The state at each, read by its address alone.
    for (const { checkpoint, uri } of told) {
      const state = history.find(({ config }) => config.configurable!["checkpoint_id"] === checkpoint)!;
      const { channels } = await readJson(client, uri);
      const messages = channels.find(({ channel }: { channel: string }) => channel === "messages");
      expect(messages?.value.length ?? 0).toBe(state.values.messages?.length ?? 0);
    }
    // The calls, between the snapshots before and after them, and what they used.
    for (const { complete, calls, snapshots, used } of rebuilt) {
      expect(complete).toBe(true);
      expect(calls).toHaveLength(2);
      for (const { before, after } of calls)
        expect(snapshots.find(({ checkpoint }) => checkpoint === after)).toMatchObject({ parent: before });
      expect(used).toMatchObject({ tokens: { total: 30 }, calls: [{ tool: "pay", calls: 2, replays: 0 }] });
    }
    expect(rebuilt.flatMap(({ calls }) => calls.map(({ args }) => args.value)).toSorted()).toHaveLength(4);

    // On from every snapshot of the second run: it ends as it ended, and nothing is paid again.
    for (const [n, { checkpoint }] of rebuilt[1]!.snapshots.entries()) {
      const to = `ada-again-${n}`;
      await called(client, "fork", { at: "ada", checkpoint, to: [to] });
      expect(await called(client, "run", { at: to })).toMatchObject({ outcome: "done" });
      const { values } = await agent.graph.getState(on(to));
      expect(values.messages.map(({ text }: { text: string }) => text)).toEqual(
        final.messages.map(({ text }) => text),
      );
    }
    expect(paid).toEqual([1, 2, 4, 5]);
    await expect(client.readResource({ uri: "stratigraph://threads/ada/runs/nothing" })).rejects.toThrow(
      "has nothing of a run",
    );
    await client.close();
    await close();
  },
);

/** A graph that runs as often as asked on a thread, and the snapshots that a client is told of a run. */
async function counted() {
  const saver = new MemorySaver();
  const State = Annotation.Root({ n: Annotation<number> });
  const graph = new StateGraph(State)
    .addNode("count", ({ n }) => ({ n: n + 1 }))
    .addEdge(START, "count")
    .compile({ checkpointer: saver });
  const client = await connected(createMcp({ saver }));
  return {
    run: async (n: number, durability: "sync" | "exit") => {
      await graph.invoke({ n }, { configurable: { thread_id: "ada" }, durability });
      const { config } = await graph.getState({ configurable: { thread_id: "ada" } });
      return config.configurable!["checkpoint_id"] as string;
    },
    snapshots: async (checkpoint: string) => {
      const uri = `stratigraph://threads/ada/runs/${checkpoint}`;
      const { snapshots } = await readJson<Rebuilt>(client, uri);
      return snapshots.map((snapshot) => snapshot.checkpoint);
    },
  };
}

test('under durability "exit" a run has its own snapshot, and not those of the runs before and after it', async () => {
  const { run, snapshots } = await counted();
  const ends = [await run(1, "exit"), await run(1, "exit"), await run(7, "exit")];
  expect(await Promise.all(ends.map(snapshots))).toEqual(ends.map((end) => [end]));
});

test("the first run of a long thread is found, whole", async () => {
  const { run, snapshots } = await counted();
  const first = await run(1, "sync");
  for (let n = 0; n < 350; n++) await run(n, "sync");
  const told = await snapshots(first);
  expect(told).toHaveLength(3);
  expect(told.at(-1)).toBe(first);
});
