/** Prefix of the names under which the journal records its own calls. */
export const ownPrefix = "stratigraph:";

/** Prefix of the names under which compensations of tools are recorded. */
export const compensationPrefix = `${ownPrefix}compensate:`;

/** Whether a call only records a transaction, and isn't a tool's call. */
export function isBookkeeping(tool: string): boolean {
  return tool.startsWith(ownPrefix) && !tool.startsWith(compensationPrefix);
}
