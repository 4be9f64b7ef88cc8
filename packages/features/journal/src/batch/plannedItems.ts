import { InvalidOptionError } from "@stratigraph/core";
import type { CallRequest } from "../calls/resolve.ts";
import { canonical } from "../identity/canonical.ts";
import { digestOf, fingerprintOf, sha256 } from "../identity/fingerprint.ts";
import type { Effects, KnownBy } from "../log/entry.ts";
import type { Sealing } from "../log/sealing.ts";
import type { Task } from "../langgraph/taskConfig.ts";

/** An item as a call of the journal. */
export interface PlannedItem<T> {
  readonly item: T;
  readonly key: string;
  /** Canonical JSON. */
  readonly argsText: string;
  /** The call, with its fingerprint hashed with a key. */
  readonly requestBy: (knownBy: KnownBy) => CallRequest;
}

/** The options that identify items. */
export interface ItemIdentity<T> {
  readonly id: string;
  readonly key: (item: T) => string;
  readonly changed?: ((item: T) => unknown) | undefined;
  readonly version?: string | undefined;
  readonly effects?: Effects | undefined;
}

/**
 * Items as calls. A call is identified by the batch and the item's key, and not by the calls before it, so that order doesn't matter.
 * @throws InvalidOptionError for a key that isn't text, or that two items have
 */
export function plannedItems<T>(
  { sealing, task, threadId }: { sealing: Sealing; task: Task; threadId: string },
  items: readonly T[],
  { id, key: keyOf, changed, version, effects = "once" }: ItemIdentity<T>,
): PlannedItem<T>[] {
  const seen = new Set<string>();
  const previous = sha256(canonical(["items/1", id]));
  const isElsewhere = task.threadId !== undefined && task.threadId !== threadId;
  const where = { ...task.where, ...(isElsewhere ? { thread: task.threadId } : {}) };
  return items.map((item) => {
    const key: unknown = keyOf(item);
    if (typeof key !== "string" || key === "")
      throw new InvalidOptionError("key", key, "It has to give text that names the item.");
    if (seen.has(key))
      throw new InvalidOptionError("key", key, "Two items have this key. Give each item a key of its own.");
    seen.add(key);
    const args = { key, ...(changed === undefined ? {} : { changed: digestOf(changed(item)) }) };
    const argsText = canonical(args);
    const plain = fingerprintOf({ tool: id, version: version ?? null, args, previous, nth: 0 });
    const requestBy = (knownBy: KnownBy): CallRequest => ({
      call: sealing.known(plain, knownBy),
      tool: id,
      ...(version === undefined ? {} : { version }),
      effects,
      previous: sealing.known(previous, knownBy),
      nth: 0,
      argsHash: sealing.hash(argsText),
      where,
      knownBy,
    });
    return { item, key, argsText, requestBy };
  });
}
