/** An agent of deepagents with a subagent: a second process goes on where the first one stopped, with the files and the list of things to do. */
import { strict as assert } from "node:assert";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { createDeepAgent } from "deepagents";
import { todoListMiddleware } from "langchain";
import { createCheckpointer } from "stratigraph";

/** Stands for a model: it answers by a script, and remembers nothing. */
class Scripted extends BaseChatModel {
  constructor(readonly answers: readonly (AIMessage | string)[]) {
    super({});
  }
  override _llmType() {
    return "scripted";
  }
  override bindTools() {
    return this;
  }
  override async _generate(messages: BaseMessage[]) {
    const answer = this.answers[messages.filter((each) => each.getType() === "ai").length] ?? "done";
    const message = typeof answer === "string" ? new AIMessage(answer) : answer;
    return { generations: [{ text: message.text, message }] };
  }
}

const asks = (name: string, args: Record<string, unknown>) =>
  new AIMessage({ content: "", tool_calls: [{ name, args, id: `call-${name}`, type: "tool_call" }] });

const checkpointer = await createCheckpointer({ memory: true });

/** The agent, without the many parameters of its type. */
interface Agent {
  invoke(input: unknown, config: object): Promise<unknown>;
  getState(config: object): Promise<{
    readonly tasks: readonly { readonly interrupts: readonly { readonly value?: unknown }[] }[];
    readonly values: { readonly files: object; readonly messages: readonly BaseMessage[] };
  }>;
}

/** What each process builds anew. */
function agent(): Agent {
  const scout = new Scripted([
    asks("write_file", { file_path: "/notes/rome.md", content: "The Forum opens at nine.\n" }),
    "Notes are in /notes/rome.md",
  ]);
  return createDeepAgent({
    model: new Scripted([
      asks("write_todos", { todos: [{ content: "plan Rome", status: "in_progress" }] }),
      asks("task", { description: "Look up Rome", subagent_type: "scout" }),
      asks("write_file", { file_path: "/plan.md", content: "Monday: the Forum\n" }),
      "The plan is ready",
    ]) as never,
    middleware: [todoListMiddleware()] as never,
    subagents: [
      { name: "scout", description: "looks things up", systemPrompt: "Look it up.", model: scout as never },
    ],
    // A person looks at it before the plan is written.
    interruptOn: { write_file: true } as never,
    checkpointer,
  }) as unknown as Agent;
}

const config = { configurable: { thread_id: "rome" } };
await agent().invoke({ messages: [new HumanMessage("Plan a trip to Rome")] }, config);

for (let asked = 0; ; asked += 1) {
  const { tasks, values } = await agent().getState(config);
  if (tasks.length === 0) {
    assert.deepEqual(Object.keys(values.files).toSorted(), ["/notes/rome.md", "/plan.md"]);
    assert.equal(values.messages.at(-1)!.text, "The plan is ready");
    assert.ok(asked > 0);
    break;
  }
  const approve = { decisions: [{ type: "approve" }] };
  console.log("A person is asked:", JSON.stringify(tasks.flatMap(({ interrupts }) => interrupts)[0]?.value));
  await agent().invoke(new Command({ resume: approve }), config);
}

// The subagent's messages are in a namespace of the thread. `stratigraph subagents rome --one scout` shows them.
const namespaces = new Set<string>();
for await (const { record } of checkpointer.tier.list({ threadId: "rome", recordsOnly: true }))
  namespaces.add(record.namespace);
const subagent = [...namespaces].find((each) => each.startsWith("tools:"));
const transcript = await checkpointer.getTuple({
  configurable: { ...config.configurable, checkpoint_ns: subagent },
});
const said = (transcript!.checkpoint.channel_values["messages"] as BaseMessage[]).map(({ text }) => text);
console.log("The scout's messages:", said);
assert.equal(said.at(-1), "Notes are in /notes/rome.md");

await checkpointer.end();
