import { randomUUID } from "node:crypto";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import type { TierSaver } from "@stratigraph/core";
import { createDeepAgent, type BackendProtocolV2 } from "deepagents";

interface ToolCall {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** What a model of a test calls next: after it has got these results. Nothing: it is done. */
export type Script = (results: readonly string[]) => readonly ToolCall[] | Promise<readonly ToolCall[]>;

/** A chat model that follows a script. */
class ScriptedModel extends BaseChatModel {
  readonly #script: Script;

  constructor(script: Script) {
    super({});
    this.#script = script;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const results = messages.filter((message) => message.getType() === "tool") as ToolMessage[];
    const calls = await this.#script(results.map(({ text }) => text));
    const message = new AIMessage({
      content: calls.length === 0 ? "done" : "",
      tool_calls: calls.map((call) => ({ ...call, id: `call-${randomUUID()}`, type: "tool_call" as const })),
    });
    return { generations: [{ text: message.text, message }] };
  }
}

/** Lets callers go on once so many have come. */
export function meeting(count: number): () => Promise<void> {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return async () => {
    if ((count -= 1) === 0) open();
    await opened;
  };
}

export const path = "/report.md";

export function edit(from: string, to: string): ToolCall {
  return { name: "edit_file", args: { file_path: path, old_string: from, new_string: to } };
}

export function write(content: string): ToolCall {
  return { name: "write_file", args: { file_path: path, content } };
}

export const read: ToolCall = { name: "read_file", args: { file_path: path } };

/** Runs a deep agent whose subagents begin at the same time, and returns the tools' results that they saw last. */
export async function runTeam(
  backend: BackendProtocolV2,
  saver: TierSaver,
  team: Record<string, Script>,
): Promise<Record<string, readonly string[]>> {
  const seen: Record<string, readonly string[]> = {};
  const agent = createDeepAgent({
    model: new ScriptedModel((results) =>
      results.length > 0
        ? []
        : Object.keys(team).map((name) => ({
            name: "task",
            args: { description: "improve the report", subagent_type: name },
          })),
    ),
    subagents: Object.entries(team).map(([name, script]) => ({
      name,
      description: name,
      systemPrompt: name,
      model: new ScriptedModel((results) => {
        seen[name] = results;
        return script(results);
      }),
    })),
    backend,
    checkpointer: saver,
  });
  await agent.invoke(
    { messages: [new HumanMessage("Improve it.")] },
    { configurable: { thread_id: `thread-${randomUUID()}` } },
  );
  return seen;
}
