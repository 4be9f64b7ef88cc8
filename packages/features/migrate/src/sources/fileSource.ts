import type { Checkpoint, CheckpointMetadata, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphError, StratigraphSerializer } from "@stratigraph/core";
import { mergeWrites } from "@stratigraph/core/internal";
import { damagedFile, valueIn, type CheckpointLine, type Line, type ThreadLine } from "../file/lines.ts";
import { readLines } from "../file/readLines.ts";
import type {
  Plan,
  SourceBatch,
  SourceCheckpoint,
  SourceThread,
  SourceSelection,
  SourceWrite,
  ThreadSource,
} from "../contract/source.ts";

/** Options of {@link fileSource}. */
export interface FileSourceOptions {
  /** *.jsonl, *.jsonl.gz or *.jsonl.zst. */
  readonly path: string;
  /** The serializer of the values. Default: Stratigraph's own. */
  readonly serde?: SerializerProtocol | undefined;
}

/** A file that `exportThreads` wrote. Its checksums are compared before the first thread is given out. */
export function fileSource({ path, serde = new StratigraphSerializer() }: FileSourceOptions): ThreadSource {
  let counted: Contents | undefined;
  const contents = async (): Promise<Contents> => (counted ??= await contentsOf(path));
  return {
    name: `the file ${path}`,
    plan: async () => (await contents()).plan,
    threads: async function* (selection) {
      yield* threadsOf(path, serde, (await contents()).failed, selection);
    },
    close: async () => undefined,
  };
}

/** The contents of a file, according to its lines. */
interface Contents {
  readonly plan: Plan;
  /** Threads of which a part is missing, and why. */
  readonly failed: ReadonlyMap<string, string>;
}

async function contentsOf(path: string): Promise<Contents> {
  const failed = new Map<string, string>();
  let threads = 0;
  let checkpoints = 0;
  for await (const line of readLines(path)) {
    if ("thread" in line) threads += 1;
    if ("checkpoint" in line) checkpoints += 1;
    if ("threadEnd" in line && line.failed !== undefined) failed.set(line.threadEnd, line.failed);
    if ("end" in line && (line.end.threads !== threads || line.end.checkpoints !== checkpoints))
      throw damagedFile(path, "its counts differ from those at its end");
  }
  return { plan: { threads, checkpoints }, failed };
}

async function* threadsOf(
  path: string,
  serde: SerializerProtocol,
  failed: Contents["failed"],
  { threadIds, after }: SourceSelection = {},
): AsyncGenerator<SourceThread> {
  const wanted = threadIds === undefined ? undefined : new Set(threadIds);
  let isAfter = after === undefined;
  let version = 1;
  const lines = readLines(path);
  for await (const line of uninterrupted(lines)) {
    if ("format" in line) version = line.version;
    if (!("thread" in line)) continue;
    if (isAfter && wanted?.has(line.thread) !== false) {
      const thread = new FileThread(line, lines, serde, failed.get(line.thread), version > 1);
      yield thread;
      await thread.close();
    }
    isAfter ||= line.thread === after;
  }
}

/** The lines, for a loop inside which other loops read on. With the plain generator, the end of an inner `for await` would end it. */
async function* uninterrupted(lines: AsyncGenerator<Line>): AsyncGenerator<Line> {
  try {
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) yield next.value;
  } finally {
    await lines.return(undefined);
  }
}

function unreadThen(threadId: string, why: string): StratigraphError {
  const what = `it couldn't be read when it was exported: ${why}`;
  return new StratigraphError("CORRUPT", `Thread ${JSON.stringify(threadId)}: ${what}`, { threadId, what });
}

/** One thread of a file, read as far as it is asked for. */
class FileThread implements SourceThread {
  readonly threadId: string;
  readonly outline: SourceThread["outline"];
  readonly heads: ReadonlyMap<string, string>;
  readonly mixedUp: SourceThread["mixedUp"];
  readonly tags: SourceThread["tags"];
  readonly openCalls: SourceThread["openCalls"];
  readonly elsewhere: NonNullable<SourceThread["elsewhere"]>;
  readonly once = true;
  readonly #lines: AsyncGenerator<Line>;
  readonly #serde: SerializerProtocol;
  /** Why a part of it is missing. */
  readonly #failed: string | undefined;
  #ended = false;

  constructor(
    line: ThreadLine,
    lines: AsyncGenerator<Line>,
    serde: SerializerProtocol,
    failed: string | undefined,
    hasBatches: boolean,
  ) {
    this.threadId = line.thread;
    this.outline = line.outline.map(([namespace, checkpointId, parent, lostTo, batches]) => ({
      namespace,
      checkpointId,
      parentId: parent ?? undefined,
      ...(typeof lostTo === "string" ? { lostTo } : {}),
      batchIds: hasBatches ? (batches ?? []) : undefined,
    }));
    this.tags = line.tags?.map(([key, value, hash]) => ({ key, value, hash }));
    this.openCalls = line.openCalls;
    this.elsewhere = async () => new Map([[line.thread, line.elsewhere ?? []]]);
    this.heads = new Map(Object.entries(line.heads));
    this.mixedUp = line.mixedUp ?? [];
    this.#lines = lines;
    this.#serde = serde;
    this.#failed = failed;
  }

  async *checkpoints(): AsyncGenerator<SourceCheckpoint> {
    if (this.#failed !== undefined) throw unreadThen(this.threadId, this.#failed);
    const before = new Map<string, Checkpoint["channel_values"]>();
    for (const entry of this.outline) {
      const line = await this.#next();
      if (!("checkpoint" in line)) throw new RangeError("a checkpoint is missing");
      const values = await this.#values(line.checkpoint, before.get(entry.namespace) ?? {});
      before.set(entry.namespace, values);
      yield { ...entry, ...(await this.#checkpoint(line.checkpoint, values)) };
    }
  }

  async close(): Promise<void> {
    while (!this.#ended) await this.#next();
  }

  async #next(): Promise<Line> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new RangeError("the file ended");
    if ("threadEnd" in value) this.#ended = true;
    return value;
  }

  async #values(
    line: CheckpointLine["checkpoint"],
    before: Checkpoint["channel_values"],
  ): Promise<Checkpoint["channel_values"]> {
    const values: [string, unknown][] = line.same.map((channel) => [channel, before[channel]]);
    for (const [channel, value] of Object.entries(line.values))
      values.push([channel, await valueIn(this.#serde, value)]);
    return Object.fromEntries(values);
  }

  async #checkpoint(line: CheckpointLine["checkpoint"], channel_values: Checkpoint["channel_values"]) {
    return {
      checkpoint: { ...line.header, channel_values } as unknown as Checkpoint,
      metadata: (await valueIn(this.#serde, line.metadata)) as CheckpointMetadata,
      ...(await this.#writes(line)),
      stateVersion: line.state,
      runId: line.run,
      consumed: line.made,
      terms: line.terms,
    };
  }

  async #writes(line: CheckpointLine["checkpoint"]): Promise<Pick<SourceCheckpoint, "writes" | "batches">> {
    const { batches: stored, writes: listed = [] } = line;
    if (stored === undefined) {
      const writes: SourceWrite[] = [];
      for (const { task, path, state, index, channel, value } of listed)
        writes.push({
          taskId: task,
          taskPath: path,
          index,
          channel,
          stateVersion: state,
          value: await valueIn(this.#serde, value),
        });
      return { writes };
    }
    const batches: SourceBatch[] = [];
    for (const [
      n,
      { task, path = "", batch, name = String(n), omitted, state = 1, aside, writes },
    ] of stored.entries()) {
      const about = { name, taskId: task, taskPath: path, batchId: batch, stateVersion: state };
      const revived: SourceBatch["writes"][number][] = [];
      for (const { index, channel, value } of writes)
        revived.push({ index, channel, value: await valueIn(this.#serde, value) });
      batches.push({ ...about, omitted, counts: aside !== true, writes: revived });
    }
    return { batches, writes: mergeWrites(batches.filter(({ counts }) => counts)) };
  }
}
