import type { InputOf } from "../../../src/operations/index.ts";

/** The way in which a channel that both sides changed is settled. */
export type Choice =
  | { readonly kind: "ours" | "theirs" | "base" | "union" | "reducer" }
  | { readonly kind: "hand"; readonly text: string };

export type Choices = Readonly<Record<string, Choice>>;

/** The input of a merge with these choices. A value that isn't JSON leaves its channel open. */
export function settling(
  strategy: string,
  choices: Choices,
): Required<Pick<InputOf<"merge">, "strategy">> & Pick<InputOf<"merge">, "answers"> {
  const strategies = strategy === "" ? [] : [strategy];
  const answers: Record<string, "base" | { value: unknown }> = {};
  for (const [channel, choice] of Object.entries(choices)) {
    // The strategy for all channels must not settle a channel that has an answer.
    const isAnswered = choice.kind === "base" || choice.kind === "hand";
    strategies.push(`${channel}=${isAnswered ? "manual" : choice.kind}`);
    if (choice.kind === "base") answers[channel] = "base";
    if (choice.kind !== "hand") continue;
    try {
      answers[channel] = { value: JSON.parse(choice.text) as unknown };
    } catch {
      // The channel stays open, and the form shows the error.
    }
  }
  return { strategy: strategies, answers };
}
