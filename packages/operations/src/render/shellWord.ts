import { shown } from "./columns.ts";

/** A text as one word of a shell. Control characters are shown, not passed on. */
export function shellWord(text: string): string {
  return /^[\w.:@~-]+$/.test(text) ? text : `'${shown(text).replaceAll("'", String.raw`'\''`)}'`;
}
