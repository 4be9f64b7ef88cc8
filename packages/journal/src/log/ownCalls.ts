/** How the names begin under which the journal records calls of its own. */
export const ownPrefix = "stratigraph:";

/** How the names begin under which compensations of tools are recorded. */
export const compensationPrefix = `${ownPrefix}compensate:`;

/** Whether a call tells of a transaction, and is no tool's. */
export function isBookkeeping(tool: string): boolean {
  return tool.startsWith(ownPrefix) && !tool.startsWith(compensationPrefix);
}
