import { LRUCache } from "lru-cache";

/**
 * Entries by key, of which the one used longest ago is forgotten when there are more than `entries`. It takes memory as it fills:
 * lru-cache's own `max` takes room for all of them at once, and a saver that may remember 100,000 threads took 25 ms and 5 MB to
 * be made.
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
