import { deedOf, deeds, type DeedName } from "./deeds.ts";
import type { Beginning, Pair } from "./play.ts";
import type { StorageName } from "./storages.ts";

const names = Object.keys(deeds) as DeedName[];
/** Storages that have an archive. */
const stacks: ReadonlySet<StorageName> = new Set<StorageName>([
  "hot>warm>memory",
  "hot>warm>pack",
  "trusted",
  "redis>postgres>pack",
  "redis>postgres>pack, trusted",
]);
const beginnings: readonly Beginning[] = ["in use", "archived", "new"];

function isPossible(pair: Pair): boolean {
  const needsArchive =
    pair.beginning === "archived" || pair.deeds.some((name) => deedOf(name).archives === true);
  return stacks.has(pair.storage) || !needsArchive;
}

/**
 * Every combination in which a pair of deeds can be played. The storage changes fastest, so that the first few combinations already
 * cover many storages.
 */
function combinationsOf(both: readonly [DeedName, DeedName], storages: readonly StorageName[]): Pair[] {
  const combinations: Pair[] = [];
  for (const durability of ["sync", "async", "exit"] as const)
    for (const beginning of beginnings)
      for (const channel of ["plain", "delta"] as const)
        for (const storage of storages)
          combinations.push({ deeds: both, storage, channel, durability, beginning });
  return combinations.filter(isPossible);
}

/** Every pair of deeds, also each deed with itself, in `count` combinations. Different pairs start at different combinations. */
export function everyPair(storages: readonly StorageName[], count: number): Pair[] {
  const all = names.flatMap((first, index) =>
    names.slice(index).map((second) => combinationsOf([first, second], storages)),
  );
  return all.flatMap((combinations, index) =>
    // Steps of a prime number go through all combinations before one comes again.
    Array.from(
      { length: Math.min(count, combinations.length) },
      (_, n) => combinations[(index * 7 + n * 37) % combinations.length]!,
    ),
  );
}

/** How a pair is named in lists. */
export function nameOf({ deeds: both, storage, channel, durability, beginning }: Pair): string {
  return `${both.join(" + ")} | ${storage}, ${channel}, ${durability}, ${beginning}`;
}
