import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { MemorySaver } from "@stratigraph/core";
import { beforeAll, expect, test } from "vitest";
import { rendered, run } from "./support/run.ts";
import { team } from "./support/team.ts";
import { testContext } from "./support/testContext.ts";

// Graphs that run subgraphs as createAgent, deepagents and the supervisor do, without their packages: test/family has those.

interface Subagent {
  readonly namespace: string;
  readonly agent: string;
  readonly node: string;
  readonly call?: { readonly id: string; readonly name: string };
  readonly parent: { readonly namespace: string; readonly checkpoint: string };
  readonly checkpoint: string;
  readonly waits?: string;
  readonly says?: { readonly by: string; readonly text: string };
}
interface Found {
  readonly items: readonly Subagent[];
  readonly messages?: { readonly value: unknown };
  readonly cursor?: string;
}

const saver = new MemorySaver();
const context = testContext(saver);
const config = { configurable: { thread_id: "ada" } };

beforeAll(async () => {
  await team(saver).invoke({ messages: [new HumanMessage("Find drinks")] }, config);
});

const ask = async (input: Record<string, unknown> = {}) =>
  await run<Found>("subagents", { thread: "ada", ...input }, context);

test("each is told with its name and the call that it was run for, also while it waits", async () => {
  const { items, cursor } = await ask();
  expect(cursor).toBeUndefined();
  const told = items.map(({ agent, call, waits, says, node }) => ({
    agent,
    id: call?.id,
    waits,
    says,
    node,
  }));
  expect(told.toSorted((a, b) => (a.id! < b.id! ? -1 : 1))).toEqual([
    {
      agent: "critic",
      id: "call-cocoa",
      waits: "interrupt",
      says: { by: "human", text: "find cocoa" },
      node: "tools",
    },
    { agent: "scout", id: "call-coffee", says: { by: "ai", text: "find coffee: found" }, node: "tools" },
    { agent: "scout", id: "call-tea", says: { by: "ai", text: "find tea: found" }, node: "tools" },
  ]);
  const text = rendered("subagents", { thread: "ada", items });
  expect(text).toMatch(/AGENT +CALL +NAMESPACE/);
  expect(text).toMatch(/scout +task call-tea +tools:[\da-f-]{36}/);
});

test("one is named by its call, its name, its namespace or the beginning of that, and shows its messages", async () => {
  const { items } = await ask();
  const tea = items.find(({ call }) => call?.id === "call-tea")!;
  for (const one of ["call-tea", tea.namespace, tea.namespace.slice(0, 20)]) {
    const found = await ask({ one });
    expect(found.items).toEqual([tea]);
    expect(rendered("subagents", { thread: "ada", ...found })).toMatch(
      /human: find tea.*\n.*ai: find tea: found/,
    );
  }
  expect((await ask({ one: "critic" })).items[0]!.call!.id).toBe("call-cocoa");
});

test("a name that several have is refused with their calls, and one that none has says how to list them", async () => {
  await expect(ask({ one: "scout" })).rejects.toMatchObject({
    code: "INVALID_ADDRESS",
    message: expect.stringMatching(/"scout", which 2 have.*call-(tea|coffee), call-(tea|coffee)/),
  });
  await expect(ask({ one: "tools:" })).rejects.toMatchObject({ code: "INVALID_ADDRESS" });
  await expect(ask({ one: "nobody" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(run("subagents", { thread: "nobody" }, context)).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("pages don't miss any, and the checkpoint that called them lists them too", async () => {
  const pages: string[] = [];
  for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n += 1) {
    const page = await ask({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    pages.push(...page.items.map(({ namespace }) => namespace));
    cursor = page.cursor;
  }
  const { items } = await ask();
  expect(pages).toEqual(items.map(({ namespace }) => namespace));
  const { parent } = items[0]!;
  const at = { at: "ada", checkpoint: parent.checkpoint, subagents: true };
  const shown = await run<{ subagents: unknown }>("show", at, context);
  expect(shown.subagents).toEqual(items);
  expect(rendered("show", shown)).toContain("THE NEXT STEP RAN");
  const before = await run<{ subagents: unknown }>(
    "show",
    { ...at, at: "ada@step:0", checkpoint: undefined },
    context,
  );
  expect(before.subagents).toEqual([]);
  const history = await run("history", { thread: "ada", namespaces: true }, context);
  for (const namespace of pages) expect(rendered("history", history)).toContain(namespace);
});

test("what is redacted isn't shown", async () => {
  const redacted = testContext(saver, { redact: ["messages.*.content"] });
  const found = await run<Found>("subagents", { thread: "ada", one: "call-tea" }, redacted);
  expect(JSON.stringify(found)).not.toContain("find tea");
  const hidden = testContext(saver, { redact: ["messages"] });
  expect(JSON.stringify(await run("subagents", { thread: "ada" }, hidden))).not.toContain("find");
});

test("agents that are nodes are told by their nodes, with the handoff that leads to them, and within each other", async () => {
  const inner = new StateGraph(MessagesAnnotation)
    .addNode("say", () => ({ messages: [new AIMessage("deep")] }))
    .addEdge(START, "say")
    .compile();
  const outer = new StateGraph(MessagesAnnotation).addNode("inner", inner).addEdge(START, "inner").compile();
  const transfer = { id: "h1", name: "transfer_to_sales_desk", args: {}, type: "tool_call" as const };
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("desk", () => ({
      messages: [
        new AIMessage({ content: "", tool_calls: [transfer] }),
        new ToolMessage({ content: "transferred", tool_call_id: "h1" }),
      ],
    }))
    .addNode("Sales desk", outer)
    .addEdge(START, "desk")
    .addEdge("desk", "Sales desk")
    .compile({ checkpointer: saver });
  await graph.invoke({ messages: [new HumanMessage("Sell")] }, { configurable: { thread_id: "bob" } });
  const { items } = await run<Found>("subagents", { thread: "bob" }, context);
  const desk = items.find(({ node }) => node === "Sales desk")!;
  expect(desk).toMatchObject({ agent: "Sales desk", call: { id: "h1" }, parent: { namespace: "" } });
  const deep = items.find(({ node }) => node === "inner")!;
  expect(deep).toMatchObject({ agent: "inner", parent: { namespace: desk.namespace } });
  expect(deep.call).toBeUndefined();
});

test("they are listed without their calls if the checkpoint that called them isn't there", async () => {
  const { items } = await ask();
  const { tier } = saver;
  const list = tier.list.bind(tier);
  const gone = items[0]!.parent.checkpoint;
  tier.list = (query) => (query.checkpointId === gone ? (async function* () {})() : list(query));
  const left = await ask();
  tier.list = list;
  expect(left.items.map(({ call, agent }) => [call, agent])).toEqual(items.map(() => [undefined, "tools"]));
});
