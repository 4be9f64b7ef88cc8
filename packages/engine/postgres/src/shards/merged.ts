/**
 * Merges sorted sequences into one. Takes from each only what is needed next; ending the iteration ends all of them.
 * @param precedes whether `a` comes before `b`; if neither does, the item of the earlier sequence comes first
 */
export async function* merged<T>(
  sequences: readonly AsyncIterable<T>[],
  precedes: (a: T, b: T) => boolean,
): AsyncGenerator<T> {
  const iterators = sequences.map((sequence) => sequence[Symbol.asyncIterator]());
  try {
    const next = await Promise.all(iterators.map((iterator) => iterator.next()));
    for (;;) {
      let first: { readonly at: number; readonly value: T } | undefined;
      for (const [at, { done, value }] of next.entries())
        if (done !== true && (first === undefined || precedes(value as T, first.value)))
          first = { at, value: value as T };
      if (first === undefined) return;
      yield first.value;
      next[first.at] = await iterators[first.at]!.next();
    }
  } finally {
    await Promise.all(iterators.map((iterator) => iterator.return?.()));
  }
}
