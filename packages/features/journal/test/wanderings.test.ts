import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { fork } from "@stratigraph/branch";
import { MemorySaver, TierSaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { inRounds } from "../../../../test/rounds.ts";
import { createJournal } from "../src/index.ts";

// Threads that break off, are continued, go back, are forked, edited, renamed and taken over, at random. The graph sends two equal reminders
// for each input, under one name. Whatever happens: no branch has a receipt twice, so none of its reminders was dropped, and no more
// were sent than inputs and forks asked for, so none was sent again.

const State = Annotation.Root({
  rounds: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
  inputs: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
  receipts: Annotation<number[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  note: Annotation<string>({ reducer: (_, next) => next, default: () => "" }),
});

/** Numbers from 0 up to `below`, from a seed (mulberry32). */
function dice(seed: number) {
  let at = seed;
  return (below: number): number => {
    at = (at + 0x6d2b79f5) | 0;
    let t = Math.imul(at ^ (at >>> 15), 1 | at);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

async function wander(seed: number, steps: number) {
  const throws = dice(seed);
  const owner = new MemorySaver();
  const open = () => {
    const saver = new TierSaver(owner.tier);
    return { saver, journal: createJournal(saver) };
  };
  let now = open();
  let sent = 0;
  let asked = 0;
  const did: string[] = [];
  const graphOf = (node: string) =>
    new StateGraph(State)
      .addNode("look", () => ({ rounds: 0 }))
      .addNode(node, async ({ rounds, note }, config) => {
        if (throws(6) === 0) throw new Error("before");
        const receipt = await now.journal.run(config, { id: "remind" }, () => (sent += 1));
        if (throws(4) === 0) throw new Error(`after ${note}`);
        return { receipts: [receipt], rounds: rounds + 1 };
      })
      .addEdge(START, "look")
      .addEdge("look", node as never)
      .addConditionalEdges(
        node as never,
        (state: typeof State.State) => (state.rounds < 2 ? node : END) as never,
      )
      .compile({ checkpointer: now.saver });
  let node = "remind";
  const threads = ["t"];
  const on = (thread_id: string, checkpoint_id?: string) => ({
    configurable: { thread_id, ...(checkpoint_id === undefined ? {} : { checkpoint_id }) },
    durability: "sync" as const,
  });
  const runs = async (what: string, work: () => Promise<unknown>) => {
    did.push(
      await work().then(
        () => what,
        (error: Error) => `${what}: ${error.message}`,
      ),
    );
  };
  for (let step = 0; step < steps; step += 1) {
    const thread = threads[throws(threads.length)]!;
    const graph = graphOf(node);
    const state = await graph.getState(on(thread));
    const isUnderWay = state.next.length > 0;
    const what = throws(10);
    if (what < 3) {
      asked += 1;
      await runs(`input ${thread}`, () => graph.invoke({ inputs: 1 }, on(thread)));
    } else if (what < 6 && isUnderWay) await runs(`go on ${thread}`, () => graph.invoke(null, on(thread)));
    else if (what === 6 && isUnderWay && state.next.includes(node as never))
      await runs(`edit ${thread}`, () =>
        graph.updateState(on(thread), { note: `edited ${step}` }, "look" as never),
      );
    else if (what === 7) now = open();
    else if (what >= 8) {
      const points = [];
      for await (const { config, next } of graph.getStateHistory(on(thread)))
        if (next.length > 0) points.push([config.configurable!["checkpoint_id"] as string, next] as const);
      const [point, next] = points[throws(Math.max(points.length, 1))] ?? [];
      if (point === undefined) continue;
      if (what === 8) await runs(`back ${thread}`, () => graph.invoke(null, on(thread, point)));
      else if (threads.length < 4) {
        const to = `${thread}f${step}`;
        await runs(`fork ${thread} to ${to}`, () =>
          fork(now.saver, { threadId: thread, checkpointId: point } as never, { to }),
        );
        threads.push(to);
        // What the source had not sent then, both may send.
        asked += 1;
      } else if (next!.includes("look" as never)) {
        node = node === "remind" ? "reminds" : "remind";
        await runs(`renamed, back ${thread}`, () => graphOf(node).invoke(null, on(thread, point)));
      }
    }
    for (const each of threads) {
      const { values } = await graphOf(node).getState(on(each));
      const { receipts = [] } = values as Partial<typeof State.State>;
      expect(
        new Set(receipts).size,
        `seed ${seed}: ${did.join(" | ")} → ${each}: ${receipts.join(" ")}`,
      ).toBe(receipts.length);
    }
    expect(sent, `seed ${seed}: ${did.join(" | ")}`).toBeLessThanOrEqual(2 * asked);
  }
}

const seeds = inRounds({ few: 4, all: 60, soak: 2000 });
it(`of ${seeds} random wanderings none drops a reminder, and none sends one again`, async () => {
  for (let seed = 1; seed <= seeds; seed += 1) await wander(seed, 25);
});
