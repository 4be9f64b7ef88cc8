import {
  DeltaSnapshot,
  ERROR,
  INTERRUPT,
  isDeltaSnapshot,
  maxChannelVersion,
  RESUME,
  uuid6,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
} from "@langchain/langgraph-checkpoint";
import {
  CheckpointConflictError,
  InvalidOptionError,
  StratigraphError,
  type TierSaver,
} from "@stratigraph/core";
import { isControlChannel } from "@stratigraph/core/internal";
import type { Address } from "@stratigraph/core/tier";
import { checkPoint } from "./checkPoint.ts";
import { checkSaver, kindOfValue } from "./checkSaver.ts";
import { currentState, type CurrentState } from "./currentState.ts";
import { deltaChannels } from "./deltaAncestors.ts";
import { headMoved } from "./headMoved.ts";
import { DELTA_WRITES_VERSIONED, ERROR_SOURCE } from "./langgraph.ts";
import { readPoint, type Point, type ReadPoint } from "./readPoint.ts";
import { readDeltaValues } from "./readValues.ts";
import { nextReflog, readReflog } from "./reflog.ts";
import { seenBy } from "./seenBy.ts";

/** An edit: the checkpoint that it made, which is the head now, and the head before. */
export interface Edited extends Address {
  readonly from: string;
}

/** Pending writes that a new checkpoint may drop without loss: questions are asked again, and failed tasks run again. */
const askedAgain: ReadonlySet<string> = new Set([ERROR, ERROR_SOURCE, INTERRUPT, RESUME]);

/**
 * Sets channels of a thread by hand, without their reducers: writes a checkpoint on the head, as `updateState` does. What was due stays
 * due, and the change alone starts no node. It is recorded as a move of the head, so that `undo` reverts it.
 * @param point a thread, or its head. If it names a checkpoint that isn't the head any more, nothing is written
 * @param values new values by channel
 * @throws CheckpointConflictError if the checkpoint isn't the head, or the head moves meanwhile; StratigraphError "MERGE_REFUSED"
 * if tasks of an unfinished step have ended, whose work would be lost, "SERIALIZATION", "STATE_VERSION", "STATE_STEP_FAILED"; NotFoundError, EvictedError,
 * InvalidOptionError, InvalidAddressError, CorruptionError
 */
export async function edit(
  saver: TierSaver,
  point: string | Point,
  values: Readonly<Record<string, unknown>>,
): Promise<Edited> {
  checkSaver("edit", saver);
  const checked = checkPoint("point", point);
  checkValues(values);
  // The remembered values may rest on blobs that another process has pruned.
  saver.coder.blobs.forgetThread(checked.threadId);
  const read = await readPoint(saver, checked);
  const { threadId, checkpointId: from } = read.at;
  if (read.head !== from) throw notHead(read);
  await refuseEnded(saver, read);
  const state = await currentState(saver, read);
  const { checkpoint, metadata, newVersions } = await editedCheckpoint(saver, read, state, values);
  const at: Address = { ...read.at, checkpointId: checkpoint.id };
  const before = { parentId: from, parent: state.manifest, again: undefined };
  const encoded = await saver.coder.encode(at, before, {
    checkpoint,
    metadata,
    newVersions,
    runId: undefined,
    stateVersion: saver.stateVersions.current,
  });
  const reflogBefore = await readReflog(saver, threadId);
  const ts = new Date().toISOString();
  const move = { kind: "edit" as const, namespace: at.namespace, from, to: at.checkpointId, ts };
  const reflog = await nextReflog(saver, threadId, reflogBefore, {
    lineage: reflogBefore.lineage,
    moves: [...reflogBefore.moves, move],
  });
  try {
    await saver.tier.append({
      threadId,
      records: [encoded.record, reflog.record],
      blobs: [...encoded.blobs, ...reflog.blobs],
      relies: encoded.relies,
      heads: [{ namespace: at.namespace, to: at.checkpointId, expected: [from] }, reflog.head],
      onConflict: "refuse",
      seen: read.revision,
    });
  } catch (error) {
    throw headMoved(error, "The edit", at, from);
  }
  return { ...at, from };
}

function checkValues(values: unknown): void {
  if (typeof values !== "object" || values === null || Array.isArray(values))
    throw new InvalidOptionError("values", kindOfValue(values), "Pass an object of values by channel.");
  const control = Object.keys(values).find(isControlChannel);
  if (control !== undefined)
    throw new InvalidOptionError(
      `values.${control}`,
      "a channel that says what runs next",
      "Set channels of the state; graph.updateState() with asNode changes what runs next.",
    );
}

function notHead({ at, head }: ReadPoint): CheckpointConflictError {
  const { threadId, namespace, checkpointId } = at;
  return new CheckpointConflictError(
    { ...at, head: head ?? "", expected: [checkpointId] },
    `The edit was refused: the head of thread ${JSON.stringify(threadId)}, namespace ${JSON.stringify(namespace)}, is ${head ?? "missing"}, not ${checkpointId}. ` +
      `Nothing was written. Look at the head and edit that, or fork the thread at ${checkpointId} and edit the fork.`,
  );
}

async function refuseEnded(saver: TierSaver, { at, stored }: ReadPoint): Promise<void> {
  const pending = await saver.coder.writes.channels(stored.record, stored.writes);
  if ([...pending].every((channel) => askedAgain.has(channel))) return;
  throw new StratigraphError(
    "MERGE_REFUSED",
    `The edit was refused: tasks of an unfinished step of thread ${JSON.stringify(at.threadId)} have ended, and would run again. Nothing was written. ` +
      `Let the run go on, and edit afterwards.`,
    { ...at },
  );
}

interface Prepared {
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly newVersions: ChannelVersions;
}

async function editedCheckpoint(
  saver: TierSaver,
  read: ReadPoint,
  { checkpoint: parent, metadata, channels }: CurrentState,
  values: Readonly<Record<string, unknown>>,
): Promise<Prepared> {
  const versions = Object.values(parent.channel_versions);
  const next = saver.getNextVersion(
    versions.length === 0 ? undefined : (maxChannelVersion(...versions) as number),
  );
  const rebuilt = await readDeltaValues(saver, read, deltaChannels(channels, metadata), { isCurrent: true });
  const channel_values = { ...parent.channel_values };
  const newVersions: ChannelVersions = {};
  for (const [channel, value] of Object.entries(values)) {
    const isDelta = isDeltaSnapshot(parent.channel_values[channel]) || rebuilt.has(channel);
    channel_values[channel] = isDelta ? new DeltaSnapshot(value) : value;
    newVersions[channel] = next;
  }
  const changed = new Set(Object.keys(values));
  const step = metadata.step + 1;
  const side = { checkpoint: parent };
  const checkpoint: Checkpoint = {
    ...parent,
    id: uuid6(step),
    ts: new Date().toISOString(),
    channel_values,
    channel_versions: { ...parent.channel_versions, ...newVersions },
    versions_seen: seenBy([side], side, changed, next),
  };
  return { checkpoint, newVersions, metadata: metadataOf(metadata, step, changed) };
}

function metadataOf(
  metadata: CheckpointMetadata,
  step: number,
  changed: ReadonlySet<string>,
): CheckpointMetadata {
  const { counters_since_delta_snapshot: counters, [DELTA_WRITES_VERSIONED]: versioned } =
    metadata as CheckpointMetadata & { [DELTA_WRITES_VERSIONED]?: unknown };
  // Channels that were set are stored whole, so their counters are dropped.
  const left = Object.entries(counters ?? {}).filter(([channel]) => !changed.has(channel));
  return {
    source: "update",
    step,
    parents: metadata.parents ?? {},
    ...(versioned === undefined ? {} : { [DELTA_WRITES_VERSIONED]: versioned }),
    ...(left.length === 0 ? {} : { counters_since_delta_snapshot: Object.fromEntries(left) }),
    edit: { channels: [...changed] },
  } as CheckpointMetadata;
}
