/** The page's words for "interrupted" in LangGraph and in our JSON: a node asked a question. */
export const waitsText = "waits for an answer";

/** How something ended, for people: the JSON's word, except for "interrupted". */
export function outcomeText(outcome: string): string {
  return outcome === "interrupted" ? waitsText : outcome;
}

/** As {@link waitsText}, with a capital letter, for use by itself. */
export const waitsTitle = "Waits for an answer";
