/** LangGraph's three ways to time the writing of checkpoints. */
export type Durability = "sync" | "async" | "exit";

/** All durability modes. */
export const DURABILITIES: readonly Durability[] = ["sync", "async", "exit"];

/**
 * With which durabilities a suite runs a test that takes one: with `"each"` of the three, or with one of them, `"in turn"` from
 * test to test.
 */
export type SuiteDurabilities = "each" | "in turn";

/** Gives, test by test, the durabilities it is run with. Where they come in turn, the suite's name says which is first. */
export const durabilitiesOf = (
  suite: string,
  which: SuiteDurabilities = "each",
): (() => readonly Durability[]) => {
  let turn = [...suite].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0);
  return () => {
    if (which === "each") return DURABILITIES;
    turn += 1;
    return DURABILITIES.filter((_, index) => index === turn % DURABILITIES.length);
  };
};
