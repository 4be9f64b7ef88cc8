import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import type { Script } from "./effects.ts";

/** A chat model that answers by a script. */
export class ScriptedModel extends BaseChatModel {
  asked = 0;
  readonly #script: Script;

  constructor(script: Script) {
    super({});
    this.#script = script;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(_tools?: unknown, _options?: unknown): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.asked += 1;
    const turn = messages.filter((message) => message.getType() === "ai").length;
    const message = this.#script(turn, this.asked, messages);
    return { generations: [{ text: String(message.content), message }] };
  }
}
