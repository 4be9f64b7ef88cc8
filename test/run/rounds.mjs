const SWITCH = "STRATIGRAPH_TEST_ROUNDS";

/** `"few"` or `"all"`: how much tests do of what they do again and again. Throws on anything else. */
export function askedRounds() {
  const asked = process.env[SWITCH] ?? "few";
  if (asked !== "few" && asked !== "all")
    throw new Error(`${SWITCH} is "${asked}". Set it to "few", which is the default, or "all".`);
  return asked;
}

/** Says which rounds were run, and how to run the others. */
export function roundsLine() {
  return askedRounds() === "all"
    ? "Rounds: all"
    : `Rounds: few. ${SWITCH}=all runs every round, and each durability on every saver.`;
}
