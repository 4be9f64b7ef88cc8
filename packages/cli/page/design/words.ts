/** What people read where LangGraph, and our JSON, say that something is interrupted: a node asked a question. */
export const waitsText = "waits for an answer";

/** How something ended, for people: the words of the JSON, but for what waits. */
export function outcomeText(outcome: string): string {
  return outcome === "interrupted" ? waitsText : outcome;
}

/** As {@link waitsText}, where it stands alone. */
export const waitsTitle = "Waits for an answer";
