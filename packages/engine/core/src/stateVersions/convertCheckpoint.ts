import {
  compareChannelVersions,
  DeltaSnapshot,
  isDeltaSnapshot,
  maxChannelVersion,
  TASKS,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
} from "@langchain/langgraph-checkpoint";
import type { Address } from "../contract/tier.ts";
import { cannotRebuild, stepFailed } from "./errors.ts";
import { applied, convertSends, isRecord, mapValues, nameOf, without, type Values } from "./applied.ts";
import { convertInput, isStoredElsewhere, type Held } from "./joins.ts";
import { inputChannel, type Move, type Stage, type StateVersions } from "./stateVersions.ts";

type Version = ChannelVersions[string];

/** The version that LangGraph gives a channel first. */
const firstChannelVersion: Version = 1;

/** The parts of a checkpoint that steps change. */
export interface State extends Held {
  readonly seen: Checkpoint["versions_seen"];
}

export function stateOf(checkpoint: Checkpoint, metadata: CheckpointMetadata): State {
  const { channel_values: values, channel_versions: versions, versions_seen: seen } = checkpoint;
  return { values, versions, seen, counters: metadata.counters_since_delta_snapshot ?? {} };
}

/** A checkpoint with its metadata as this application's version of the state has them. @throws StratigraphError "STATE_VERSION", "STATE_STEP_FAILED" */
export async function convertCheckpoint(
  versions: StateVersions,
  at: Address,
  found: number,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata,
): Promise<{ readonly checkpoint: Checkpoint; readonly metadata: CheckpointMetadata }> {
  const before = stateOf(checkpoint, metadata);
  const isEmpty = Object.keys(before.values).length + Object.keys(before.versions).length === 0;
  // What a namespace has before it begins is the same in every version.
  if (found === versions.current || isEmpty) return { checkpoint, metadata };
  const { counters_since_delta_snapshot: counters } = metadata;
  const after = await convertState(versions.path(at, found), at, before);
  return {
    checkpoint: {
      ...checkpoint,
      channel_values: after.values,
      channel_versions: after.versions,
      versions_seen: after.seen,
    },
    metadata:
      counters === undefined
        ? metadata
        : ({ ...metadata, counters_since_delta_snapshot: after.counters } as CheckpointMetadata),
  };
}

/** Leads state through stages. @throws StratigraphError "STATE_STEP_FAILED" */
export async function convertState(stages: readonly Stage[], at: Address, before: State): Promise<State> {
  let state = before;
  for (const stage of stages) state = await throughStage(stage, at, state);
  return state;
}

async function throughStage(stage: Stage, at: Address, before: State): Promise<State> {
  const taken = new Set(stage.moves.flatMap(({ from }) => from));
  const values = without(before.values, taken);
  const versions = without(before.versions, taken);
  const counters = without(before.counters, taken);
  const seen = Object.fromEntries(
    Object.entries(before.seen).map(([node, channels]) => [node, without(channels, taken)]),
  );
  for (const move of stage.moves) {
    const there = move.from.filter(
      (name) => Object.hasOwn(before.versions, name) || Object.hasOwn(before.values, name),
    );
    if (move.from.length > 0 && there.length === 0) continue;
    const isThere = (name: string): boolean => Object.hasOwn(values, name) || Object.hasOwn(versions, name);
    // What is added for threads that lack it isn't added where it is.
    if (move.from.length === 0 && move.to.some(isThere)) continue;
    const replaced = move.to.find(isThere);
    if (replaced !== undefined)
      throw stepFailed(
        at,
        nameOf(move),
        stage,
        `it would replace channel ${JSON.stringify(replaced)}, which the state has. To join them, name it in from, too`,
      );
    const made = await movedValues(stage, move, at, before);
    Object.assign(values, made);
    const version = versionOf(move, there, before.versions);
    // Without values, it is made from DeltaChannels, and is rebuilt as they are.
    const isRebuilt = there.length > 0 && there.every((source) => before.values[source] === undefined);
    for (const name of move.to) {
      // A version without a value would say that the value is stored elsewhere.
      if (!isRebuilt && !Object.hasOwn(made, name)) continue;
      if (version !== undefined) versions[name] = version;
      const counter = there.map((source) => before.counters[source]).find((count) => count !== undefined);
      if (counter !== undefined) counters[name] = counter;
      for (const [node, channels] of Object.entries(before.seen)) {
        const seenVersion =
          version === undefined ? undefined : seenOf(move, there, before.versions, channels, version);
        if (seenVersion !== undefined) seen[node]![name] = seenVersion;
      }
    }
  }
  const input = values[inputChannel];
  if (isRecord(input)) values[inputChannel] = await convertInput(stage, at, input, async () => before);
  const sends = values[TASKS];
  if (sends !== undefined) values[TASKS] = await convertSends(stage, at, sends);
  return { values, versions, seen, counters };
}

/** The version of what a move makes: the newest of its sources, so that what was due stays due. */
function versionOf(move: Move, there: readonly string[], versions: ChannelVersions): Version | undefined {
  const found = there.flatMap((name) => (Object.hasOwn(versions, name) ? [versions[name]!] : []));
  if (found.length > 0) return maxChannelVersion(...found);
  if (move.from.length > 0) return undefined;
  const all = Object.values(versions);
  return all.length === 0 ? firstChannelVersion : maxChannelVersion(...all);
}

/**
 * What a node has seen of a channel that a move makes: its version if the node has seen all of the sources, and nothing, or an older one,
 * otherwise. An addition counts as seen, because it is no reason to run.
 */
function seenOf(
  move: Move,
  there: readonly string[],
  versions: ChannelVersions,
  seen: ChannelVersions,
  version: Version,
): Version | undefined {
  if (move.from.length === 0) return version;
  const found = there.flatMap((name) => (Object.hasOwn(seen, name) ? [seen[name]!] : []));
  if (found.length === 0) return undefined;
  const isBehind = there.some(
    (name) =>
      Object.hasOwn(versions, name) &&
      (!Object.hasOwn(seen, name) || compareChannelVersions(seen[name]!, versions[name]!) < 0),
  );
  if (!isBehind) return version;
  const oldest = found.reduce((one, other) => (compareChannelVersions(one, other) <= 0 ? one : other));
  return compareChannelVersions(oldest, version) < 0 ? oldest : undefined;
}

async function movedValues(stage: Stage, move: Move, at: Address, before: State): Promise<Values> {
  const { values } = before;
  const found = Object.fromEntries(
    move.from.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]] as const])),
  );
  if (move.from.length > 0 && Object.keys(found).length === 0) return {};
  if (move.from.some((name) => isStoredElsewhere(name, before))) throw cannotRebuild(at, nameOf(move), stage);
  // A DeltaChannel's value is stored in a wrapper that says so.
  const isSnapshot = Object.values(found).some(isDeltaSnapshot);
  if (!isSnapshot) return await applied(stage, move, at, "value", found);
  const bare = mapValues(found, (value) => (isDeltaSnapshot(value) ? value.value : value));
  return mapValues(await applied(stage, move, at, "value", bare), (value) => new DeltaSnapshot(value));
}
