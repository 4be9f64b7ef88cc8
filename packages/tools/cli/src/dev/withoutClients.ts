import { isDeepStrictEqual } from "node:util";
import type { ApiRun, ApiThread, OpsData } from "./internals.ts";

/** What the server itself puts into `configurable`, and where a run begins. The rest comes from clients and from who they are. */
const own = new Set([
  "thread_id",
  "run_id",
  "graph_id",
  "assistant_id",
  "checkpoint_id",
  "checkpoint_ns",
  "checkpoint_map",
]);
/** Every client sends it. */
const agent = "user-agent";

interface Configured {
  readonly config?: { readonly configurable?: Readonly<Record<string, unknown>> } | undefined;
  readonly context?: unknown;
}

/** A run as it is in the file. */
interface StoredRun extends ApiRun {
  /** What a run that waits for its turn was given, and what isn't in the file. */
  lacks?: readonly string[];
}

/** Threads in a file of an earlier version, and which of them were seen in the storage. */
export interface OldThreads {
  readonly threads: Record<string, Pick<ApiThread, "thread_id" | "metadata">>;
  readonly in_storage: Record<string, true>;
}

/**
 * What the server's file may hold. Not what clients pass as headers, `configurable` and context, which has keys, nor what is in the storage, which may be
 * encrypted: threads. A run that began is never given its input again, and the file, which is
 * written whole, would grow by each image that was ever sent.
 */
export function forFile(
  data: OpsData,
  { threads, in_storage }: OldThreads,
): Omit<OpsData, "threads"> & OldThreads {
  const of = <T>(parts: Record<string, T>, make: (part: T) => T) =>
    Object.fromEntries(Object.entries(parts).map(([id, part]) => [id, make(part)]));
  return {
    ...data,
    threads: of(threads, ({ thread_id, metadata }) => ({ thread_id, metadata })),
    in_storage,
    runs: of(data.runs, (run) => runForFile(run, assistantOf(data, run))),
  };
}

/**
 * Completes what was read from the file. Runs that wait for their turn and lack something fail.
 * @returns those
 */
export function fromFile(data: OpsData): { readonly run_id: string; readonly lacks: readonly string[] }[] {
  return Object.values(data.runs).flatMap((run: StoredRun) => {
    const { lacks, kwargs } = run;
    delete run.lacks;
    if (run.status !== "pending" || kwargs === undefined) return [];
    if (lacks !== undefined) {
      run.status = "error";
      return [{ run_id: run.run_id, lacks }];
    }
    const { config, context } = assistantOf(data, run);
    if (config?.configurable === undefined && context === undefined) return [];
    const configurable = { ...config?.configurable, ...kwargs.config?.configurable };
    data.runs[run.run_id] = {
      ...run,
      kwargs: {
        ...(context !== undefined && { context }),
        ...kwargs,
        config: { ...kwargs.config, configurable },
      },
    };
    return [];
  });
}

function assistantOf({ assistants }: OpsData, { assistant_id }: ApiRun): Configured {
  return (assistants[assistant_id ?? ""] ?? {}) as Configured;
}

function runForFile(run: ApiRun, assistant: Configured): ApiRun {
  if (run.kwargs === undefined) return run;
  const { context: _context, ...given } = run.kwargs;
  const kwargs = given.config === undefined ? given : { ...given, config: withoutOthers(given.config) };
  if (run.status === "pending") {
    const lacks = lackOf(run.kwargs, assistant);
    return { ...run, kwargs, ...(lacks.length > 0 && { lacks }) };
  }
  const {
    input: _input,
    command: _command,
    webhook: _webhook,
    ...rest
  } = kwargs as typeof kwargs & { webhook?: unknown };
  return { ...run, kwargs: rest };
}

/** The names of what a run was given beyond what its assistant gives. */
function lackOf({ config, context }: Configured, assistant: Configured): string[] {
  const ofAssistant = assistant.config?.configurable ?? {};
  const names = Object.entries(config?.configurable ?? {}).flatMap(([name, value]) =>
    own.has(name) || name === agent || value === undefined || isDeepStrictEqual(value, ofAssistant[name])
      ? []
      : [name],
  );
  const isOwn =
    Object.keys(Object(context) as object).length > 0 && !isDeepStrictEqual(context, assistant.context);
  return isOwn ? [...names, "context"] : names;
}

function withoutOthers<T extends Configured["config"]>(config: T): T {
  if (config?.configurable === undefined) return config;
  const kept = Object.entries(config.configurable).filter(([name]) => own.has(name));
  return { ...config, configurable: Object.fromEntries(kept) };
}
