import { setTimeout as sleep } from "node:timers/promises";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { SimpleChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { END, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";

/** Stands for a model of a provider: says an answer word by word. */
class SlowModel extends SimpleChatModel {
  _llmType(): string {
    return "slow";
  }

  async _call([...messages]: BaseMessage[]): Promise<string> {
    const about = String(messages.at(-1)!.content);
    const days = Array.from({ length: 12 }, (_, n) => `On day ${n + 1} you walk.`);
    return `You asked: ${about} ${days.join(" ")} That is all.`;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const text of (await this._call(messages)).split(/(?<= )/)) {
      await sleep(Number(process.env["PACE"] ?? 50));
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
      yield chunk;
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const model = new SlowModel({});

/** Answers, and asks a person before it books something. */
export const agent = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("book", () => {
    const isAllowed = interrupt("Book the train for 20 EUR?") === "yes";
    return { messages: [new AIMessage(isAllowed ? "It is booked." : "I booked nothing.")] };
  })
  .addConditionalEdges(START, ({ messages }) =>
    String(messages.at(-1)!.content).includes("book") ? "book" : "answer",
  )
  .addEdge("answer", END)
  .addEdge("book", END)
  .compile();
