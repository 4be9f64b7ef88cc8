/** The node that LangGraph's path of a task names, from 1.5 on; undefined for a task that was sent, and for older paths. */
export function nodeOfPath(taskPath: string): string | undefined {
  const pull = "~__pregel_pull, ";
  return taskPath.startsWith(pull) ? taskPath.slice(pull.length) : undefined;
}

/** The position among the Sends of a task that was sent, by its path. */
export function placeOfPath(taskPath: string): number | undefined {
  const place = /^~__pregel_push, (\d+), 0+$/.exec(taskPath)?.[1];
  return place === undefined ? undefined : Number(place);
}
