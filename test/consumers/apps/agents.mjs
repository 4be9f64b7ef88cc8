import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createHandoffTool, createSwarm } from "@langchain/langgraph-swarm";
import { CompositeBackend, createDeepAgent, StateBackend, StoreBackend } from "deepagents";
import { createAgent, tool } from "langchain";
import { createRequire } from "node:module";
import { createCheckpointer } from "stratigraph";
import { createWorkspace } from "@stratigraph/workspace";
import { WorkspaceBackend } from "@stratigraph/workspace/deepagents";
import { z } from "zod";

// Agents of every kind on one storage. `agents.mjs tell` and `agents.mjs ask` are processes of their own, and each of them uses new
// threads: what the second one knows, it knows from the store.
const [step, folder] = process.argv.slice(2);

let models = 0;

/** A chat model that makes the calls of a script one after another, and then says what it was told last, or what it is to say. */
class ScriptedModel extends BaseChatModel {
  constructor(calls, says) {
    super({});
    Object.assign(this, { calls, says, prefix: `call-${(models += 1)}-` });
  }
  _llmType() {
    return "scripted";
  }
  bindTools() {
    return this;
  }
  async _generate(messages) {
    const results = messages.filter((message) => message.getType() === "tool");
    const mine = results.filter((message) => message.tool_call_id.startsWith(this.prefix));
    const call = this.calls[mine.length];
    const message =
      call === undefined
        ? new AIMessage(this.says ?? results.at(-1).content)
        : new AIMessage({
            content: "",
            tool_calls: [{ ...call, id: `${this.prefix}${mine.length}`, type: "tool_call" }],
          });
    return { generations: [{ text: String(message.content), message }] };
  }
}

const remember = tool(
  async ({ who, text }, { store }) => {
    await store.put(["memories", who], "drink", { text });
    return "remembered";
  },
  { name: "remember", schema: z.object({ who: z.string(), text: z.string() }) },
);
const recall = tool(
  async ({ who }, { store }) => {
    const found = await store.search(["memories", who], { query: "tea" });
    return found.map(({ value }) => value.text).join("; ");
  },
  { name: "recall", schema: z.object({ who: z.string() }) },
);

function callFor(who) {
  return step === "tell"
    ? { name: "remember", args: { who, text: `${who} drinks tea` } }
    : { name: "recall", args: { who } };
}

function deepAgent(storage, backend) {
  const path = "/memories/a.md";
  const calls =
    step === "tell"
      ? [{ name: "write_file", args: { file_path: path, content: "Anna drinks tea" } }]
      : [
          { name: "edit_file", args: { file_path: path, old_string: "tea", new_string: "green tea" } },
          { name: "read_file", args: { file_path: path } },
        ];
  return createDeepAgent({
    model: new ScriptedModel(calls),
    backend: new CompositeBackend(new StateBackend(), { "/memories/": backend }),
    ...storage,
  });
}

const agents = {
  createAgent: (storage) =>
    createAgent({ model: new ScriptedModel([callFor("anna")]), tools: [remember, recall], ...storage }),

  deepagents: (storage) => deepAgent(storage, new StoreBackend({ namespace: ["files"] })),

  // The half that is asked loads it as CommonJS does.
  workspace: (storage) => {
    const workspace = createWorkspace(storage.checkpointer, "team");
    const cjs = createRequire(import.meta.url)("@stratigraph/workspace/deepagents");
    const Backend = step === "tell" ? WorkspaceBackend : cjs.WorkspaceBackend;
    return deepAgent(storage, new Backend(workspace, { namespace: ["files"] }));
  },

  supervisor: (storage) => {
    const archivist = createReactAgent({
      name: "archivist",
      llm: new ScriptedModel([callFor("bob")]),
      tools: [remember, recall],
    });
    return createSupervisor({
      agents: [archivist],
      llm: new ScriptedModel([{ name: "transfer_to_archivist", args: {} }], "done"),
      outputMode: "full_history",
    }).compile(storage);
  },

  swarm: (storage) => {
    const greeter = createReactAgent({
      name: "greeter",
      llm: new ScriptedModel([{ name: "transfer_to_archivist", args: {} }]),
      tools: [createHandoffTool({ agentName: "archivist" })],
    });
    const archivist = createReactAgent({
      name: "archivist",
      llm: new ScriptedModel([callFor("carl")]),
      tools: [remember, recall],
    });
    return createSwarm({ agents: [greeter, archivist], defaultActiveAgent: "greeter" }).compile(storage);
  },
};

const checkpointer = await createCheckpointer(process.env.DATABASE_URL || { pglite: folder });
const storage = { checkpointer, store: checkpointer.store() };
const answers = {};
for (const [kind, open] of Object.entries(agents)) {
  const config = { configurable: { thread_id: `${kind}-${step}` }, recursionLimit: 50 };
  const { messages } = await open(storage).invoke(
    { messages: [new HumanMessage("What does she drink?")] },
    config,
  );
  const results = messages.filter((message) => message.getType() === "tool");
  answers[kind] = results.findLast(({ name }) => !name.startsWith("transfer_")).text;
}
console.log(JSON.stringify(answers));
await checkpointer.end();
