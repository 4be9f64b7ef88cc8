// long file: what becomes of a Command for the graph around a call, story by story
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  END,
  MessagesAnnotation,
  ParentCommand,
  START,
  StateGraph,
  entrypoint,
  getConfig,
  task,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { fork } from "@stratigraph/branch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  batch,
  createJournal,
  replayTrail,
  transaction,
  type Effects,
  type Journal,
  type Replay,
} from "../src/index.ts";
import { asks, call, receipts as answers, says } from "./support/effects.ts";
import { savers } from "./support/places.ts";

// A call may end with a Command for a graph around it: it happened, and whoever makes it again is sent on as it was.

const sum = Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] });
/** How a node is retried. */
const once = { maxAttempts: 2, initialInterval: 1, jitter: false, logWarning: false };
const begins = { messages: [{ role: "user", content: "begin" }] };

/** A till: a graph that is paid, and sends the graph around it to where it ships. */
function till() {
  const paid: string[] = [];
  const graph = new StateGraph(Annotation.Root({ order: Annotation<string>, id: Annotation<string> }))
    .addNode("charge", ({ order, id }) => {
      paid.push(order);
      const receipts = [`receipt ${paid.length}`];
      const messages = id === undefined ? [] : [new ToolMessage({ content: order, tool_call_id: id })];
      return new Command({ graph: Command.PARENT, update: { receipts, messages }, goto: "ship" });
    })
    .addEdge(START, "charge")
    .compile();
  return { graph, paid };
}

/** A node that ships, and breaks as often as told. */
function shipping() {
  const here = { breaks: 0, shipped: [] as string[][] };
  const ship = ({ receipts }: { receipts: string[] }) => {
    if (here.breaks > 0) {
      here.breaks -= 1;
      throw new Error("nobody ships it");
    }
    here.shipped.push(receipts);
    return {};
  };
  return { here, ship };
}

/** Where an agent's tool is a till. Beside it another tool looks, and fails as often as told. */
function shop(journal: Journal, saver: Opened["saver"], effects: Effects = "once") {
  const { graph: tillGraph, paid } = till();
  const { here, ship } = shipping();
  const looks = { fails: 0, looked: 0 };
  const sell = tool(
    async ({ order }: { order: string }, config) => {
      const { id } = (config as { toolCall: { id: string } }).toolCall;
      return await tillGraph.invoke({ order, id }, config);
    },
    { name: "sell", schema: z.object({ order: z.string() }) },
  );
  const look = tool(
    async () => {
      looks.looked += 1;
      if (looks.fails > 0) {
        looks.fails -= 1;
        throw Object.assign(new Error("it is dark"), { certain: true });
      }
      return "seen";
    },
    { name: "look", schema: z.object({}) },
  );
  const build = (by: Journal, on = saver, beside = false) =>
    new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, receipts: sum, ...by.channel }))
      .addNode("agent", (state) => {
        const message = asks(
          call("sell", { order: "apples" }),
          ...(beside ? [{ name: "look", args: {} }] : []),
        );
        return { messages: [message], ...by.next(state, message) };
      })
      .addNode(
        "tools",
        new ToolNode(by.tools([sell, look], { sell: effects, look: "once" }), { handleToolErrors: false }),
        { retryPolicy: once, ends: ["ship"] },
      )
      .addNode("ship", ship)
      .addNode("end", () => ({ messages: [says("done")] }))
      .addEdge(START, "agent")
      .addEdge("agent", "tools")
      .addEdge("ship", "end")
      .addEdge("end", END)
      .compile({ checkpointer: on });
  return { build, graph: build(journal), paid, here, looks };
}

type Opened = Awaited<ReturnType<(typeof savers)[number][1]>>;
type At = { configurable?: Record<string, unknown> };
interface Graph {
  getStateHistory(at: At): AsyncIterable<{ next: string[]; config: At }>;
}

/** The checkpoint before a node, in the thread's newest line. */
async function before(graph: Graph, config: At, node: string): Promise<At> {
  for await (const state of graph.getStateHistory(config)) if (state.next.includes(node)) return state.config;
  throw new Error(`no ${node}`);
}

const thread = () => ({ configurable: { thread_id: crypto.randomUUID() } });

describe.each(savers)("a call that ends with a Command for the graph around it, on %s", (_name, open) => {
  let opened: Opened;
  let journal: Journal;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "parent-command-"));
    opened = await open();
    journal = createJournal(opened.saver);
  });
  afterAll(async () => {
    await journal.end();
    await opened.close();
    rmSync(folder, { recursive: true });
  });

  const statuses = async ({ configurable }: ReturnType<typeof thread>) =>
    (await journal.calls(configurable.thread_id)).map(({ tool: name, status }) => `${name} ${status}`);

  it.each(["once", "idempotent", "none"] as const)(
    "of a tool with the effects %s: it pays once over time travel, and its graph is sent on each time",
    async (effects) => {
      const { graph, paid, here } = shop(journal, opened.saver, effects);
      const config = thread();
      const first = await graph.invoke(begins, config);
      expect(first.receipts).toEqual(["receipt 1"]);
      for (const node of ["tools", "agent"]) {
        const again = await graph.invoke(null, await before(graph as never, config, node));
        expect(again.receipts).toEqual(["receipt 1"]);
        // The answer is that to the call which asks now.
        expect(answers(again.messages)).toEqual(["apples"]);
        expect(again.messages.at(-1)!.text).toBe("done");
      }
      expect(here.shipped).toEqual([["receipt 1"], ["receipt 1"], ["receipt 1"]]);
      expect(paid).toEqual(["apples"]);
      expect(await statuses(config)).toEqual(["sell succeeded"]);
    },
  );

  it("a fork of before it is given it, too", async () => {
    const { graph, paid, here } = shop(journal, opened.saver);
    const config = thread();
    await graph.invoke(begins, config);
    const { configurable } = await before(graph as never, config, "agent");
    const copy = thread();
    const point = {
      threadId: config.configurable.thread_id,
      checkpointId: configurable!["checkpoint_id"] as string,
    };
    await fork(opened.saver, point, { to: copy.configurable.thread_id });
    expect((await graph.invoke(null, copy)).receipts).toEqual(["receipt 1"]);
    expect(here.shipped).toHaveLength(2);
    expect(paid).toEqual(["apples"]);
  });

  it("a node that is retried, as the tool beside it failed, is sent on by what was paid", async () => {
    const { build, paid, here, looks } = shop(journal, opened.saver);
    const graph = build(journal, opened.saver, true);
    let config = thread();
    // It is up to the machine which of the two ends first: a sale that is aborted is another story.
    for (let attempt = 0; !(await statuses(config)).includes("sell succeeded"); attempt += 1) {
      expect(attempt).toBeLessThan(50);
      config = thread();
      looks.fails = 3;
      paid.length = 0;
      await graph.invoke(begins, config).catch((error: Error) => expect(error.message).toBe("it is dark"));
    }
    looks.fails = 0;
    const { receipts } = await graph.invoke(null, await before(graph as never, config, "tools"));
    expect(receipts).toEqual(["receipt 1"]);
    expect(here.shipped.at(-1)).toEqual(["receipt 1"]);
    expect(paid).toEqual(["apples"]);
  });

  it("a failure of the node that it was sent to doesn't pay again, wherever the run goes on", async () => {
    const { graph, paid, here } = shop(journal, opened.saver);
    const config = thread();
    here.breaks = 2;
    await expect(graph.invoke(begins, config)).rejects.toThrow("nobody ships it");
    await expect(graph.invoke(null, config)).rejects.toThrow("nobody ships it");
    await graph.invoke(null, config);
    await graph.invoke(null, await before(graph as never, config, "tools"));
    expect(here.shipped).toEqual([["receipt 1"], ["receipt 1"]]);
    expect(paid).toEqual(["apples"]);
  });

  it("a replay is sent on as the recorded run was, and runs nothing", async () => {
    const { graph, build, paid, here } = shop(journal, opened.saver);
    const config = thread();
    const { thread_id: threadId } = config.configurable;
    const recorded = await graph.invoke(begins, config);
    const file = join(folder, "trail.jsonl");
    await journal.export(threadId, file);
    for (const replay of [await journal.replay(threadId), await replayTrail(file)]) {
      const replayed = build(replay as Replay as unknown as Journal);
      const { receipts, messages } = await replay.follow(() => replayed.invoke(begins, thread()));
      expect(receipts).toEqual(recorded.receipts);
      expect(answers(messages)).toEqual(["apples"]);
      expect(replay.calls.map(({ outcome }) => outcome)).toEqual(["recorded"]);
      expect(replay.unused()).toEqual([]);
    }
    expect(here.shipped).toHaveLength(3);
    expect(paid).toEqual(["apples"]);
  });

  const Plain = Annotation.Root({ order: Annotation<string>, receipts: sum });

  it("of a plain node: it lets it through, and each of its attempts catches the same one", async () => {
    const { graph: tillGraph, paid } = till();
    const { here, ship } = shipping();
    const caught: ParentCommand[] = [];
    let breaks = 3;
    const graph = new StateGraph(Plain)
      .addNode("begin", () => ({}))
      .addNode(
        "sell",
        async ({ order }, config) => {
          try {
            return await journal.run(config, { id: "charge", args: { order } }, () =>
              tillGraph.invoke({ order }, config),
            );
          } catch (error) {
            caught.push(error as ParentCommand);
            if ((breaks -= 1) >= 0) throw new Error("the line was cut", { cause: error });
            throw error;
          }
        },
        { retryPolicy: once, ends: ["ship"] },
      )
      .addNode("ship", ship)
      .addEdge(START, "begin")
      .addEdge("begin", "sell")
      .addEdge("ship", END)
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await expect(graph.invoke({ order: "pears" }, config)).rejects.toThrow("the line was cut");
    expect((await graph.invoke(null, config)).receipts).toEqual(["receipt 1"]);
    const commands = caught.map(({ command: { graph, update, goto, resume } }) => [
      graph,
      update,
      goto,
      resume,
    ]);
    expect(caught.map((error) => error instanceof ParentCommand)).toEqual([true, true, true, true]);
    expect(caught[1]!.command).toBeInstanceOf(Command);
    for (const command of commands) expect(command).toEqual(commands[0]);
    // In another branch the task has another name, and so has its graph.
    const travelled = await graph.invoke(null, await before(graph as never, config, "begin"));
    expect(travelled.receipts).toEqual(["receipt 1"]);
    expect(here.shipped).toEqual([["receipt 1"], ["receipt 1"]]);
    expect(paid).toEqual(["pears"]);
    expect(await statuses(config)).toEqual(["charge succeeded"]);
  });

  it("of a task of the functional API: each of its attempts is given the same one", async () => {
    const { graph: tillGraph, paid } = till();
    const goes: unknown[] = [];
    let breaks = 2;
    const charge = task("charge", async (order: string) => {
      const config = getConfig();
      try {
        return await journal.run(config, { id: "charge", args: { order } }, () =>
          tillGraph.invoke({ order }, config),
        );
      } catch (error) {
        const { graph, update, goto } = (error as ParentCommand).command;
        goes.push([graph === config.configurable!["checkpoint_ns"], update, goto]);
        if ((breaks -= 1) >= 0) throw new Error("the line was cut", { cause: error });
        return "sent on";
      }
    });
    const sells = entrypoint({ name: "sells", checkpointer: opened.saver }, async (order: string) => {
      return await charge(order);
    });
    const config = thread();
    await expect(sells.invoke("kiwis", config)).rejects.toThrow("the line was cut");
    await expect(sells.invoke(null, config)).rejects.toThrow("the line was cut");
    expect(await sells.invoke(null, config)).toBe("sent on");
    const going = [true, { receipts: ["receipt 1"], messages: [] }, ["ship"]];
    expect(goes).toEqual([going, going, going]);
    expect(paid).toEqual(["kiwis"]);
  });

  it("of the second graph that a task runs, which LangGraph gives a number: it names the graph as it did", async () => {
    const { graph: tillGraph, paid } = till();
    const named: string[] = [];
    const other = new StateGraph(Plain)
      .addNode("look", () => ({}))
      .addEdge(START, "look")
      .compile();
    const graph = new StateGraph(Plain)
      .addNode("begin", () => ({}))
      .addNode("sell", async ({ order }, config) => {
        await other.invoke({ order }, config);
        try {
          return await journal.run(config, { id: "charge" }, () => tillGraph.invoke({ order }, config));
        } catch (error) {
          const own = config.configurable!["checkpoint_ns"] as string;
          named.push((error as ParentCommand).command.graph!.replace(own, "the node"));
          return {};
        }
      })
      .addEdge(START, "begin")
      .addEdge("begin", "sell")
      .compile({ checkpointer: opened.saver });
    const config = thread();
    await graph.invoke({ order: "plums" }, config);
    await graph.invoke(null, await before(graph as never, config, "begin"));
    expect(named).toEqual(["the node|1", "the node|1"]);
    expect(paid).toEqual(["plums"]);
  });

  it.each([
    ["LangGraph", (command: Command) => new ParentCommand(command)],
    [
      "another copy of it",
      (command: Command) => Object.assign(new Error("up"), { name: "ParentCommand", command }),
    ],
  ])("thrown by a call itself, with the class of %s, for the graph around its own", async (_copy, made) => {
    const { here, ship } = shipping();
    let paid = 0;
    const inner = new StateGraph(Plain)
      .addNode("sell", async (_state, config) => {
        return await journal.run(config, { id: "charge" }, () => {
          paid += 1;
          const update = { receipts: [`receipt ${paid}`] };
          throw made(new Command({ graph: Command.PARENT, update, goto: "ship" }));
        });
      })
      .addEdge(START, "sell")
      .compile();
    const graph = new StateGraph(Plain)
      .addNode("begin", () => ({}))
      .addNode("inner", async (state, config) => await inner.invoke(state, config), {
        ends: ["ship"],
      })
      .addNode("ship", ship)
      .addEdge(START, "begin")
      .addEdge("begin", "inner")
      .addEdge("ship", END)
      .compile({ checkpointer: opened.saver });
    const config = thread();
    expect((await graph.invoke({ order: "figs" }, config)).receipts).toEqual(["receipt 1"]);
    const again = await graph.invoke(null, await before(graph as never, config, "begin"));
    expect(again.receipts).toEqual(["receipt 1"]);
    expect(here.shipped).toEqual([["receipt 1"], ["receipt 1"]]);
    expect(paid).toBe(1);
  });

  it("is what the trail tells of it, and what undoes it is given", async () => {
    const { graph: tillGraph, paid } = till();
    const sells = new StateGraph(Plain)
      .addNode(
        "sell",
        async (_state, given) => {
          const charge = { id: "charge", compensate: (result: unknown) => void undone.push(result) };
          return await journal.run(given, charge, () => tillGraph.invoke({ order: "dates" }, given));
        },
        { ends: ["ship"] },
      )
      .addNode("ship", () => ({}))
      .addEdge(START, "sell")
      .compile({ checkpointer: opened.saver });
    const undone: unknown[] = [];
    const config = thread();
    const { thread_id: threadId } = config.configurable;
    const blank = new StateGraph(Plain)
      .addNode("begin", () => ({}))
      .addEdge(START, "begin")
      .compile({ checkpointer: opened.saver });
    await blank.invoke({ order: "dates" }, config);
    const work = async (tx: { config: At }) => {
      await sells.invoke({ order: threadId }, tx.config);
      throw new Error("nobody ships it");
    };
    await expect(transaction(opened.saver, threadId, work, { journal })).rejects.toMatchObject({
      report: { kept: [], undone: [{ tool: "charge" }] },
    });
    const told: unknown[] = [];
    for await (const { event, result, tool: name } of journal.trail(threadId))
      if (event.type === "succeeded" && name === "charge") told.push(await result());
    const isIt = { lg_name: "Command", update: { receipts: ["receipt 1"], messages: [] }, goto: ["ship"] };
    expect(told).toMatchObject([isIt]);
    expect(undone).toMatchObject([isIt]);
    expect(paid).toEqual(["dates"]);
  });

  it.each(["once", "idempotent"] as const)(
    "of a batch's item with the effects %s: it is done",
    async (effects) => {
      let done = 0;
      const config = thread();
      const work = () => {
        done += 1;
        throw new ParentCommand(new Command({ graph: Command.PARENT, goto: "ship" }));
      };
      const options = { id: "all", key: (item: string) => item, effects };
      expect(await batch(journal, config, ["a", "b"], options, work)).toMatchObject({ done: 2, failed: 0 });
      expect(await batch(journal, config, ["a", "b"], options, work)).toMatchObject({ done: 2, before: 2 });
      expect(done).toBe(2);
    },
  );

  it("one that can't be kept happened nevertheless", async () => {
    let paid = 0;
    const config = thread();
    const charge = () =>
      journal.run(config, { id: "charge" }, () => {
        paid += 1;
        const update: { self?: unknown } = {};
        update.self = update;
        throw new ParentCommand(new Command({ graph: Command.PARENT, update }));
      });
    await expect(charge()).rejects.toBeInstanceOf(ParentCommand);
    await expect(charge()).rejects.toMatchObject({ code: "RESULT_NOT_KEPT" });
    expect(paid).toBe(1);
  });
});
