import type { OutputOf } from "../../../src/operations/index.ts";

export type Change = OutputOf<"workspace-log">["items"][number];
export type Author = Change["author"];

/** Who made a change, in a word. */
export function byText({ agent, node, thread, run }: Author): string {
  return agent ?? node ?? thread ?? run ?? "";
}

/** All that is known of who made a change. */
export function authorText({ agent, ...task }: Author): string {
  const known = Object.entries(task).map(([name, value]) => `${name} ${value}`);
  return [...(agent === undefined ? [] : [agent]), ...known].join(", ");
}
