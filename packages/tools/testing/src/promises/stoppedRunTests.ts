import { setImmediate as turn } from "node:timers/promises";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { TierSaver } from "@stratigraph/core";
import { expect } from "vitest";
import { FaultyTier } from "../faulty/faultyTier.ts";
import type { GraphContext } from "../graphs/context.ts";
import { isAtLeast } from "../installedVersion.ts";

const State = Annotation.Root({
  messages: Annotation<unknown[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Lets everything happen that only waits for its turn. */
const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n += 1) await turn();
};

/** A model that answers, and tools that take a while and do nothing. */
const chatOf = (checkpointer: TierSaver, answer: (question: unknown) => unknown = (q) => `re ${String(q)}`) =>
  new StateGraph(State)
    .addNode("model", ({ messages }) => ({ messages: [answer(messages.at(-1))] }))
    .addNode("tools", async () => {
      await turns();
      return {};
    })
    .addEdge(START, "model")
    .addEdge("model", "tools")
    .addEdge("tools", END)
    .compile({ checkpointer });

type Chat = ReturnType<typeof chatOf>;
type Config = Parameters<Chat["invoke"]>[1];

/** A branch of three steps, beside a node that fails when the branch has begun its second step, and is mended then. */
const branchesOf = (
  checkpointer: TierSaver,
  branch: "subgraph" | "subgraph of a subgraph" | "node that calls a graph",
) => {
  let second = (): void => {};
  const isSecond = new Promise<void>((resolve) => (second = resolve));
  let isBroken = true;
  const step = (name: string) => async () => {
    if (name === "two") second();
    await turns();
    return { messages: [name] };
  };
  const three = new StateGraph(State)
    .addNode("one", step("one"))
    .addNode("two", step("two"))
    .addNode("three", step("three"))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .compile();
  const nested = new StateGraph(State).addNode("three", three).addEdge(START, "three").compile();
  const calling = async () => ({ messages: (await three.invoke({ messages: [] })).messages });
  const branches = { subgraph: three, "subgraph of a subgraph": nested, "node that calls a graph": calling };
  return new StateGraph(State)
    .addNode("branch", branches[branch] as typeof three)
    .addNode("beside", async () => {
      await isSecond;
      if (!isBroken) return { messages: ["mended"] };
      isBroken = false;
      throw new Error("broken");
    })
    .addEdge(START, "branch")
    .addEdge(START, "beside")
    .compile({ checkpointer });
};

/** Sends a message, and stops the run when its first update arrives. */
const sendAndStop = async (chat: Chat, message: unknown, config: Config): Promise<void> => {
  const stop = new AbortController();
  const run = async (): Promise<void> => {
    const updates = await chat.stream(
      { messages: [message] },
      { ...config, signal: stop.signal, streamMode: "updates" },
    );
    for await (const _ of updates) stop.abort();
  };
  await expect(run()).rejects.toThrow();
};

/** Tests of what comes right after a run that was stopped, or failed, while it stored what it had done. */
export const stoppedRunTests = ({ test, durabilities, saver, thread }: GraphContext): void => {
  /** A saver of its own over the storage under test, whose puts take a while. */
  const open = (ms = 3): { door: FaultyTier; own: TierSaver } => {
    const given = saver();
    if (!(given instanceof TierSaver)) throw new Error("these tests need one of Stratigraph's savers");
    const door = new FaultyTier(given.tier);
    door.delay("append", ms);
    door.delay("appendWrites", ms);
    return { door, own: new TierSaver(door) };
  };

  for (const durability of durabilities()) {
    test(`the message after a stopped run is in the thread, durability ${durability}`, async () => {
      const { own } = open();
      for (let round = 0; round < 3; round += 1) {
        const config = { ...thread(), durability };
        const chat = chatOf(own);
        await sendAndStop(chat, "first", config);
        const answered = await chat.invoke({ messages: ["second"] }, config);
        expect(answered.messages).toEqual(["first", "re first", "second", "re second"]);
        expect((await chat.getState(config)).values).toEqual(answered);
        expect(await own.conflicts(config.configurable.thread_id)).toEqual([]);
      }
    });
  }

  for (const durability of durabilities())
    test(`a run whose time is up goes on at once, durability ${durability}`, async () => {
      const { own } = open();
      for (let round = 0; round < 3; round += 1) {
        const config = { ...thread(), durability };
        const chat = chatOf(own);
        const run = chat.invoke({ messages: ["first"] }, { ...config, timeout: 3 + 4 * round });
        const isLate = await run.then(
          () => false,
          () => true,
        );
        if (isLate) await chat.invoke(null, config);
        const { values, next } = await chat.getState(config);
        expect([values, next]).toEqual([{ messages: ["first", "re first"] }, []]);
      }
    });

  for (const branch of ["subgraph", "subgraph of a subgraph", "node that calls a graph"] as const)
    for (const durability of durabilities())
      test(`a run that failed beside a ${branch} is tried again at once, durability ${durability}`, async () => {
        for (let round = 0; round < 3; round += 1) {
          const { own } = open();
          const config = { ...thread(), durability };
          const graph = branchesOf(own, branch);
          await expect(graph.invoke({ messages: ["first"] }, config)).rejects.toThrow("broken");
          const { messages } = await graph.invoke(null, config);
          expect(
            messages
              .filter((message) => ["one", "two", "three", "mended"].includes(String(message)))
              .toSorted(),
          ).toEqual(["mended", "one", "three", "two"]);
          const { values, next } = await graph.getState(config);
          expect([values, next]).toEqual([{ messages }, []]);
        }
      });

  test("a run waits for all that a stopped one still stores, and nobody else does", async () => {
    const { door, own } = open(0);
    const config = thread();
    const chat = chatOf(own);
    const hold = door.hold("append");
    await sendAndStop(chat, "first", config);
    const before = door.calls.length;
    const second = chat.invoke({ messages: ["second"] }, config);
    const shown = chat.getState(config);
    await chat.getState(thread());
    await turns();
    const { thread_id: threadId } = config.configurable;
    const reads = door.calls.slice(before).filter(({ method }) => method === "read" || method === "peek");
    const asked = reads.map(({ args }) => (args[0] as { threadId: string }).threadId);
    expect(asked).not.toContain(threadId);
    hold.release();
    expect((await second).messages).toEqual(["first", "re first", "second", "re second"]);
    expect((await shown).values).toMatchObject({ messages: ["first", "re first"] });
  });

  test("a run under way is waited for by nobody", async () => {
    const { door, own } = open(0);
    const config = thread();
    const chat = chatOf(own);
    const hold = door.hold("append");
    const run = chat.invoke({ messages: ["first"] }, config);
    await hold.reached;
    expect((await chat.getState(config)).values).toEqual({});
    hold.release();
    expect((await run).messages).toEqual(["first", "re first"]);
  });

  for (const durability of durabilities())
    test(`a run brings no thread back that is deleted while it runs, durability ${durability}`, async () => {
      const { own } = open();
      const { own: other } = open();
      for (const deletedBy of [own, other]) {
        const config = { ...thread(), durability };
        const { thread_id: threadId } = config.configurable;
        const chat = chatOf(own);
        const updates = await chat.stream({ messages: ["secret"] }, { ...config, streamMode: "updates" });
        const run = async (): Promise<void> => {
          for await (const _ of updates) await deletedBy.deleteThread(threadId);
        };
        if (durability === "async") await run();
        else await expect(run()).rejects.toThrow(/deleted/);
        expect((await chat.getState(config)).values).toEqual({});
        expect(await chat.invoke({ messages: ["new"] }, config)).toEqual({ messages: ["new", "re new"] });
        expect((await chatOf(other).getState(config)).values).toEqual({ messages: ["new", "re new"] });
      }
    });

  for (const order of ["deleted, then stopped", "stopped, then deleted"])
    test(`a run that reads a thread only after it was ${order}, stores nothing`, async () => {
      const { door, own } = open(0);
      const config = { ...thread(), durability: "async" as const };
      const { thread_id: threadId } = config.configurable;
      const chat = chatOf(own);
      const holds = [door.hold("read"), door.hold("peek")];
      const stop = new AbortController();
      const run = chat.invoke({ messages: ["secret"] }, { ...config, signal: stop.signal });
      const stopped = expect(run).rejects.toThrow();
      await Promise.race(holds.map(({ reached }) => reached));
      if (order === "stopped, then deleted") stop.abort();
      await own.deleteThread(threadId);
      stop.abort();
      await stopped;
      for (const hold of holds) hold.release();
      expect((await chat.getState(config)).values).toEqual({});
      expect(await chat.invoke({ messages: ["new"] }, config)).toEqual({ messages: ["new", "re new"] });
    });

  // Before LangGraph 1.5 a put that is refused under "async" is a rejection that nobody handles.
  if (!isAtLeast("@langchain/langgraph", "1.5.0")) return;
  test("a thread is shown whole after a run whose value can't be stored", async () => {
    const { door, own } = open();
    const config = { ...thread(), durability: "async" as const };
    const hold = door.hold("append");
    const run = chatOf(own, () => () => "no value").invoke({ messages: ["first"] }, config);
    await expect(run).rejects.toThrow(/messages/);
    const chat = chatOf(own);
    const shown = chat.getState(config);
    const again = chat.invoke(null, config);
    await turns();
    hold.release();
    expect((await shown).values).toEqual({ messages: ["first"] });
    expect(await again).toEqual({ messages: ["first", "re first"] });
  });
};
