import { isQuick, reachedBy } from "./testFiles.mjs";

/**
 * The kinds of test files, and the seconds that all files of a kind may take together, with few rounds on two idle cores where three run
 * at once. A file is of the first kind that fits.
 */
const KINDS = [
  { name: "in memory", seconds: 105, fits: isQuick },
  { name: "in a browser", seconds: 45, fits: (file) => reachedBy(file).has("playwright-core") },
  {
    name: "processes that are killed",
    seconds: 115,
    fits: (file) => reachedBy(file).has("test/servers/children.ts"),
  },
  { name: "on servers", seconds: 510, fits: () => true },
];

/** What the files of a whole run took, by kind, and the ten that took longest. @param withBudgets those of few rounds */
export function timesLines(files, withBudgets) {
  const taken = new Map(KINDS.map(({ name }) => [name, { files: 0, seconds: 0 }]));
  for (const { name, seconds } of files) {
    const kind = taken.get(KINDS.find(({ fits }) => fits(name)).name);
    kind.files += 1;
    kind.seconds += seconds;
  }
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10);
  return [
    `Time of the test files, of which three run at once${withBudgets ? ", and its budget on two idle cores" : ""}:`,
    ...KINDS.map(({ name, seconds: budget }) => {
      const { files, seconds } = taken.get(name);
      if (!withBudgets) return `${inColumns(seconds, "s")}  ${files} files ${name}`;
      return `${inColumns(seconds, `of ${budget} s`)}  ${files} files ${name}${seconds > budget ? ": over its budget" : ""}`;
    }),
    "The slowest files:",
    ...slowest.map(({ name, seconds }) => `${inColumns(seconds, "s")}  ${name}`),
  ].join("\n");
}

function inColumns(seconds, unit) {
  return `${seconds.toFixed(0).padStart(5)} ${unit}`;
}
