import { createRequire } from "node:module";
import * as esm from "@langchain/langgraph";
import type * as langchain from "@langchain/core/messages";
import { type BaseMessage, HumanMessage as OwnHumanMessage } from "@langchain/core/messages";
import { MemorySaver, TierSaver } from "@stratigraph/core";
import { MemoryTier } from "../../../src/memory/memoryTier.ts";
import { StratigraphSerializer } from "../../../src/serde/index.ts";
import { COPIES } from "./langChainCopies.ts";

const require = createRequire(import.meta.url);
/** The CommonJS build of LangGraph, as an application gets it that is CommonJS. */
const cjs = require("@langchain/langgraph") as typeof esm;
const { HumanMessage } = require("@langchain/core/messages") as typeof langchain;
const another = new Map(COPIES).get("1.4 as CommonJS")!.messages;
const older = new Map(COPIES).get("1.2 as CommonJS")!.messages;
const config = { configurable: { thread_id: "t" }, durability: "sync" as const };
const classOf = (value: unknown): unknown => Object.getPrototypeOf(value).constructor;

test("the builds are apart", () => {
  expect(cjs.Send).not.toBe(esm.Send);
  expect(HumanMessage).not.toBe(OwnHumanMessage);
});

test("a CommonJS graph whose messages are of two versions goes on where it was, with its own classes", async () => {
  const agent = (first: number) => (state: { messages: object[] }) => {
    const n = state.messages.length;
    const call = { id: `c${n}`, name: "look", args: { n }, type: "tool_call" as const };
    if (n % 3 === first)
      return { messages: [new another.AIMessage({ content: `answer ${n}`, tool_calls: [call] })] };
    return { messages: [new older.ToolMessage({ content: `found ${n}`, tool_call_id: `c${n - 1}` })] };
  };
  const open = (saver: TierSaver) =>
    new cjs.StateGraph(cjs.MessagesAnnotation)
      .addNode("agent", agent(1) as never)
      .addNode("tools", agent(1) as never)
      .addEdge(cjs.START, "agent")
      .addEdge("agent", "tools")
      .addEdge("tools", cjs.END)
      .compile({ checkpointer: saver as never });
  const tier = new MemoryTier();
  const graph = open(new TierSaver(tier));
  const seen: string[] = [];
  for (let turn = 0; turn < 12; turn++) {
    const text = `${"long enough to be compared part by part ".repeat(10)}${turn}`;
    const { messages } = await graph.invoke({ messages: [{ role: "user", content: text }] }, config);
    // As it is between turns: one of the messages that were read is changed in place.
    messages[0]!.additional_kwargs = { turn };
    seen.push(text);
  }
  const messages = (await graph.getState(config)).values.messages as BaseMessage[];
  expect(messages).toHaveLength(36);
  expect(messages.filter((message) => message.getType() === "human").map(({ content }) => content)).toEqual(
    seen,
  );
  expect(new Set(messages.map(classOf))).toEqual(
    new Set([HumanMessage, another.AIMessage, older.ToolMessage]),
  );
  expect(messages[0]).toBeInstanceOf(HumanMessage);

  // Another process: it has put nothing yet, so that only an option can say which classes are the application's.
  const reader = open(new TierSaver(tier));
  const read = (await reader.getState(config)).values.messages as BaseMessage[];
  expect(read.map((message) => message.toDict())).toEqual(messages.map((message) => message.toDict()));
  expect(classOf(read[0])).toBe(OwnHumanMessage);
  const serde = new StratigraphSerializer({ langChain: another });
  const told = (await open(new TierSaver(tier, { serde })).getState(config)).values.messages as BaseMessage[];
  expect(told.every((message) => Object.values(another).includes(classOf(message) as never))).toBe(true);
});

describe("LangGraph's classes of another build", () => {
  it("come back as those that were stored, and as the loaded ones before", async () => {
    const serde = new StratigraphSerializer();
    const values = [
      new cjs.Send("n", { a: 1 }, { timeout: 5 }),
      new cjs.Overwrite(1),
      new cjs.Command({ goto: ["x"] }),
    ];
    const stored = new StratigraphSerializer().dumps(values);
    const classes = async (): Promise<unknown[]> =>
      ((await serde.loadsTyped(...stored)) as object[]).map(classOf);
    expect(await classes()).toEqual([esm.Send, esm.Overwrite, esm.Command]);
    const read = await serde.loadsTyped(...stored);
    serde.dumps(read);
    expect(await classes()).toEqual([esm.Send, esm.Overwrite, esm.Command]);
    serde.dumps([...(read as object[]), ...values]);
    expect(await classes()).toEqual([cjs.Send, cjs.Overwrite, cjs.Command]);
    expect(serde.loads(...stored)).toStrictEqual(values);
    const given = new StratigraphSerializer({ langGraph: esm });
    given.dumps(values);
    expect((given.loads(...stored) as object[]).map(classOf)).toEqual([esm.Send, esm.Overwrite, esm.Command]);
  });

  it("are not somebody's classes that only have their names", async () => {
    class Send {
      lg_name = "Send";
      node: string;
      constructor(readonly args: unknown) {
        this.node = "always";
      }
    }
    class Command extends cjs.Command {
      constructor() {
        super({ resume: "always" });
      }
    }
    const serde = new StratigraphSerializer();
    serde.dumps([new Send({ a: 1 }), new Command()]);
    const values = [new esm.Send("n", { a: 1 }), new esm.Command({ update: { a: 1 } })];
    expect(await serde.loadsTyped(...new StratigraphSerializer().dumps(values))).toStrictEqual(values);
  });

  it.each([
    ["another process", "fresh"],
    ["the same process", "same"],
  ])("fan out, stop, and go on in the middle of the fan-out, in %s", async (_name, which) => {
    const State = cjs.Annotation.Root({
      subjects: cjs.Annotation<string[]>,
      subject: cjs.Annotation<string>,
      jokes: cjs.Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
      only: cjs.Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
    });
    const tier = new MemoryTier();
    const saver = new TierSaver(tier);
    const open = (checkpointer: TierSaver) =>
      new cjs.StateGraph(State)
        .addNode("joke", (state) => {
          if (state.subject !== "cats") return { jokes: [state.subject] };
          const told = `cats ${cjs.interrupt<string, string>("which?")}`;
          return { jokes: [told], only: new cjs.Overwrite([told]) as never };
        })
        .addNode("last", () => new cjs.Command({ update: { jokes: ["the end"] } }))
        .addConditionalEdges(cjs.START, (state) =>
          state.subjects.map((subject) => new cjs.Send("joke", { subject })),
        )
        .addEdge("joke", "last")
        .addEdge("last", cjs.END)
        .compile({ checkpointer: checkpointer as never });
    await open(saver)
      .invoke({ subjects: ["cats", "dogs"] }, config)
      .catch(() => undefined);
    const again = which === "same" ? saver : new TierSaver(tier);
    const stopped = await open(again).getState(config);
    expect(stopped.tasks.some((task) => task.interrupts.length > 0)).toBe(true);
    const tuple = (await again.getTuple(config))!;
    const sends = (tuple.checkpoint.channel_values["__pregel_tasks"] ?? []) as object[];
    const Expected = which === "same" ? cjs.Send : esm.Send;
    expect(sends.map(classOf)).toEqual([Expected, Expected]);
    const result = await open(again).invoke(new cjs.Command({ resume: "black" }), config);
    expect(result.jokes).toEqual(["cats black", "dogs", "the end"]);
  });
});

test("a MemorySaver of one copy serves graphs of both builds, one after another", async () => {
  const saver = new MemorySaver();
  for (const build of [cjs, esm, cjs]) {
    const graph = new build.StateGraph(build.MessagesAnnotation)
      .addNode("speak", () => ({ messages: [{ role: "assistant", content: "yes" }] }))
      .addEdge(build.START, "speak")
      .compile({ checkpointer: saver as never });
    await graph.invoke({ messages: [{ role: "user", content: "hi" }] }, config);
  }
  const tuple = (await saver.getTuple(config))!;
  const messages = tuple.checkpoint.channel_values["messages"] as object[];
  expect(messages).toHaveLength(6);
  // The application uses our own copy too: then all are instances of that.
  expect(classOf(messages[0])).toBe(OwnHumanMessage);
});
