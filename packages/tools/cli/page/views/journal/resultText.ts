import { inline } from "../../values/describe.ts";

/** The result of a call on one line: of a tool's message only the content, and a text without quotes. */
export function resultText(result: unknown, most: number): string {
  const { content, name, status } = Object(result) as Readonly<Record<string, unknown>>;
  const isMessage = content !== undefined && (name !== undefined || status !== undefined);
  const told = isMessage ? content : result;
  if (typeof told !== "string") return inline(told, most);
  const line = told.replaceAll(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
