import type { InputOf } from "../../../src/operations/index.ts";

/** What settles a channel that both sides changed. */
export type Choice =
  | { readonly kind: "ours" | "theirs" | "base" | "union" | "reducer" }
  | { readonly kind: "hand"; readonly text: string };

export type Choices = Readonly<Record<string, Choice>>;

/** The input of a merge that settles channels like this. A value that isn't JSON leaves its channel open. */
export function settling(
  strategy: string,
  choices: Choices,
): Required<Pick<InputOf<"merge">, "strategy">> & Pick<InputOf<"merge">, "answers"> {
  const strategies = strategy === "" ? [] : [strategy];
  const answers: Record<string, "base" | { value: unknown }> = {};
  for (const [channel, choice] of Object.entries(choices)) {
    // A channel that is answered mustn't be settled by what is said for all.
    const isAnswered = choice.kind === "base" || choice.kind === "hand";
    strategies.push(`${channel}=${isAnswered ? "manual" : choice.kind}`);
    if (choice.kind === "base") answers[channel] = "base";
    if (choice.kind !== "hand") continue;
    try {
      answers[channel] = { value: JSON.parse(choice.text) as unknown };
    } catch {
      // Still open: the form says what is wrong with it.
    }
  }
  return { strategy: strategies, answers };
}
