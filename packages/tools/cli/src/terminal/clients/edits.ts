/** A piece of a text, and what takes its place. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Makes edits, which are in the order of their places. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let at = 0;
  let made = "";
  for (const edit of edits) {
    made += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return made + text.slice(at);
}

/** How a text ends its lines. */
export function lineEndOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? "\n";
}

/** The whitespace at the beginning of the line of a place. */
export function indentAt(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1, at))![0];
}

/** What a client starts. */
export interface ServerEntry {
  readonly type?: "stdio";
  readonly command: string;
  readonly args: readonly string[];
}

/** Whether an existing entry of this name is for a server at a URL: then nothing of it can stay. */
export function isRemote(entry: Readonly<Record<string, unknown>>): boolean {
  return ["url", "serverUrl", "httpUrl"].some((key) => Object.hasOwn(entry, key));
}

/** Whether a value is an object with names. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
