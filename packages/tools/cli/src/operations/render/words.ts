/** The words for what LangGraph and our JSON call interrupted: a node asked a question. */
export const waitsText = "waits for an answer";

/** How something ended, for people: the word of the JSON, except for "interrupted". */
export function outcomeText(outcome: string): string {
  return outcome === "interrupted" ? waitsText : outcome;
}
