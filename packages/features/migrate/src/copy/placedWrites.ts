import { WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import type { SourceWrite } from "../contract/source.ts";
import type { Digests } from "./digest.ts";

/** A pending write with its place among those of its checkpoint, and the digest of its value. */
export interface PlacedWrite extends SourceWrite {
  readonly index: number;
  readonly digest: string;
}

/** The pending writes of a checkpoint that its copy lacks. */
export interface WritePlan {
  /** Writes of the source that the copy doesn't have, or that differ there. */
  readonly late: readonly PlacedWrite[];
  /**
   * Whether the copy has another write in the place of one of them. Most places keep the first value, so adding them isn't enough: all
   * writes of the checkpoint are imported anew.
   */
  readonly replaces: boolean;
}

/**
 * Compares pending writes by task, place, channel and value. Task and place decide in which order writes are applied, so the same
 * writes in the same places have the same result.
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
    (copy.stateVersion ?? 1) === (source.stateVersion ?? 1) &&
    (source.taskPath === undefined || source.taskPath === (copy.taskPath ?? ""))
  );
}

/**
 * Gives each write of a source its place. Writes without one get the copy's places of their task, one after the other.
 * @param copy the copy's pending writes, in the order in which they are applied
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

/** The places of a task's writes in the copy, and then further ones. */
function* placesOf(taskId: string, copy: readonly PlacedWrite[]): Iterator<number> {
  let next = 0;
  for (const write of copy) {
    if (write.taskId !== taskId || write.index < 0) continue;
    yield write.index;
    next = write.index + 1;
  }
  for (;;) yield next++;
}
