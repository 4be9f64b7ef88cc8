import { WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import type { SourceWrite } from "../contract/source.ts";
import type { Digests } from "./digest.ts";

/** A pending write with its place among those of its checkpoint, and the digest of its value. */
export interface PlacedWrite extends SourceWrite {
  readonly index: number;
  readonly digest: string;
}

/** What a copy of a checkpoint's pending writes lacks. */
export interface WritePlan {
  /** Writes of the source that aren't in the copy as they are there. */
  readonly late: readonly PlacedWrite[];
  /**
   * Whether one of them stands where the copy has another value. Most places keep the first value, so that adding them isn't enough: all
   * of the checkpoint's writes are brought anew.
   */
  readonly replaces: boolean;
}

/**
 * Compares pending writes by task, place, channel and value. Task and place together decide in which order writes count, so that copies
 * with the same writes in the same places add up to the same.
 */
export function planWrites(copy: readonly PlacedWrite[], source: readonly PlacedWrite[]): WritePlan {
  const left = new Map(copy.map((write) => [placeOf(write), write]));
  const late: PlacedWrite[] = [];
  let replaces = false;
  for (const write of source) {
    const there = left.get(placeOf(write));
    left.delete(placeOf(write));
    if (there !== undefined && isSame(there, write)) continue;
    late.push(write);
    // A special channel's place keeps the last value.
    replaces ||= there !== undefined && write.index >= 0;
  }
  return { late, replaces };
}

function placeOf({ taskId, index }: PlacedWrite): string {
  return `${index} ${taskId}`;
}

function isSame(copy: PlacedWrite, source: PlacedWrite): boolean {
  return (
    copy.channel === source.channel &&
    copy.digest === source.digest &&
    (source.taskPath === undefined || source.taskPath === (copy.taskPath ?? ""))
  );
}

/**
 * The places of a source's writes. Where it doesn't tell them, they follow each other, in the places that the copy has for them.
 * @param copy of the checkpoint, in the order in which it counts
 */
export async function placedWrites(
  digests: Digests,
  writes: readonly SourceWrite[],
  copy: readonly PlacedWrite[],
): Promise<PlacedWrite[]> {
  const places = new Map<string, Iterator<number>>();
  const placed: PlacedWrite[] = [];
  for (const write of writes) {
    const { taskId, channel } = write;
    let next = places.get(taskId);
    if (next === undefined) places.set(taskId, (next = placesOf(taskId, copy)));
    const special = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
    const index = write.index ?? special ?? (next.next().value as number);
    placed.push({ ...write, index, digest: await digests.value(write.value) });
  }
  return placed;
}

/** The places that a copy has for a task's writes, and then further ones. */
function* placesOf(taskId: string, copy: readonly PlacedWrite[]): Iterator<number> {
  let next = 0;
  for (const write of copy) {
    if (write.taskId !== taskId || write.index < 0) continue;
    yield write.index;
    next = write.index + 1;
  }
  for (;;) yield next++;
}
