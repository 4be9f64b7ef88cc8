import type { Checkpoint, CheckpointListOptions } from "@langchain/langgraph-checkpoint";
import { configurableOf, validId } from "./address.ts";
import { checkOptions, shown, type OptionNames } from "../contract/checkOptions.ts";
import { InvalidOptionError } from "../contract/errors.ts";

// Checks of the arguments of a saver's methods, before anything is read or written. LangGraph's calls come through here in every step of a
// run, so these checks look at each channel or write once at most, and make no objects unless something is wrong.

function refuse(field: string, found: unknown, advice: string): never {
  throw new InvalidOptionError(field, shown(found), advice);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * A copy of a list of ids, all of which are checked before the first is used. The caller may change the list meanwhile.
 * @throws InvalidOptionError, InvalidAddressError
 */
export function checkedIds(field: string, ids: unknown): readonly string[] {
  if (!Array.isArray(ids)) {
    const example = JSON.stringify([typeof ids === "string" && ids !== "" ? shown(ids) : "ada"]);
    refuse(field, ids, `Pass a list: ${example}.`);
  }
  return Array.from(ids, (id: unknown, n) => validId(`${field}[${n}]`, id));
}

const channelMaps = ["channel_values", "channel_versions", "versions_seen"] as const;

/**
 * Arguments of `put`. Without newVersions every channel counts as new, as subclasses often pass three arguments on.
 * @returns the checkpoint with all of its maps: a missing map becomes an empty one, as in LangGraph's copyCheckpoint
 * @throws InvalidOptionError
 */
export function checkedPut(checkpoint: unknown, metadata: unknown, newVersions: unknown): Checkpoint {
  if (!isObject(checkpoint))
    refuse("checkpoint", checkpoint, "Pass a checkpoint, such as emptyCheckpoint() of LangGraph makes.");
  let isWhole = true;
  for (const map of channelMaps) {
    const found = checkpoint[map];
    if (found === undefined || found === null) isWhole = false;
    else if (!isObject(found))
      refuse(`checkpoint.${map}`, found, "Pass an object by channel or node; {} where there are none.");
  }
  if (!isObject(metadata))
    refuse("metadata", metadata, 'Pass an object such as { source: "update", step: 0, parents: {} }.');
  if (newVersions !== undefined && !isObject(newVersions)) {
    refuse(
      "newVersions",
      newVersions,
      "Pass an object of the channels that are new, with their versions, such as checkpoint.channel_versions, or leave it out.",
    );
  }
  const given = checkpoint as unknown as Checkpoint;
  if (isWhole) return given;
  const maps = channelMaps.map((map) => [map, checkpoint[map] ?? {}] as const);
  return { ...given, ...Object.fromEntries(maps) };
}

/** Arguments of `putWrites`. @throws InvalidOptionError, InvalidAddressError */
export function checkWrites(writes: unknown, taskId: unknown, taskPath: unknown): void {
  if (!Array.isArray(writes))
    refuse("writes", writes, 'Pass a list of [channel, value], for example [["messages", message]].');
  for (let n = 0; n < writes.length; n += 1) {
    const write: unknown = writes[n];
    if (!Array.isArray(write) || write.length !== 2 || typeof write[0] !== "string") {
      const found = Array.isArray(write) ? `a list of ${write.length}` : write;
      refuse(
        `writes[${n}]`,
        found,
        "Pass [channel, value] with a string as channel. What getTuple answers as pendingWrites is [taskId, channel, value].",
      );
    }
  }
  validId("taskId", taskId);
  if (typeof taskPath !== "string") refuse("taskPath", taskPath, "Pass the path as text, or leave it out.");
}

const listNames: OptionNames<CheckpointListOptions> = { limit: true, before: true, filter: true };
const listAdvice = {
  metadata: "Write filter.",
  after: "Lists go from the newest back: write before.",
  thread_id: 'It belongs in the first argument: { configurable: { thread_id: "..." } }.',
  threadId: 'It belongs in the first argument: { configurable: { thread_id: "..." } }.',
};

/** Options of `list`. @throws InvalidOptionError, InvalidAddressError */
export function checkListOptions(options: CheckpointListOptions): void {
  checkOptions("list", options, listNames, listAdvice);
  const { limit, before, filter } = options;
  if (limit !== undefined && (!Number.isInteger(limit) || limit < 0))
    refuse("limit", limit, "Use a whole number, 0 or more, or leave it out for all.");
  if (before !== undefined) configurableOf(before, "before");
  checkFilter(filter);
}

/** Whether a value is an object literal, of any realm. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A filter by metadata. @throws InvalidOptionError */
export function checkFilter(
  filter: unknown,
): asserts filter is Readonly<Record<string, unknown>> | undefined {
  // As a filter, a Map or a Date would have no entries and so match everything.
  if (filter !== undefined && !isPlainObject(filter))
    refuse(
      "filter",
      filter,
      'Pass an object of metadata that has to be there, for example { source: "loop" }.',
    );
}

/**
 * Options of `getDeltaChannelHistory`. Unknown ones aren't refused: only LangGraph calls it, and may add some.
 * @throws InvalidOptionError
 */
export function checkDeltaOptions(options: unknown): void {
  if (!isObject(options))
    refuse("options", options, "getDeltaChannelHistory takes an object of config and channels.");
  const { channels } = options;
  if (!Array.isArray(channels) || !channels.every((channel) => typeof channel === "string"))
    refuse("channels", channels, 'Pass a list of names, for example ["messages"].');
}
