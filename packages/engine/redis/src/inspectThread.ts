import type { Address, ThreadInspection } from "@stratigraph/core/tier";
import { decodeCheckpointKey, decodeId } from "./checkpointKeys.ts";

/**
 * What inspect.lua answers: where the next page begins, the thread's own fields, heads, keys of strays, fields that don't agree with
 * the rest, keys of checkpoints that lost write batches. Empty if there is no such thread.
 */
type InspectReply = [] | [Buffer, number, number, number, number, Buffer[], Buffer[], Buffer[], Buffer[]];

/** Reads a thread's own fields, page by page. `run` calls inspect.lua. */
export async function inspectThread(
  run: (cursor: string) => Promise<unknown>,
  threadId: string,
): Promise<ThreadInspection | undefined> {
  const heads = new Map<string, string>();
  const strays = new Map<string, Address>();
  let first:
    | Pick<ThreadInspection, "revision" | "deleted" | "evicted" | "removedAt" | "contradictions">
    | undefined;
  const lost: Address[] = [];
  let cursor = "0";
  do {
    const reply = (await run(cursor)) as InspectReply;
    if (reply.length === 0) return undefined;
    const [next, revision, dead, evicted, removedAt, flatHeads, keys, wrong, gone] = reply;
    first ??= {
      revision,
      deleted: dead === 1,
      evicted: evicted === 1,
      removedAt,
      ...(wrong.length === 0 ? {} : { contradictions: wrong.map(nameOf) }),
    };
    for (const key of gone) lost.push({ threadId, ...decodeCheckpointKey(key) });
    for (let i = 0; i < flatHeads.length; i += 2)
      heads.set(flatHeads[i]!.toString("utf8"), decodeId(flatHeads[i + 1]!));
    // A scan may return a field twice.
    for (const key of keys) strays.set(key.toString("latin1"), { threadId, ...decodeCheckpointKey(key) });
    cursor = next.toString();
  } while (cursor !== "0");
  return {
    ...first,
    heads,
    strays: [...strays.values()],
    ...(lost.length === 0 ? {} : { lostWrites: lost }),
  };
}

/** The name of a field, for people. */
function nameOf(field: Buffer): string {
  return field[0] === 99 ? `c${decodeCheckpointKey(field.subarray(1)).checkpointId}` : field.toString();
}
