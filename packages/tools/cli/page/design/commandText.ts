/** Options by their names without dashes. Absent and empty ones are left out; a list repeats the option. */
type Options = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/**
 * A command line of `stratigraph`, to be pasted into a shell. Other people choose ids, paths and the like. A text that begins
 * with "-" must not be taken for an option such as `--config`, which evaluates a file. So such words come after "--", and such
 * values are joined to their option with "=": the program accepts its own options after those of a command, too.
 * @param words the arguments that aren't options, such as a thread's id; absent and empty ones are left out
 */
export function commandText(
  name: string,
  words: readonly (string | undefined)[],
  options: Options = {},
): string {
  const flags = Object.entries(options).flatMap(([option, value]) =>
    [value].flat().flatMap((each) => flagOf(`--${option}`, each)),
  );
  const given = words.filter((word) => word !== undefined && word !== "") as string[];
  const rest = given.some(isDashed)
    ? [...flags, "--", ...given.map(shellWord)]
    : [...given.map(shellWord), ...flags];
  return ["stratigraph", name, ...rest].join(" ");
}

function flagOf(option: string, value: string | boolean | undefined): string[] {
  if (value === undefined || value === "" || value === false) return [];
  if (value === true) return [option];
  return [`${option}${isDashed(value) ? "=" : " "}${shellWord(value)}`];
}

function isDashed(text: string): boolean {
  return text.startsWith("-");
}

function shellWord(text: string): string {
  return /^[\w.:@~/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
