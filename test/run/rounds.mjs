const SWITCH = "STRATIGRAPH_TEST_ROUNDS";
const KNOWN = ["few", "all", "soak"];

/** `"few"`, `"all"` or `"soak"`: how much tests do of what they do again and again. Throws on anything else. */
export function askedRounds() {
  const asked = process.env[SWITCH] ?? "few";
  if (!KNOWN.includes(asked))
    throw new Error(`${SWITCH} is "${asked}". Set it to "few", which is the default, "all" or "soak".`);
  return asked;
}

/** Says which rounds were run, and how to run the others. */
export function roundsLine() {
  const asked = askedRounds();
  return asked === "few"
    ? `Rounds: few. ${SWITCH}=all runs every round, each durability on every saver, and the files that few rounds leave out.`
    : `Rounds: ${asked}`;
}
