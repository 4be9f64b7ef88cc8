import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { Cipher, type EncryptionOptions } from "../codec/index.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "../contract/checkOptions.ts";
import { defaultMaxValueBytes } from "../encode/envelope.ts";
import { InvalidOptionError } from "../contract/errors.ts";
import {
  resolveRetention,
  retentionNames,
  type ResolvedRetention,
  type RetentionOptions,
} from "../maintenance/retentionOptions.ts";
import { StratigraphSerializer } from "../serde/index.ts";
import { isLangGraphChannel } from "../langgraph/channelNames.ts";
import { checkStateVersions, type StateVersionsOptions } from "../stateVersions/options.ts";
import { StateVersions } from "../stateVersions/stateVersions.ts";
import { checkTagName } from "./threadTags.ts";
import type { Address } from "../contract/tier.ts";
import { bytesOf, type Size } from "../contract/units.ts";

/**
 * What a put that lost a race does:
 * - "throw": it rejects with CheckpointConflictError and stores nothing.
 * - "branch": it keeps the work as a side branch; the head stays with the winner.
 * - "auto": it throws under durability "sync" and "exit", and outside runs. Under "async" it branches, because by the time a put is
 *   refused the run has taken further steps, and their work is to be kept. Before LangGraph 1.5, throwing under "async" also ends
 *   the process, as an unhandled rejection. From 1.5 on, "throw" is safe there too: it rejects the run at its end.
 */
export type ConflictPolicy = "auto" | "throw" | "branch";

/** A put that lost a race, as it is passed to {@link SaverOptions.onConflict}. */
export interface LostRace extends Address {
  /** The checkpoint that it was made from; absent if the thread was empty. */
  readonly parentId?: string | undefined;
  /** The checkpoint that won; absent if the storage was restored to a state without one. */
  readonly head?: string | undefined;
  /** "branched": kept as a side branch, see `conflicts()`. "thrown": refused, nothing was stored. */
  readonly outcome: "branched" | "thrown";
}

/** Options of every saver. */
export interface SaverOptions extends RetentionOptions {
  /** Default: Stratigraph's own, which reads and writes LangGraph's format. */
  readonly serde?: SerializerProtocol | undefined;
  /** Default "auto". */
  readonly conflict?: ConflictPolicy | undefined;
  /**
   * Called when a put lost a race, whether it branched or threw. If it branched, the run itself doesn't notice. The saver doesn't wait for
   * it. If it throws or rejects, that is traced (`type: "hook"`) and changes nothing else.
   */
  readonly onConflict?: ((lost: LostRace) => void | Promise<void>) | undefined;
  /**
   * Memory for recent values, so that the next put can store a patch without reading anything. A quarter of it serves to compare
   * arrays with their last version, so that only what changed is serialised. A size such as "64mb"; default "128mb". "0b" stores
   * every changed value whole.
   */
  readonly patchMemory?: Size | undefined;
  /** Largest value that is stored, and decoded. Default "512mb". */
  readonly maxValueSize?: Size | undefined;
  /**
   * Encrypts everything except ids, run ids and the 32-bit hashes of metadata leaves by which filters search. Tags of threads are
   * stored as keyed hashes. Default: no encryption.
   */
  readonly encryption?: EncryptionOptions | undefined;
  /**
   * Names in `config.configurable` and `config.metadata`, such as `["user_id"]`. Their values (text, finite numbers, booleans) become
   * tags of the thread, by which `listThreads` and `deleteThreads` find it. A thread carries every tag that any of its writers
   * gave it. Costs one statement per thread and process. Default: none.
   */
  readonly threadTags?: readonly string[] | undefined;
  /**
   * Channels whose values may be lost, such as caches: `["pages"]`. A put doesn't wait for them. Only the last value of each is stored, and
   * maintenance removes it from idle threads (`bestEffortFor`). A checkpoint whose value isn't there is read as if the channel had never been
   * written, so nodes find its default. Default: none.
   */
  readonly bestEffort?: readonly string[] | undefined;
  /**
   * The version of the application's state, and how state of older versions becomes it when it is read. What is stored stays as it is;
   * what is written has this version. State of a version that no step leads from is refused with code "STATE_VERSION". Default: version 1.
   */
  readonly stateVersions?: StateVersionsOptions | undefined;
}

/** Names of the options of every saver, for savers that take more. */
export const saverOptionNames: OptionNames<SaverOptions> = {
  serde: true,
  conflict: true,
  onConflict: true,
  patchMemory: true,
  maxValueSize: true,
  encryption: true,
  threadTags: true,
  bestEffort: true,
  stateVersions: true,
  ...retentionNames,
};

/** What to write instead of the names that such options have in other libraries. */
export const saverOptionAdvice: OptionAdvice = {
  serializer: "Write serde.",
  serialiser: "Write serde.",
  tags: "Write threadTags.",
  tagThreads: "Write threadTags.",
  compression: "What is stored is compressed always; leave it out.",
  stateVersion: "Write stateVersions.",
  upcasts: "Write stateVersions.",
  migrations: "Write stateVersions.",
  expireAfter: "Write deleteAfter.",
  maxAge: "Write deleteAfter, for threads, or trimAfter, for checkpoints.",
  every: 'It belongs to the checkpointer that you get: checkpointer.startMaintenance({ every: "10m" }).',
};

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly serde: SerializerProtocol;
  readonly conflict: ConflictPolicy;
  readonly onConflict: SaverOptions["onConflict"];
  readonly patchMemory: number;
  readonly maxValueBytes: number;
  readonly cipher: Cipher | undefined;
  readonly hashKey: Uint8Array | undefined;
  readonly threadTags: readonly string[];
  readonly bestEffort: readonly string[];
  readonly retention: ResolvedRetention;
  readonly stateVersions: StateVersions;
}

const policies: ReadonlySet<unknown> = new Set(["auto", "throw", "branch"]);

/** Whether a value is a serializer as LangGraph defines it. */
export function isSerde(value: unknown): value is SerializerProtocol {
  if (typeof value !== "object" || value === null) return false;
  const { dumpsTyped, loadsTyped } = value as Partial<SerializerProtocol>;
  return typeof dumpsTyped === "function" && typeof loadsTyped === "function";
}

/** Checks options once, when a saver is made. @throws InvalidOptionError naming the option, what was found and what to do */
export function resolveOptions(options: SaverOptions): ResolvedOptions {
  checkOptions("A saver", options, saverOptionNames, saverOptionAdvice);
  const { conflict = "auto", onConflict, serde = new StratigraphSerializer() } = options;
  if (!policies.has(conflict))
    throw new InvalidOptionError("conflict", shown(conflict), 'Use "auto", "throw" or "branch".');
  if (onConflict !== undefined && typeof onConflict !== "function") {
    const advice =
      "Pass a function that is told of a lost race; what a put does then is the option conflict.";
    throw new InvalidOptionError("onConflict", shown(onConflict), advice);
  }
  if (!isSerde(serde))
    throw new InvalidOptionError("serde", shown(serde), "Pass an object with dumpsTyped and loadsTyped.");
  const cipher = options.encryption === undefined ? undefined : new Cipher(options.encryption);
  const bestEffort = checkedChannels(options.bestEffort ?? []);
  return {
    serde,
    conflict,
    onConflict,
    patchMemory: bytesOf("patchMemory", options.patchMemory ?? "128mb"),
    maxValueBytes:
      options.maxValueSize === undefined
        ? defaultMaxValueBytes
        : bytesOf("maxValueSize", options.maxValueSize),
    cipher,
    hashKey: cipher?.hashKey,
    threadTags: checkedNames(options.threadTags ?? []),
    bestEffort,
    stateVersions: new StateVersions(
      options.stateVersions === undefined ? undefined : checkStateVersions(options.stateVersions),
    ),
    retention: resolveRetention(options, bestEffort.length > 0),
  };
}

/** A copy of the names of channels, checked and without duplicates. @throws InvalidOptionError */
function checkedChannels(names: unknown): readonly string[] {
  if (!Array.isArray(names))
    throw new InvalidOptionError(
      "bestEffort",
      shown(names),
      'Pass a list of channels of your state: ["pages"].',
    );
  return Array.from(new Set<unknown>(names), (name, n) => {
    if (typeof name === "string" && name !== "" && !isLangGraphChannel(name)) return name;
    const advice =
      typeof name === "string" && name !== ""
        ? "It is LangGraph's own channel, and a run can't go on without it. Name channels of your state."
        : 'Name a channel of your state, such as "pages".';
    throw new InvalidOptionError(`bestEffort[${n}]`, shown(name), advice);
  });
}

/** A copy of the names of tags, checked and without duplicates. @throws InvalidOptionError */
function checkedNames(names: unknown): readonly string[] {
  if (!Array.isArray(names))
    throw new InvalidOptionError(
      "threadTags",
      shown(names),
      'Pass a list of names in config.configurable or config.metadata: ["user_id"].',
    );
  return Array.from(new Set<unknown>(names), (name, n) => checkTagName(`threadTags[${n}]`, name));
}
