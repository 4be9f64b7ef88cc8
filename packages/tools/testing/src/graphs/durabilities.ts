/** LangGraph's three modes that determine when checkpoints are written. */
export type Durability = "sync" | "async" | "exit";

/** All durability modes. */
export const DURABILITIES: readonly Durability[] = ["sync", "async", "exit"];

/**
 * The durabilities with which a suite runs a test that takes one. `"each"`: with all three. `"in turn"`: with one of them, the next test
 * with the next one.
 */
export type SuiteDurabilities = "each" | "in turn";

/** Returns a function that returns the durabilities for the next test. If they come in turn, the suite's name determines the first one. */
export const durabilitiesOf = (
  suite: string,
  which: SuiteDurabilities = "each",
): (() => readonly Durability[]) => {
  let turn = turnOf(suite);
  return () => {
    if (which === "each") return DURABILITIES;
    turn += 1;
    return DURABILITIES.filter((_, index) => index === turn % DURABILITIES.length);
  };
};

/** Returns a function that returns whether the suite's next test runs, if only every nth test does. */
export const turnsOf = (suite: string, every = 1): (() => boolean) => {
  let turn = turnOf(suite);
  return () => {
    turn += 1;
    return turn % every === 0;
  };
};

/** The number at which a suite begins to take turns. The suite's name determines it, so that suites differ. */
const turnOf = (suite: string): number =>
  [...suite].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0);
