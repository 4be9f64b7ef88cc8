import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { Cipher, type EncryptionOptions } from "./codec/index.ts";
import { checkOptions, shown, type OptionAdvice, type OptionNames } from "./checkOptions.ts";
import { defaultMaxValueBytes } from "./envelope.ts";
import { InvalidOptionError } from "./errors.ts";
import { StratigraphSerializer } from "./serde/index.ts";
import { checkTagName } from "./threadTags.ts";
import { bytesOf, type Size } from "./units.ts";

/**
 * What a put does that lost a race:
 * - "throw": it rejects with CheckpointConflictError and stores nothing.
 * - "branch": it keeps the work as a side branch; the head stays with the winner.
 * - "auto": throws under durability "sync" and "exit", and outside runs. Under "async" it branches: the run's steps have gone
 *   on by the time a put is refused, and what they did stays on record. Below LangGraph 1.5 a throw would also end the
 *   process there, as an unhandled rejection; from 1.5 on "throw" is safe under "async" too, and rejects the run at its end.
 */
export type ConflictPolicy = "auto" | "throw" | "branch";

/** Options of every saver. */
export interface SaverOptions {
  /** Default: Stratigraph's own, which reads and writes LangGraph's format. */
  readonly serde?: SerializerProtocol | undefined;
  /** Default "auto". */
  readonly conflict?: ConflictPolicy | undefined;
  /**
   * Memory for payloads of recent values, so that the next put is a patch without reading; a quarter of it for comparing
   * arrays with what they were, so that only what changed is serialised. A size such as "64mb"; default "128mb". "0b" stores
   * every changed value whole.
   */
  readonly patchMemory?: Size | undefined;
  /** Largest value that is stored, and decoded. Default "512mb". */
  readonly maxValueSize?: Size | undefined;
  /**
   * Encrypts all but ids, run ids and the 32-bit hashes of metadata leaves that filters search; tags of threads are stored as
   * keyed hashes. Default: none.
   */
  readonly encryption?: EncryptionOptions | undefined;
  /**
   * Names in `config.configurable` and `config.metadata`, such as `["user_id"]`, whose values (text, finite numbers, booleans)
   * become tags of the thread: `listThreads` and `deleteThreads` find it by them. A thread carries every tag that any of
   * its writers gave it. Costs one statement per thread and process. Default: none.
   */
  readonly threadTags?: readonly string[] | undefined;
}

/** Names of the options of every saver, for those that take more. */
export const saverOptionNames: OptionNames<SaverOptions> = {
  serde: true,
  conflict: true,
  patchMemory: true,
  maxValueSize: true,
  encryption: true,
  threadTags: true,
};

/** What to write instead of names that other savers' options have. */
export const saverOptionAdvice: OptionAdvice = {
  serializer: "Write serde.",
  serialiser: "Write serde.",
  onConflict: "Write conflict.",
  tags: "Write threadTags.",
  tagThreads: "Write threadTags.",
  compression: "What is stored is compressed always; leave it out.",
};

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly serde: SerializerProtocol;
  readonly conflict: ConflictPolicy;
  readonly patchMemory: number;
  readonly maxValueBytes: number;
  readonly cipher: Cipher | undefined;
  readonly hashKey: Uint8Array | undefined;
  readonly threadTags: readonly string[];
}

const policies: ReadonlySet<unknown> = new Set(["auto", "throw", "branch"]);

/** Whether it is a serializer as LangGraph has them. */
export function isSerde(value: unknown): value is SerializerProtocol {
  if (typeof value !== "object" || value === null) return false;
  const { dumpsTyped, loadsTyped } = value as Partial<SerializerProtocol>;
  return typeof dumpsTyped === "function" && typeof loadsTyped === "function";
}

/** Checks options once, when a saver is made. @throws InvalidOptionError naming the option, what was found and what to do */
export function resolveOptions(options: SaverOptions): ResolvedOptions {
  checkOptions("A saver", options, saverOptionNames, saverOptionAdvice);
  const { conflict = "auto", serde = new StratigraphSerializer() } = options;
  if (!policies.has(conflict))
    throw new InvalidOptionError("conflict", shown(conflict), 'Use "auto", "throw" or "branch".');
  if (!isSerde(serde))
    throw new InvalidOptionError("serde", shown(serde), "Pass an object with dumpsTyped and loadsTyped.");
  const cipher = options.encryption === undefined ? undefined : new Cipher(options.encryption);
  return {
    serde,
    conflict,
    patchMemory: bytesOf("patchMemory", options.patchMemory ?? "128mb"),
    maxValueBytes:
      options.maxValueSize === undefined
        ? defaultMaxValueBytes
        : bytesOf("maxValueSize", options.maxValueSize),
    cipher,
    hashKey: cipher?.hashKey,
    threadTags: checkedNames(options.threadTags ?? []),
  };
}

/** Names of tags; a copy. @throws InvalidOptionError */
function checkedNames(names: unknown): readonly string[] {
  if (!Array.isArray(names))
    throw new InvalidOptionError(
      "threadTags",
      shown(names),
      'Pass a list of names in config.configurable or config.metadata: ["user_id"].',
    );
  return Array.from(new Set<unknown>(names), (name, n) => checkTagName(`threadTags[${n}]`, name));
}
