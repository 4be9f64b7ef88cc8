import { AIMessage } from "@langchain/core/messages";

/** What the agent knows. */
export const documents: readonly string[] = [
  "The museum opens at nine. It closes at six, and on Fridays at eight.",
  "A ticket costs twelve euros. Children pay five.",
  "The café is on the roof. It serves soup at noon.",
];

/** The documents that have a word of the question, with their numbers. */
export function retrieve(question: string): string {
  const words = question.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
  return documents
    .map((text, n) => `[${n + 1}] ${text}`)
    .filter((text) => words.some((word) => text.toLowerCase().includes(word)))
    .join("\n");
}

/**
 * In the place of a language model: it does what the prompt asks for, and no more. Without being told, it is long-winded, and invents what
 * the documents don't say.
 */
export function answer(prompt: string): AIMessage {
  const found = /\[\d+\][^\n]*/.exec(prompt)?.[0];
  const isBrief = prompt.includes("one sentence");
  let text: string;
  if (found === undefined)
    text = prompt.includes("you don't know") ? "I don't know." : "It is on the second floor, I think.";
  else if (isBrief) text = `${found.slice(0, found.indexOf(".") + 1)}`;
  else text = `That is a good question. ${found} I hope that this helps you to enjoy your visit. ${found}`;
  if (prompt.includes("as JSON")) text = JSON.stringify({ answer: text.replace(/\[\d+\] /g, "") });
  const [input, output] = [tokensOf(prompt), tokensOf(text)];
  const usage_metadata = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  // The types of AIMessage don't let a literal name its usage.
  return new AIMessage({ content: text, usage_metadata } as never);
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}
