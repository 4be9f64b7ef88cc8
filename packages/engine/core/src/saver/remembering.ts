import { LRUCache } from "lru-cache";

/**
 * A map that forgets the least recently used entry when there are more than `entries`. Its memory grows as it fills, whereas
 * lru-cache's own `max` allocates all of it at once, which cost 25 ms and 5 MB per saver for 100,000 threads.
 * @param forgotten is called with the key of an entry that had to make room
 */
export function remembering<V extends {}>(
  entries: number,
  forgotten?: (key: string) => void,
): LRUCache<string, V> {
  return new LRUCache<string, V>({
    maxSize: entries,
    sizeCalculation: () => 1,
    ...(forgotten === undefined
      ? {}
      : { dispose: (_value, key, reason) => (reason === "evict" ? forgotten(key) : undefined) }),
  });
}
