/** What people read where LangGraph, and our JSON, say that something is interrupted: a node asked a question. */
export const waitsText = "waits for an answer";

/** How something ended, for people: the word of the JSON, except for what waits. */
export function outcomeText(outcome: string): string {
  return outcome === "interrupted" ? waitsText : outcome;
}
