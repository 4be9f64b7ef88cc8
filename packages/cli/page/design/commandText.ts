/** Options by their names without dashes. Absent and empty ones are left out; a list is the option several times. */
type Options = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/**
 * A command line of `stratigraph`, to be pasted into a shell. Ids, paths and the like are other people's texts: what begins
 * with "-" must not be taken for an option such as `--config`, which evaluates a file. So words stand behind "--", and values
 * are joined to the name of their option: the program looks for its own options behind those of its commands, too.
 * @param words what isn't an option, such as a thread's id; absent and empty ones are left out
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
