import { isDeltaSnapshot, type ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { Address } from "../contract/tier.ts";
import { NULL_TASK } from "../langgraph/taskIds.ts";
import {
  applied,
  bareOf,
  copyOf,
  isOverwrite,
  mapValues,
  nameOf,
  overwrite,
  without,
  type Values,
} from "./applied.ts";
import { stepFailed } from "./errors.ts";
import type { Move, Stage } from "./stateVersions.ts";

/** An update of a channel, by a task. */
interface Update {
  readonly taskId: string;
  readonly channel: string;
  readonly value: unknown;
}

/** What channels hold before they are updated. */
export interface Held {
  readonly values: Values;
  readonly versions: ChannelVersions;
  /** Those of DeltaChannels. */
  readonly counters: Values;
  /** Updates that LangGraph applies before those that are converted. */
  readonly first?: Values;
}

/** Updates that are converted at once, and what they become. */
interface Converted<Of> {
  readonly of: readonly Of[];
  readonly made: Values;
}

/**
 * What a move makes of the updates of one step. A function that takes one channel is given one at a time. One that joins channels is given
 * all together: without reducers, an update is a value, so all tasks' updates are one, and the rest is what the channels hold. With
 * reducers, an update says nothing of the other channels, and those of each task stand for themselves. An Overwrite holds a value
 * in either case.
 * @param held what the channels hold; undefined if it can't be known
 * @throws StratigraphError "STATE_STEP_FAILED", also rather than give the function less than there is
 */
export async function convertUpdates<Of extends Update>(
  stage: Stage,
  move: Move,
  at: Address,
  updates: readonly Of[],
  held: () => Promise<Held | undefined>,
): Promise<Converted<Of>[]> {
  if (move.from.length === 1) {
    const alone: Converted<Of>[] = [];
    for (const update of updates) {
      const { channel, value } = update;
      const made = isOverwrite(value)
        ? wrapped(value, await applied(stage, move, at, "value", { [channel]: bareOf(value) }))
        : await applied(stage, move, at, "write", { [channel]: value });
      alone.push({ of: [update], made });
    }
    return alone;
  }
  const refuse = (what: string): never => {
    throw stepFailed(at, nameOf(move), stage, what);
  };
  const before = await held();
  const reduced = move.reduced ?? (isEachDelta(move, before) || undefined);
  const wrapper = updates.map(({ value }) => value).find(isOverwrite);
  const areValues = updates.every(({ value }) => isOverwrite(value));
  const isOnce = new Set(updates.map(({ channel }) => channel)).size === updates.length;
  const isMixed = !areValues || !Object.values(before?.first ?? {}).every(isOverwrite);
  if (wrapper !== undefined && (!isOnce || (reduced === true && isMixed)))
    refuse("a step overwrote one of them beside another update of them, and what both make can't be known");
  const areUpdates = reduced === true && wrapper === undefined;
  const converted: Converted<Of>[] = [];
  for (const of of isOnce && !areUpdates ? [updates] : roundsOf(updates)) {
    const found = Object.fromEntries(of.map(({ channel, value }) => [channel, value]));
    const rest = areUpdates ? {} : restOf(move, found, before, refuse);
    const isPartial = Object.keys(rest).length > 0;
    // A value may stand for an update where no channel can have a reducer.
    const plain = areValues
      ? []
      : Object.values({ ...found, ...rest }).filter((value) => !isOverwrite(value));
    if (reduced === undefined && (isPartial || wrapper !== undefined) && !(isOnce && plain.every(isPlain)))
      refuse(
        `a step wrote only ${Object.keys(found).join(", ")} of them, and whether they have reducers isn't known. ` +
          `Say it in the change, by reduced: true or false`,
      );
    const given = mapValues({ ...found, ...rest }, bareOf);
    const kind = wrapper === undefined ? "write" : "value";
    const made = await applied(stage, move, at, kind, given);
    converted.push({ of, made: wrapper === undefined ? made : wrapped(wrapper, made) });
  }
  return converted;
}

/** The input of a run, which hasn't reached its channels yet: updates by channel. */
export async function convertInput(
  stage: Stage,
  at: Address,
  input: Values,
  held: () => Promise<Held | undefined>,
): Promise<Values> {
  const converted = without(input, new Set(stage.moves.flatMap(({ from }) => from)));
  for (const move of stage.moves) {
    const updates = Object.entries(input).flatMap(([channel, value]) =>
      move.from.includes(channel) ? [{ taskId: NULL_TASK, channel, value }] : [],
    );
    if (updates.length === 0) continue;
    for (const { made } of await convertUpdates(stage, move, at, updates, held))
      Object.assign(converted, made);
  }
  return converted;
}

/** What channels hold of which no update is found. */
function restOf(
  { from }: Move,
  found: Values,
  held: Held | undefined,
  refuse: (what: string) => never,
): Values {
  const rest: Record<string, unknown> = {};
  for (const name of from.filter((channel) => !Object.hasOwn(found, channel))) {
    const value = held?.first?.[name] ?? held?.values[name];
    if (held === undefined || (value === undefined && isStoredElsewhere(name, held)))
      refuse(
        `a step wrote only ${Object.keys(found).join(", ")} of them, and what ${name} holds isn't known here`,
      );
    if (value !== undefined) rest[name] = isDeltaSnapshot(value) ? value.value : bareOf(value);
  }
  return rest;
}

/** Each task's first updates of the channels, its second ones, and so on. */
function roundsOf<Of extends Update>(updates: readonly Of[]): readonly (readonly Of[])[] {
  const rounds = new Map<string, Of[]>();
  const counts = new Map<string, number>();
  for (const update of updates) {
    const key = JSON.stringify([update.taskId, update.channel]);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    const round = JSON.stringify([update.taskId, count]);
    rounds.set(round, [...(rounds.get(round) ?? []), update]);
  }
  return [...rounds.values()];
}

/** Whether all of a move's channels that are there have a reducer for sure. */
function isEachDelta({ from }: Move, held: Held | undefined): boolean {
  if (held === undefined) return false;
  const there = from.filter((name) => Object.hasOwn(held.versions, name));
  return there.length > 0 && there.every((name) => isDelta(name, held));
}

/** Whether a channel is a DeltaChannel whose value has to be rebuilt from what other checkpoints store. */
export function isStoredElsewhere(name: string, held: Held): boolean {
  return (
    Object.hasOwn(held.versions, name) &&
    Object.hasOwn(held.counters, name) &&
    held.values[name] === undefined
  );
}

function isDelta(name: string, { values, counters }: Held): boolean {
  return Object.hasOwn(counters, name) || isDeltaSnapshot(values[name]);
}

/** Whether a value is of a kind that hardly any reducer makes. */
function isPlain(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "boolean";
}

function wrapped(wrapper: object, made: Values): Values {
  return mapValues(made, (value) => copyOf(wrapper, { [overwrite]: value }));
}
