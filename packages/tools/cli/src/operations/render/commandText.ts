import { shown } from "./columns.ts";

/**
 * A command line of `stratigraph` to suggest to people. A word that begins with "-" isn't taken for an option.
 * @param words ids and the like, which are other people's texts
 * @param flags options, as a person types them
 */
export function commandText(name: string, words: readonly string[], flags?: string): string {
  const given = words.map(shellWord);
  const rest = words.some((word) => word.startsWith("-")) ? [flags, "--", ...given] : [...given, flags];
  return ["stratigraph", name, ...rest.filter((part) => part !== undefined)].join(" ");
}

/** A text as one word of a shell. Control characters are shown, not passed on. */
function shellWord(text: string): string {
  return /^[\w.:@~-]+$/.test(text) ? text : `'${shown(text).replaceAll("'", String.raw`'\''`)}'`;
}
