import { strict as assert } from "node:assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { AIMessage } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Agent, MCPServerStreamableHttp, Runner, setTracingDisabled, Usage } from "@openai/agents-core";
import { createMcp } from "@stratigraph/cli/mcp";
import { createWorkspace } from "@stratigraph/workspace";
import { createCheckpointer } from "stratigraph";

// Two agents in two frameworks share one memory: bob is one of OpenAI's Agents SDK, ada one of LangGraph. Their models are scripts: each
// step is made from the results so far.

const checkpointer = await createCheckpointer({ memory: true });
const workspace = createWorkspace(checkpointer, "team");
const mcp = createMcp({ saver: checkpointer, allow: ["read", "write"] });
const server = createServer(async (incoming, outgoing) => {
  const { method, headers } = incoming;
  const body = method === "POST" ? await text(incoming) : null;
  const request = new Request(`http://127.0.0.1${incoming.url}`, { method, headers, body });
  const response = await mcp.fetch(request, { trusted: true, workspace: "team" });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const url = (agent) => `http://127.0.0.1:${server.address().port}/?agent=${agent}`;

const item = { namespace: ["shared", "facts"], key: "drink" };

/** What bob's model does, by how many results there are. */
const bobs = [
  () => ["memory_put", { ...item, value: { anna: "tea" }, ifVersion: 0, reason: "anna said so" }],
  // Later he writes on what he knows, which ada has changed meanwhile.
  ([put]) => ["memory_put", { ...item, value: { anna: "coffee" }, ifVersion: put.version }],
];

/** What ada's model does. */
const adas = [
  () => ["memory_search", { query: "tea" }],
  ([{ items }]) => [
    "memory_put",
    {
      ...item,
      value: { ...items[0].value, kind: "green" },
      ifVersion: items[0].version,
      reason: `${items[0].author.agent} knew`,
    },
  ],
];

class AdasModel extends BaseChatModel {
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const results = messages
      .filter((each) => each.getType() === "tool")
      .map((each) => JSON.parse(each.text).structuredContent);
    const [name, args] = adas[results.length]?.(results) ?? [];
    const calls = name === undefined ? [] : [{ name, args, id: `ada-${results.length}`, type: "tool_call" }];
    const message = new AIMessage({
      content: name === undefined ? JSON.stringify(results.at(-1)) : "",
      tool_calls: calls,
    });
    return { generations: [{ text: message.text, message }] };
  }
}

/** Bob's model makes one step in each run. */
class BobsModel {
  results = [];
  async getResponse({ input }) {
    const last = Array.isArray(input) ? input.at(-1) : undefined;
    const usage = new Usage();
    if (last?.type !== "function_call_result") {
      const [name, args] = bobs[this.results.length](this.results);
      const call = {
        type: "function_call",
        callId: `bob-${this.results.length}`,
        name,
        arguments: JSON.stringify(args),
        status: "completed",
      };
      return { usage, output: [call] };
    }
    const said = typeof last.output === "string" ? last.output : (last.output.text ?? last.output[0].text);
    this.results.push(JSON.parse(said));
    const content = [{ type: "output_text", text: said }];
    return { usage, output: [{ type: "message", role: "assistant", status: "completed", content }] };
  }
  getStreamedResponse() {
    throw new Error("not asked for");
  }
}

setTracingDisabled(true);
const bobsMemory = new MCPServerStreamableHttp({ url: url("bob"), name: "memory" });
await bobsMemory.connect();
const adasMemory = new MultiServerMCPClient({ memory: { transport: "http", url: url("ada") } });
try {
  const bob = new Agent({
    name: "bob",
    instructions: "Remember.",
    model: new BobsModel(),
    mcpServers: [bobsMemory],
  });
  const runner = new Runner({ tracingDisabled: true });
  const told = JSON.parse((await runner.run(bob, "Anna drinks tea.")).finalOutput);
  assert.equal(told.ok, true);

  const ada = createReactAgent({ llm: new AdasModel({}), tools: await adasMemory.getTools(), checkpointer });
  const { messages } = await ada.invoke({ messages: ["Which tea?"] }, { configurable: { thread_id: "ada" } });
  assert.equal(JSON.parse(messages.at(-1).text).ok, true);

  const refused = JSON.parse((await runner.run(bob, "Anna drinks coffee.")).finalOutput);
  assert.equal(refused.ok, false);
  assert.deepEqual(refused.current.value, { anna: "tea", kind: "green" });

  const history = [];
  for await (const { author, reason } of workspace.history(item.namespace, item.key))
    history.push([author.agent, reason]);
  assert.deepEqual(history, [
    ["ada", "bob knew"],
    ["bob", "anna said so"],
  ]);
} finally {
  await Promise.all([bobsMemory.close(), adasMemory.close()]);
  server.close();
  server.closeAllConnections();
  await mcp.end();
  await checkpointer.end();
}
console.log("two agents in two frameworks shared one memory");
