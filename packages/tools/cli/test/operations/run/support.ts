import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  Annotation,
  END,
  MessagesAnnotation,
  START,
  StateGraph,
  interrupt,
  type LangGraphRunnableConfig,
} from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";

/** A model that streams a fixed answer word by word. */
class Echo extends BaseChatModel {
  _llmType(): string {
    return "echo";
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const text = this.#answer(messages);
    return { generations: [{ text, message: new AIMessage(text) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const word of this.#answer(messages).split(/(?<= )/)) {
      const chunk = new ChatGenerationChunk({
        text: word,
        message: new AIMessageChunk({ content: word, id: "a1" }),
      });
      yield chunk;
      await manager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  #answer(messages: BaseMessage[]): string {
    return `you said ${String(messages.at(-1)!.content)}`;
  }
}

const Trip = Annotation.Root({
  ...MessagesAnnotation.spec,
  by: Annotation<string>(),
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** What the nodes of a {@link trip} do beside their work. */
export interface Doing {
  /** Called by the node `book`, which fails as this does. */
  book?: () => void | Promise<void>;
}

/** A graph that talks, chooses a way by what is in the channel `by`, asks, and books. */
export function trip(checkpointer: TierSaver, doing: Doing = {}) {
  const model = new Echo({});
  return new StateGraph(Trip)
    .addNode("talk", async ({ messages }) => ({ messages: [await model.invoke(messages)], log: ["talk"] }))
    .addNode("choose", ({ by }) => ({ log: [`choose ${by}`] }))
    .addNode("rail", (_state, config: LangGraphRunnableConfig) => {
      config.writer?.({ seats: 12 });
      return { log: ["rail"] };
    })
    .addNode("air", () => ({ log: ["air"] }))
    .addNode("ask", () => ({ log: [`answer ${String(interrupt({ question: "Book it?" }))}`] }))
    .addNode("book", async () => {
      await doing.book?.();
      return { log: ["book"] };
    })
    .addEdge(START, "talk")
    .addEdge("talk", "choose")
    .addConditionalEdges("choose", ({ by }) => (by === "air" ? "air" : "rail"), ["air", "rail"])
    .addEdge("rail", "ask")
    .addEdge("air", "ask")
    .addEdge("ask", "book")
    .addEdge("book", END)
    .compile({ checkpointer });
}

/** Two nodes that ask at the same time. */
export function twoQuestions(checkpointer: TierSaver) {
  return new StateGraph(Trip)
    .addNode("one", () => ({ log: [`one ${String(interrupt("one?"))}`] }))
    .addNode("two", () => ({ log: [`two ${String(interrupt("two?"))}`] }))
    .addEdge(START, "one")
    .addEdge(START, "two")
    .compile({ checkpointer });
}
