import type { ListedCheckpoint } from "@stratigraph/core";

/** Merges two listings of one thread, both newest first. A checkpoint that is in both is taken from the first. */
export async function* mergeListed(
  first: AsyncIterable<ListedCheckpoint>,
  second: AsyncIterable<ListedCheckpoint>,
): AsyncGenerator<ListedCheckpoint> {
  const a = first[Symbol.asyncIterator]();
  const b = second[Symbol.asyncIterator]();
  try {
    let [nextA, nextB] = await Promise.all([a.next(), b.next()]);
    /** The last id yielded. Checkpoints of several namespaces may have it: `yielded` has the namespaces that came already. */
    let id: string | undefined;
    let yielded = new Set<string>();
    while (nextA.done !== true || nextB.done !== true) {
      const fromA =
        nextB.done === true ||
        (nextA.done !== true && nextA.value.record.checkpointId >= nextB.value.record.checkpointId);
      const listed: ListedCheckpoint = fromA ? nextA.value : nextB.value;
      if (listed.record.checkpointId !== id) {
        id = listed.record.checkpointId;
        yielded = new Set();
      }
      if (!yielded.has(listed.record.namespace)) {
        yielded.add(listed.record.namespace);
        yield listed;
      }
      if (fromA) nextA = await a.next();
      else nextB = await b.next();
    }
  } finally {
    await Promise.allSettled([a.return?.(), b.return?.()]);
  }
}
