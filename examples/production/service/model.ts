import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { documentText } from "./documents.ts";

/** What the agent asks a model: the conversation and the ids of the documents that were found. */
export type Model = (
  messages: readonly BaseMessage[],
  documentIds: readonly string[],
  signal: AbortSignal | undefined,
) => Promise<AIMessage>;

/**
 * The model of the service: a real one where MODEL names it, such as MODEL=openai:gpt-5-mini with the package @langchain/openai and a
 * key, otherwise one that needs no network and always answers the same.
 * @param refund the tool that it may call
 */
export async function chooseModel(refund: unknown): Promise<Model> {
  const name = process.env["MODEL"];
  if (name === undefined) return fakeModel;
  const { initChatModel } = await import("langchain");
  const model = (await initChatModel(name)).bindTools([refund as never]);
  return async (messages, documentIds, signal) => {
    const texts = documentIds.map((id) => `[${id}] ${documentText(id)}`).join("\n");
    const system = `You answer customers of a shop. Name the documents that you use by their ids.\n${texts}`;
    const answer = await model.invoke(
      [{ role: "system", content: system }, ...messages],
      signal === undefined ? {} : { signal },
    );
    return answer as AIMessage;
  };
}

/** "Refund 20 EUR" calls the tool; anything else is answered with the documents. */
const fakeModel: Model = async (messages, documentIds) => {
  const last = messages.at(-1)!;
  if (last.getType() === "tool") return new AIMessage(`Done: ${last.text}`);
  const amount = /refund (\d+(?:\.\d+)?)/i.exec(last.text)?.[1];
  if (amount !== undefined)
    return new AIMessage({
      content: "",
      tool_calls: [
        { name: "refund", args: { amount: Number(amount) }, id: crypto.randomUUID(), type: "tool_call" },
      ],
    });
  const found = documentIds.map((id) => `${documentText(id)} [${id}]`).join(" ");
  return new AIMessage(found === "" ? "I found nothing about that." : found);
};
