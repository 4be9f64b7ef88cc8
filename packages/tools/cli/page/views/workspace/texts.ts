import type { OutputOf } from "../../../src/operations/index.ts";

export type Change = OutputOf<"workspace-log">["items"][number];
export type Author = Change["author"];

/** What a part of a workspace's view is given. */
export interface TabProps {
  readonly workspace: string;
  /** Grows whenever the workspace was changed: then everything is loaded anew. */
  readonly changes: number;
}

/** Who made a change, in a word. */
export function byText({ agent, node, thread, run }: Author): string {
  return agent ?? node ?? thread ?? run ?? "";
}

/** All that is known of who made a change. */
export function authorText({ agent, ...task }: Author): string {
  const known = Object.entries(task).map(([name, value]) => `${name} ${value}`);
  return [...(agent === undefined ? [] : [agent]), ...known].join(", ");
}

/** The parameters of an address that aren't empty. */
export function given<N extends string>(
  query: URLSearchParams,
  names: readonly N[],
): Partial<Record<N, string>> {
  const found = names.map((name) => [name, query.get(name) ?? ""] as const);
  return Object.fromEntries(found.filter(([, text]) => text !== "")) as Partial<Record<N, string>>;
}

/** TypeScript that reads a part of a workspace. */
export function codeOf(
  part: "items" | "log" | "diff" | "locks",
  { at, from, to }: Readonly<Partial<Record<string, string>>>,
): string {
  if (part === "log") return "for await (const change of workspace.log()) console.log(change);";
  if (part === "locks") return "const locks = await workspace.locks();";
  if (part === "items")
    return `const items = await ${at === undefined ? "workspace" : `(await workspace.at(${momentText(at)}))`}.search([]);`;
  const sides = [from, to].map((text) =>
    text === undefined ? "await workspace.version()" : momentText(text),
  );
  return `const sides = await Promise.all([${sides.join(", ")}].map((when) => workspace.at(when)));`;
}

/** A version, or a time. */
function momentText(text: string): string {
  return /^\d+$/.test(text) ? text : `new Date(${JSON.stringify(text)})`;
}
