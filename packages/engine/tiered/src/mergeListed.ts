import { checkpointKey, type ListedCheckpoint } from "@stratigraph/core/tier";

/**
 * Merges two listings of one thread, both newest first. A checkpoint that is in both is taken from the first.
 * @param anew called once, when the first listing has ended. It may return a listing that replaces `second`; checkpoints in it that were
 * already listed are skipped.
 */
export async function* mergeListed(
  first: AsyncIterable<ListedCheckpoint>,
  second: AsyncIterable<ListedCheckpoint> | undefined,
  anew: () => Promise<AsyncIterable<ListedCheckpoint> | undefined>,
): AsyncGenerator<ListedCheckpoint> {
  const a = first[Symbol.asyncIterator]();
  let b = second?.[Symbol.asyncIterator]() ?? nothing;
  const told = new Told();
  try {
    let [nextA, nextB] = await Promise.all([a.next(), b.next()]);
    let isFirstOver = false;
    for (;;) {
      if (nextA.done === true && !isFirstOver) {
        isFirstOver = true;
        const other = await anew();
        if (other !== undefined) {
          told.lookUp();
          await b.return?.();
          b = other[Symbol.asyncIterator]();
          nextB = await b.next();
        }
      }
      if (nextA.done === true && nextB.done === true) return;
      const fromA =
        nextB.done === true ||
        (nextA.done !== true && nextA.value.record.checkpointId >= nextB.value.record.checkpointId);
      const listed: ListedCheckpoint = fromA ? nextA.value : nextB.value;
      if (told.isNew(listed)) yield listed;
      if (fromA) nextA = await a.next();
      else nextB = await b.next();
    }
  } finally {
    await Promise.allSettled([a.return?.(), b.return?.()]);
  }
}

/** The checkpoints of a thread that were already listed. */
class Told {
  readonly #keys: string[] = [];
  #known: Set<string> | undefined;
  /** The last id, which checkpoints of several namespaces may have, and the namespaces that came with it. */
  #id: string | undefined;
  #namespaces: string[] = [];

  /** From now on every checkpoint is looked up. Before that, duplicates are adjacent, because the two listings have the same order. */
  lookUp(): void {
    this.#known = new Set(this.#keys);
  }

  /** Whether a checkpoint wasn't listed yet. From then on it counts as listed. */
  isNew({ record }: ListedCheckpoint): boolean {
    const { checkpointId, namespace } = record;
    const key = checkpointKey(record);
    if (this.#known !== undefined) {
      const isKnown = this.#known.has(key);
      this.#known.add(key);
      return !isKnown;
    }
    if (checkpointId !== this.#id) {
      this.#id = checkpointId;
      this.#namespaces = [];
    }
    if (this.#namespaces.includes(namespace)) return false;
    this.#namespaces.push(namespace);
    this.#keys.push(key);
    return true;
  }
}

/** A listing that has ended. */
const nothing: AsyncIterator<ListedCheckpoint> = {
  next: async () => ({ done: true, value: undefined }),
};
