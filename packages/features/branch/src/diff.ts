import type { TierSaver } from "@stratigraph/core";
import type { Address } from "@stratigraph/core/tier";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver } from "./checkSaver.ts";
import { diffValues, type Change } from "./diffValues.ts";
import { readPoint, type Point } from "./readPoint.ts";
import { readValues } from "./readValues.ts";

/** What differs in one channel. */
export interface ChannelDiff {
  readonly name: string;
  readonly kind: "added" | "removed" | "changed";
  readonly changes: readonly Change[];
}

/** What differs between two checkpoints. It is plain JSON. */
export interface Diff {
  readonly a: Address;
  readonly b: Address;
  /** The channels that differ, ordered by name. */
  readonly channels: readonly ChannelDiff[];
}

/**
 * Compares the state at two checkpoints of any threads, channel by channel. A thread id stands for the thread's head.
 * @throws NotFoundError, EvictedError, CorruptionError, InvalidOptionError, InvalidAddressError
 */
export async function diff(saver: TierSaver, a: string | Point, b: string | Point): Promise<Diff> {
  checkSaver("diff", saver);
  const [from, to] = [checkPoint("a", a), checkPoint("b", b)];
  const [one, other] = [await readPoint(saver, from), await readPoint(saver, to)];
  const [before, after] = [await readValues(saver, one), await readValues(saver, other)];
  const channels: ChannelDiff[] = [];
  for (const name of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const changes = diffValues(before.get(name), after.get(name));
    if (changes.length === 0) continue;
    const kind = before.has(name) ? (after.has(name) ? "changed" : "removed") : "added";
    channels.push({ name, kind, changes });
  }
  return { a: one.at, b: other.at, channels };
}
