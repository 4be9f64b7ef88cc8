import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import type { World } from "./world.ts";

/** What a model answers to messages: it remembers nothing, so a new process answers as the old one did. */
export type Script = (messages: readonly BaseMessage[]) => AIMessage;

/** A chat model that answers by a script. To be asked is a place where its process may die. */
export class ScriptedModel extends BaseChatModel {
  readonly #world: World;
  readonly #script: Script;

  constructor(world: World, script: Script) {
    super({});
    this.#world = world;
    this.#script = script;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    await this.#world.reached();
    const message = this.#script(messages);
    return { generations: [{ text: String(message.content), message }] };
  }
}

/** A message that asks for calls. Their ids tell them apart in traces and questions. */
export function asks(...calls: readonly (readonly [name: string, args: object, id?: string])[]): AIMessage {
  return new AIMessage({
    content: "",
    tool_calls: calls.map(([name, args, id]) => ({
      name,
      args: args as Record<string, unknown>,
      id: id ?? `call-${name}-${JSON.stringify(args).length}`,
      type: "tool_call" as const,
    })),
  });
}

export function says(text: string): AIMessage {
  return new AIMessage(text);
}

/** How many answers of a model messages have. */
export function turnsIn(messages: readonly BaseMessage[]): number {
  return messages.filter((message) => message.getType() === "ai").length;
}

/** How many results of a tool messages have. */
export function resultsIn(messages: readonly BaseMessage[], name: string): number {
  return messages.filter((message) => message.getType() === "tool" && message.name === name).length;
}

/** Answers one after another, by how many answers the messages have. */
export function inTurn(...answers: readonly ((messages: readonly BaseMessage[]) => AIMessage)[]): Script {
  return (messages) => (answers[turnsIn(messages)] ?? (() => says("done")))(messages);
}
