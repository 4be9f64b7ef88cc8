import { isDeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, NotFoundError, StratigraphError, type TierSaver } from "@stratigraph/core";
import { ancestorsFrom, isLangGraphChannel, outlineOf, type Series } from "@stratigraph/core/internal";
import type { Address, CheckpointRecord } from "@stratigraph/core/tier";
import { kindOfValue } from "./checkSaver.ts";
import { deltaChannels } from "./deltaAncestors.ts";
import { readPoint, type Point } from "./readPoint.ts";
import { readValues } from "./readValues.ts";
import { readReflog } from "./reflog.ts";

/** Checks the id of a message. @throws InvalidOptionError */
export function checkMessage(given: unknown): string {
  if (typeof given === "string" && given !== "") return given;
  const found = given === "" ? "empty text" : kindOfValue(given);
  throw new InvalidOptionError("message", found, "Pass the id of a message, such as messages[2].id.");
}

/**
 * The checkpoint just before a message: the parent of the one in whose state the message first stands, of those that lead to `from`. If the
 * thread is a fork that was made without its history, the checkpoint may be one of the thread that it was forked from.
 * @throws NotFoundError if the message isn't there, or nothing is stored that came before it; EvictedError, CorruptionError
 */
export async function beforeMessage(saver: TierSaver, from: Point, message: string): Promise<Address> {
  const { at } = await readPoint(saver, from);
  const { lineage } = await readReflog(saver, at.threadId);
  let isCut = false;
  for (const [n, place] of [at, ...lineage].entries()) {
    if (n > 0 && !(await isThere(saver, place))) continue;
    const found = await firstWith(saver, place, message);
    if (found === undefined) continue;
    const { record } = found;
    const { threadId, namespace, parentId } = record;
    if (parentId === undefined)
      throw nothing(
        at,
        message,
        "is in its first checkpoint already, before which is nothing. Begin a thread",
      );
    // A fork that was made without its history has what stood in its first checkpoint from the thread that it was forked from.
    if (found.isCut) isCut = true;
    else return { threadId, namespace, checkpointId: parentId };
  }
  const what = isCut
    ? "is in its oldest checkpoint. What was before was pruned, or the thread is a fork without its history"
    : "is in none of the states that led to this checkpoint. Pass the id of a message as the state has it";
  throw nothing(at, message, what);
}

/** Whether a thread that another one was forked from still has that checkpoint. Reading it restores an archived thread. */
async function isThere(saver: TierSaver, at: Address): Promise<boolean> {
  try {
    await readPoint(saver, at);
    return true;
  } catch (error) {
    if (StratigraphError.is(error, "NOT_FOUND")) return false;
    throw error;
  }
}

function nothing(
  { threadId, namespace, checkpointId }: Address,
  message: string,
  what: string,
): NotFoundError {
  const text = `Thread ${JSON.stringify(threadId)}: the message ${JSON.stringify(message)} ${what}.`;
  return new NotFoundError(text, { threadId, namespace, checkpointId, message });
}

/**
 * The ancestor in whose state the message first stands. `isCut`: it has a parent, which isn't stored in this thread. If the state of `at` has
 * the message, the line is halved again and again, as it may have thousands of checkpoints. Of a message that was removed and put back, one
 * of the times that it came in is found then.
 */
async function firstWith(
  saver: TierSaver,
  at: Address,
  message: string,
): Promise<{ readonly record: CheckpointRecord; readonly isCut: boolean } | undefined> {
  const { threadId, namespace } = at;
  const nodes = await (await outlineOf(saver.tier, threadId, at.checkpointId)).nodes(namespace);
  const line = ancestorsFrom(nodes, at.checkpointId);
  const isIn = async (record: CheckpointRecord): Promise<boolean> =>
    [...(await readValues(saver, await readPoint(saver, record))).values()].some((value) =>
      holds(value, message),
    );
  let record: CheckpointRecord | undefined;
  if (line.length > 0 && (await isIn(line[0]!))) {
    let [having, without] = [0, line.length];
    while (without - having > 1) {
      const middle = (having + without) >> 1;
      if (await isIn(line[middle]!)) having = middle;
      else without = middle;
    }
    record = line[having];
  } else {
    const found = await allWith(saver, at, line, message);
    record = line.findLast(({ checkpointId }) => found.has(checkpointId));
  }
  if (record === undefined) return undefined;
  return { record, isCut: record.parentId !== undefined && !nodes.has(record.parentId) };
}

/** The checkpoints of a line in whose states the message stands. Reads all values of the namespace, a page at a time. */
async function allWith(
  saver: TierSaver,
  { threadId, namespace }: Address,
  line: readonly CheckpointRecord[],
  message: string,
): Promise<ReadonlySet<string>> {
  const childOf = new Map(line.map((record, n) => [record.checkpointId, line[n - 1]]));
  const found = new Set<string>();
  const series: Series = new Map();
  for await (const stored of saver.tier.list({ threadId, namespace })) {
    const { record, writes, blobs } = stored;
    if (!childOf.has(record.checkpointId)) continue;
    const own = await saver.coder.decodeBody(record);
    const { channel_values } = await saver.coder.checkpoint(stored, own, { series });
    for (const [name, value] of Object.entries(channel_values))
      if (!isLangGraphChannel(name) && holds(value, message)) found.add(record.checkpointId);
    const child = childOf.get(record.checkpointId);
    if (child === undefined) continue;
    // The value of a DeltaChannel is what was written to it, which stands with the parent.
    const body = await saver.coder.decodeBody(child);
    const channels = new Set(deltaChannels(body, await saver.coder.metadata(child, body)));
    if (channels.size === 0) continue;
    const made = { checkpointId: child.checkpointId, consumed: body.consumed };
    const written = await saver.coder.writes.decode(record, writes, blobs, { channels, child: made });
    if (written.some(({ value }) => holds(value, message))) found.add(child.checkpointId);
  }
  return found;
}

/** Whether a channel's value is the message, or a list that has it. */
function holds(value: unknown, message: string): boolean {
  const content: unknown = isDeltaSnapshot(value) ? value.value : value;
  return [content].flat().some((item: unknown) => {
    if (typeof item !== "object" || item === null || !("content" in item)) return false;
    return (item as { id?: unknown }).id === message;
  });
}
