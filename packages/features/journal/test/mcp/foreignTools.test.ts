import { AIMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { Annotation, Command, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MemorySaver } from "@stratigraph/core";
import { expect, it } from "vitest";
import { createJournal } from "../../src/index.ts";

// Tools as @langchain/mcp-adapters 1.1 makes them: `pnpm consumers mcp` runs the real ones, on a server that is killed.

let down = false;
const happened: string[] = [];

/** A tool of a server that dies behind its effect. */
function toolOf(name: string, annotations?: object): DynamicStructuredTool {
  return new DynamicStructuredTool({
    name,
    description: "",
    schema: { type: "object", properties: { amount: { type: "number" } } },
    responseFormat: "content_and_artifact",
    metadata: { annotations },
    func: () => {
      happened.push(name);
      if (down) throw Object.assign(new Error("Error calling tool: closed"), { name: "ToolException" });
      return Promise.resolve([`${name} answered`, []]);
    },
  });
}

it("a tool without effects is refused by what its server proposes; the table decides: the table's calls happen once, or a person is asked", async () => {
  const checkpointer = new MemorySaver();
  const journal = createJournal(checkpointer);
  const found = [
    toolOf("look", { readOnlyHint: true }),
    toolOf("pay", { readOnlyHint: false, idempotentHint: true }),
    toolOf("mute"),
  ];
  expect(() => journal.tools(found, { pay: "once", mute: "once" })).toThrow(
    /tools\.look.*proposes "none" \(readOnlyHint: true\)/su,
  );
  expect(() => journal.tools(found, { look: "none", mute: "once" })).toThrow(
    /tools\.pay.*proposes "idempotent" \(idempotentHint: true\)/su,
  );
  expect(() => journal.tools(found, { look: "none", pay: "once" })).toThrow(/tools\.mute(?!.*proposes)/su);
  const tools = journal.tools(found, { look: "none", pay: "once", mute: "once" });
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("model", (state) => {
      const calls = ["look", "pay"].map((name) => ({ name, args: { amount: 1 }, id: name }));
      const message = new AIMessage({ content: "", tool_calls: calls });
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools, { handleToolErrors: false }))
    .addEdge(START, "model")
    .addEdge("model", "tools")
    .compile({ checkpointer });
  const config = { configurable: { thread_id: "ada" } };
  down = true;
  await expect(graph.invoke({ messages: [] }, config)).rejects.toThrow("closed");
  expect(happened.toSorted()).toEqual(["look", "pay"]);
  down = false;
  const asked = await graph.invoke(null, config);
  const [{ value } = { value: {} }] = (asked as { __interrupt__?: { value: { id?: string } }[] })
    .__interrupt__!;
  expect(value).toMatchObject({ kind: "ambiguous", tool: "pay" });
  const resume = { id: value.id, happened: true, result: "the receipt" };
  const { messages } = await graph.invoke(new Command({ resume }), config);
  expect(messages.slice(-2).map(({ content }) => content)).toEqual(["look answered", "the receipt"]);
  expect(happened.filter((name) => name === "pay")).toEqual(["pay"]);
  expect(happened.filter((name) => name === "look").length).toBeGreaterThan(1);
  await journal.end();
});
