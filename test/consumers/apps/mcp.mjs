import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { AIMessage } from "@langchain/core/messages";
import { Annotation, Command, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createJournal } from "@stratigraph/journal";
import { createCheckpointer } from "stratigraph";

// Tools of an MCP server in LangGraph, by LangChain's adapters, through the journal; and an MCP server whose own calls go through one. The
// server is killed in the middle of its calls.
const [generation, folder] = process.argv.slice(2);
const ledger = `ledger-${generation}`;
writeFileSync(ledger, "");
const dies = () => writeFileSync(`${ledger}.die`, "");
const happened = () => readFileSync(ledger, "utf8").trim().split("\n");

const checkpointer = await createCheckpointer({ memory: true });
const journal = createJournal(checkpointer);
const clients = [];

/** The graph of a process that has just started: it has its own client, which starts the server. */
async function agent() {
  const args = ["mcpBank.mjs", generation, ledger];
  const client = new MultiServerMCPClient({
    throwOnLoadError: true,
    mcpServers: { bank: { transport: "stdio", command: process.execPath, args } },
  });
  clients.push(client);
  const found = await client.getTools();
  assert.throws(
    () => journal.tools(found, { look: "none" }),
    /proposes "idempotent" \(idempotentHint: true\)/,
  );
  assert.throws(() => journal.tools(found, { pay: "once" }), /proposes "none" \(readOnlyHint: true\)/);
  const tools = journal.tools(found, { look: "none", pay: "once" });
  const script = [
    { name: "look", args: {} },
    { name: "pay", args: { amount: 7 } },
  ];
  return new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec, ...journal.channel }))
    .addNode("model", (state) => {
      const n = state.messages.filter((message) => message.getType() === "tool").length;
      if (script[n]?.name === "pay") dies();
      const message = new AIMessage({
        content: script[n] === undefined ? String(state.messages.at(-1).content) : "",
        tool_calls: script[n] === undefined ? [] : [{ ...script[n], id: `call-${n}`, type: "tool_call" }],
      });
      return { messages: [message], ...journal.next(state, message) };
    })
    .addNode("tools", new ToolNode(tools, { handleToolErrors: false }))
    .addEdge("__start__", "model")
    .addConditionalEdges("model", ({ messages }) =>
      messages.at(-1).tool_calls.length > 0 ? "tools" : "__end__",
    )
    .addEdge("tools", "model")
    .compile({ checkpointer });
}

const config = { configurable: { thread_id: "ada" } };
dies();
await assert.rejects((await agent()).invoke({ messages: [["human", "Pay 7."]] }, config), /look/);
assert.deepEqual(happened(), ["looked"]);
// The read is repeated. Then the server dies after it has paid, and a person is asked.
await assert.rejects((await agent()).invoke(null, config), /pay/);
assert.deepEqual(happened(), ["looked", "looked", "paid 7"]);
const asked = await (await agent()).invoke(null, config);
const [{ value: question }] = asked.__interrupt__;
assert.deepEqual([question.kind, question.tool, question.args], ["ambiguous", "pay", { amount: 7 }]);
const answer = new Command({ resume: { id: question.id, happened: true, result: "the receipt" } });
const { messages } = await (await agent()).invoke(answer, config);
assert.equal(messages.at(-1).content, "the receipt");
assert.deepEqual(happened(), ["looked", "looked", "paid 7"]);
for (const client of clients) await client.close();
await journal.end();

// The server's own journal, by a client of the first generation.
if (folder !== undefined) {
  const open = async () => {
    const client = new Client({ name: "test", version: "1" });
    const args = ["mcpBank.mjs", generation, ledger, folder];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    return client;
  };
  const pay = {
    name: "pay",
    arguments: { amount: 9 },
    _meta: { "dev.stratigraph/call": "invoice 9" },
  };
  const dying = await open();
  dies();
  await assert.rejects(dying.callTool(pay), /closed/i);
  const client = await open();
  const [told, looked] = [await client.callTool(pay), await client.callTool({ name: "look" })];
  assert.match(told.content[0].text, /npx stratigraph answer bank \w{12} happened/);
  assert.equal(looked.content[0].text, "looked, entry 5");
  await client.close();
  assert.deepEqual(happened().slice(3), ["paid 9", "looked"]);
}
console.log("paid once");
