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

function areDone(pair: Pair): boolean {
  const needsArchive =
    pair.beginning === "archived" || pair.deeds.some((name) => deedOf(name).archives === true);
  return stacks.has(pair.storage) || !needsArchive;
}

/** Everything that a pair of deeds can be done on: each storage first, so that a few of these are many kinds. */
function waysOf(both: readonly [DeedName, DeedName], storages: readonly StorageName[]): Pair[] {
  const ways: Pair[] = [];
  for (const durability of ["sync", "async", "exit"] as const)
    for (const beginning of beginnings)
      for (const channel of ["plain", "delta"] as const)
        for (const storage of storages) ways.push({ deeds: both, storage, channel, durability, beginning });
  return ways.filter(areDone);
}

/** Every two deeds, and each with itself, in `count` ways: other ways for each two deeds. */
export function everyPair(storages: readonly StorageName[], count: number): Pair[] {
  const all = names.flatMap((first, index) =>
    names.slice(index).map((second) => waysOf([first, second], storages)),
  );
  return all.flatMap((ways, index) =>
    // Steps of a prime number go through all ways before one comes again.
    Array.from({ length: Math.min(count, ways.length) }, (_, n) => ways[(index * 7 + n * 37) % ways.length]!),
  );
}

/** How a pair is named in lists. */
export function nameOf({ deeds: both, storage, channel, durability, beginning }: Pair): string {
  return `${both.join(" + ")} | ${storage}, ${channel}, ${durability}, ${beginning}`;
}
