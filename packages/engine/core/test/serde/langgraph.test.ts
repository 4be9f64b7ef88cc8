import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Overwrite,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { StratigraphSerializer } from "../../src/serde/index.ts";
import { difference } from "./difference.ts";

const serde = new StratigraphSerializer();

async function roundTrip<T>(value: T): Promise<T> {
  return (await serde.loadsTyped(...serde.dumps(value))) as T;
}

/** A MemorySaver over our serializer that counts what it was given. */
function saver(): { checkpointer: MemorySaver; classes: Set<string> } {
  const classes = new Set<string>();
  const seen = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    classes.add(value.constructor?.name ?? "null");
    for (const inner of Object.values(value)) seen(inner);
  };
  const recording = {
    dumpsTyped: (value: unknown) => {
      seen(value);
      return serde.dumpsTyped(value);
    },
    loadsTyped: (type: string, data: Uint8Array | string) => serde.loadsTyped(type, data),
  };
  return { checkpointer: new MemorySaver(recording), classes };
}

describe("LangGraph's classes", () => {
  it("keep their class and their parts", async () => {
    const send = new Send("node", { when: new Date(0), message: new HumanMessage("hi") }, { timeout: 500 });
    const command = new Command({
      graph: Command.PARENT,
      update: { at: new Date(1) },
      resume: new Map([["id", 1n]]),
      goto: ["a", send],
    });
    const overwrite = new Overwrite([new HumanMessage("only")]);
    const loaded = await roundTrip({ send, command, overwrite, none: new Command({}) });
    expect(loaded.send).toBeInstanceOf(Send);
    expect(loaded.command).toBeInstanceOf(Command);
    expect(loaded.overwrite).toBeInstanceOf(Overwrite);
    expect(difference(loaded.send, send)).toBeUndefined();
    expect(difference(loaded.overwrite, overwrite)).toBeUndefined();
    expect(difference(loaded.overwrite.value, overwrite.value)).toBeUndefined();
    expect({ ...loaded.command }).toEqual({ ...command });
    expect(loaded.none).toEqual(new Command({}));
  });

  it("are plain data that LangGraph understands where its classes are not loaded", async () => {
    const stored = serde.dumps([new Send("n", { a: 1 }), new Overwrite(1), new Command({ goto: "x" })]);
    vi.resetModules();
    const { StratigraphSerializer: Fresh } = await import("../../src/serde/stratigraphSerializer.ts");
    const fresh = new Fresh();
    const plain = [{ node: "n", args: { a: 1 } }, { __overwrite__: 1 }, { lg_name: "Command", goto: ["x"] }];
    expect(fresh.loads(...stored)).toStrictEqual(plain);
    const given = new Fresh({ langGraph: { Send, Command, Overwrite } });
    expect(given.loads(...stored)).toMatchObject([
      expect.any(Send),
      expect.any(Overwrite),
      expect.any(Command),
    ]);
  });

  it("are understood by LangGraph when an official saver reads them", async () => {
    const official = new MemorySaver().serde;
    const [type, data] = serde.dumps([new Send("n", { a: 1 }), new Overwrite(1), new Command({ goto: "x" })]);
    expect(await official.loadsTyped(type, data)).toMatchObject([
      { node: "n", args: { a: 1 } },
      { __overwrite__: 1 },
      { lg_name: "Command", goto: ["x"] },
    ]);
  });
});

describe("graphs on a saver with this serializer", () => {
  it("fan out with Send, stop, and resume in the middle of the fan-out", async () => {
    const State = Annotation.Root({
      subjects: Annotation<string[]>,
      subject: Annotation<string>,
      jokes: Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
    });
    const { checkpointer, classes } = saver();
    const graph = new StateGraph(State)
      .addNode("joke", (state) => {
        if (state.subject === "cats")
          return { jokes: [`${state.subject} ${interrupt<string, string>("which?")}`] };
        return { jokes: [state.subject] };
      })
      .addConditionalEdges(START, (state) => state.subjects.map((subject) => new Send("joke", { subject })))
      .addEdge("joke", END)
      .compile({ checkpointer });
    const config = { configurable: { thread_id: "send" }, durability: "sync" as const };
    await graph.invoke({ subjects: ["cats", "dogs"] }, config);
    expect((await graph.getState(config)).tasks.some((task) => task.interrupts.length > 0)).toBe(true);
    const result = await graph.invoke(new Command({ resume: "black" }), config);
    expect(result.jokes).toEqual(["cats black", "dogs"]);
    expect(classes).toContain("Send");
  });

  it("overwrite, command, interrupt in a subgraph, time travel and failed nodes", async () => {
    class Unreachable extends Error {
      override name = "Unreachable";
    }
    let failing = true;
    const { checkpointer } = saver();
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("ask", () => ({
        messages: [new AIMessage(`got ${interrupt<object, string>({ at: new Date(0) })}`)],
      }))
      .addEdge(START, "ask")
      .compile();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode(
        "first",
        () => new Command({ update: { messages: [new AIMessage("first")] }, goto: "inner" }),
        {
          ends: ["inner"],
        },
      )
      .addNode("inner", inner)
      .addNode("last", () => {
        if (failing) throw new Unreachable("down", { cause: new Date(0) });
        return { messages: new Overwrite([new AIMessage("only")]) as unknown as BaseMessage[] };
      })
      .addEdge(START, "first")
      .addEdge("inner", "last")
      .compile({ checkpointer });
    const config = { configurable: { thread_id: "sub" }, durability: "sync" as const };
    await graph.invoke({ messages: [new HumanMessage("hi")] }, config);
    const stopped = await graph.getState(config, { subgraphs: true });
    expect(stopped.tasks[0]?.interrupts[0]?.value).toEqual({ at: new Date(0) });
    await expect(graph.invoke(new Command({ resume: "it" }), config)).rejects.toThrow("down");
    failing = false;
    const result = await graph.invoke(null, config);
    expect(result.messages.map((message: BaseMessage) => message.content)).toEqual(["only"]);
    expect(result.messages[0]).toBeInstanceOf(AIMessage);
    const contents: string[] = [];
    for await (const state of graph.getStateHistory(config)) {
      const { messages = [] } = state.values as { messages?: BaseMessage[] };
      contents.push(messages.map((message) => message.content).join());
    }
    expect(contents).toContain("hi,first,got it");
  });
});
