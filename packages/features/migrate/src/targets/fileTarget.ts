import { randomBytes } from "node:crypto";
import { createWriteStream, type WriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { once } from "node:events";
import { finished, pipeline } from "node:stream/promises";
import type { Writable } from "node:stream";
import type { ChannelVersions, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StratigraphError, StratigraphSerializer } from "@stratigraph/core";
import { messageOf, rewindMark, statusTerms, writeIndex } from "@stratigraph/core/internal";
import { isReserved } from "@stratigraph/core/tier";
import type { CallsOfThread } from "../contract/calls.ts";
import { writeCount } from "../contract/outline.ts";
import type { SourceBatch, SourceCheckpoint, SourceThread, SourceWrite } from "../contract/source.ts";
import type { ThreadTarget, WriteOptions, WrittenThread } from "../contract/target.ts";
import { isOfOneThread } from "../copy/isOfOneThread.ts";
import { compressing, compressionOf } from "../file/compression.ts";
import { fileError } from "../file/fileError.ts";
import { format, formatVersion, valueText, type ThreadEndLine, type ThreadLine } from "../file/lines.ts";
import { Checksum, readLines } from "../file/readLines.ts";

/** Options of {@link fileTarget}. */
export interface FileTargetOptions {
  /** *.jsonl, *.jsonl.gz or *.jsonl.zst. An existing file is replaced once the new one is complete. */
  readonly path: string;
  /** The serializer of the values. Default: Stratigraph's own. */
  readonly serde?: SerializerProtocol | undefined;
}

/**
 * A file with one JSON record per line. It is written under another name in the same folder, and renamed once it is complete and was
 * read back. Until then an existing file stays. An export that fails or is interrupted leaves nothing behind.
 * @throws InvalidOptionError if the file's name doesn't end in one of the known ways
 */
export function fileTarget({ path, serde = new StratigraphSerializer() }: FileTargetOptions): ThreadTarget {
  const compression = compressionOf(path);
  return new FileTarget(path, serde, compression);
}

class FileTarget implements ThreadTarget {
  readonly name: string;
  readonly resumable = false;
  readonly #path: string;
  readonly #partial: string;
  readonly #serde: SerializerProtocol;
  readonly #file: WriteStream;
  /** The file, or the stream that compresses into it. */
  readonly #into: Writable;
  /** Resolves once everything is on the disk; rejects if it can't be written. */
  readonly #written: Promise<void>;
  readonly #whole = new Checksum();
  readonly #thread = new Checksum();
  #begun = false;
  #isPlaced = false;
  #threads = 0;
  #checkpoints = 0;
  #verify = false;

  constructor(path: string, serde: SerializerProtocol, compression: ReturnType<typeof compressionOf>) {
    this.name = `the file ${path}`;
    this.#path = path;
    // The random mark keeps two exports at once from writing to the same file. The end of the name says how it is compressed.
    const mark = randomBytes(4).toString("hex");
    this.#partial = path.replace(/(\.jsonl(\.\w+)?)$/, `.partial-${mark}$1`);
    this.#serde = serde;
    this.#file = createWriteStream(this.#partial, { flush: true });
    if (compression === "none") {
      this.#into = this.#file;
      this.#written = finished(this.#file);
    } else {
      const compressor = compressing(compression);
      this.#into = compressor;
      this.#written = pipeline(compressor, this.#file);
    }
    // The next call that writes or finishes gets the error.
    this.#into.on("error", () => undefined);
    this.#written.catch(() => undefined);
  }

  async write(thread: SourceThread, { verify, wrote }: WriteOptions): Promise<WrittenThread> {
    await this.#begin();
    this.#verify ||= verify;
    this.#thread.restart();
    await this.#line(JSON.stringify(threadLine(thread, (await thread.elsewhere?.())?.get(thread.threadId))));
    const before = new Map<string, SourceCheckpoint>();
    const done = { checkpoints: 0, writes: 0, skipped: 0, leftOut: 0, differences: [] };
    try {
      for await (const each of thread.checkpoints()) {
        await this.#line(await this.#checkpointText(each, before.get(each.namespace)));
        before.set(each.namespace, each);
        done.checkpoints += 1;
        done.writes += writeCount(each);
        wrote(each);
      }
    } catch (error) {
      // Lines of the thread that were already written can't be removed. They are marked, so that nobody imports a part of a thread.
      if (isOfOneThread(error)) await this.#endThread(thread, done, { failed: error.message });
      throw error;
    }
    await this.#endThread(thread, done, {});
    return done;
  }

  async #endThread(
    { threadId }: SourceThread,
    { checkpoints }: WrittenThread,
    failed: Pick<ThreadEndLine, "failed">,
  ): Promise<void> {
    const line: ThreadEndLine = { threadEnd: threadId, ...failed, sha256: this.#thread.sum() };
    await this.#line(JSON.stringify(line));
    this.#threads += 1;
    this.#checkpoints += checkpoints;
  }

  async finish(): Promise<void> {
    await this.#begin();
    const counts = { threads: this.#threads, checkpoints: this.#checkpoints };
    await this.#line(JSON.stringify({ end: counts, sha256: this.#whole.sum() }));
    this.#into.end();
    await this.#untilFailure(this.#written);
    if (this.#verify) for await (const _ of readLines(this.#partial));
    await this.#untilFailure(rename(this.#partial, this.#path));
    this.#isPlaced = true;
  }

  async close(): Promise<void> {
    if (this.#isPlaced) return;
    for (const stream of [this.#into, this.#file]) stream.destroy();
    // A stream that is still opening its file would create it after the removal.
    if (!this.#file.closed) await new Promise<void>((resolve) => this.#file.once("close", () => resolve()));
    await rm(this.#partial, { force: true });
  }

  async #begin(): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    const serde = this.#serde instanceof StratigraphSerializer ? "stratigraph" : this.#serde.constructor.name;
    await this.#line(JSON.stringify({ format, version: formatVersion, serde }));
  }

  async #line(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#whole.add(bytes);
    this.#thread.add(bytes);
    this.#into.write(bytes);
    if (!this.#into.write("\n")) await this.#untilFailure(once(this.#into, "drain"));
  }

  /** Waits for `work`, but no longer than until the file fails: a stream whose destination is gone never drains. */
  async #untilFailure(work: Promise<unknown>): Promise<void> {
    const failure = this.#written.then(() => work);
    try {
      await Promise.race([work, failure]);
    } catch (error) {
      throw this.#unwritable(error);
    }
  }

  #unwritable(cause: unknown): StratigraphError {
    const known = fileError(this.#path, cause);
    if (known !== undefined) return known;
    const why = messageOf(cause);
    const message = `The file ${JSON.stringify(this.#path)} can't be written: ${why}. Nothing is left of it; repeat the export.`;
    return new StratigraphError("UNAVAILABLE", message, { path: this.#path }, cause);
  }

  async #checkpointText(each: SourceCheckpoint, before: SourceCheckpoint | undefined): Promise<string> {
    const { channel_values, ...header } = each.checkpoint;
    // Each record that a package keeps has values of its own, under equal versions.
    const isParent =
      !isReserved(each.namespace) &&
      before?.checkpointId === each.parentId &&
      before?.stateVersion === each.stateVersion;
    const earlier = isParent ? before?.checkpoint : undefined;
    const same: string[] = [];
    const values: string[] = [];
    for (const [channel, value] of Object.entries(channel_values)) {
      if (value === undefined) continue;
      if (earlier !== undefined && isUnchanged(channel, header.channel_versions, earlier)) same.push(channel);
      else values.push(`${JSON.stringify(channel)}:${await valueText(this.#serde, value)}`);
    }
    const { batches = asBatches(each.writes) } = each;
    const isNamed = batches.some(({ taskId }) => rewindMark(taskId) !== undefined);
    const written: string[] = [];
    for (const { taskId, taskPath, batchId, name, omitted, stateVersion, counts, writes } of batches) {
      const state = versionText(stateVersion);
      const about = JSON.stringify({
        task: taskId,
        path: taskPath || undefined,
        batch: batchId,
        name: isNamed ? name : undefined,
        omitted,
        state,
        aside: counts ? undefined : true,
      });
      const texts: string[] = [];
      for (const { index, channel, value } of writes)
        texts.push(
          `{"index":${index},"channel":${JSON.stringify(channel)},"value":${await valueText(this.#serde, value)}}`,
        );
      written.push(`${about.slice(0, -1)},"writes":[${texts.join()}]}`);
    }
    const about = JSON.stringify({
      namespace: each.namespace,
      id: each.checkpointId,
      run: each.runId,
      state: versionText(each.stateVersion),
      made: each.consumed,
      terms: termsToSay(each),
      header,
      same,
    });
    const metadata = await valueText(this.#serde, each.metadata);
    return `{"checkpoint":${about.slice(0, -1)},"metadata":${metadata},"values":{${values.join()}},"batches":[${written.join()}]}}`;
  }
}

/** Files have no version where it is 1, so that readers that don't know of versions read them. */
function versionText(stateVersion: number | undefined): number | undefined {
  return stateVersion === 1 ? undefined : stateVersion;
}

/** Whether a channel has the same value as in the parent, which it has if its version is the same. */
function isUnchanged(
  channel: string,
  versions: ChannelVersions,
  before: SourceCheckpoint["checkpoint"],
): boolean {
  const version = versions[channel];
  return (
    version !== undefined &&
    before.channel_versions[channel] === version &&
    before.channel_values[channel] !== undefined
  );
}

/** Terms that an import can't make of the content: those of records that packages keep, and of namespaces that count as not begun. */
function termsToSay({ namespace, terms }: SourceCheckpoint): readonly number[] | undefined {
  const { idle, interrupted } = statusTerms;
  const follows = terms?.includes(idle) === true || terms?.includes(interrupted) === true;
  return isReserved(namespace) || !follows ? terms : undefined;
}

/** Pending writes of a source without batches: one for each task and version of the state. */
function asBatches(writes: readonly SourceWrite[]): readonly SourceBatch[] {
  const batches = new Map<string, SourceBatch>();
  for (const { taskId, taskPath = "", index, channel, value, stateVersion = 1 } of writes) {
    const key = `${stateVersion} ${taskId}`;
    const { writes: before = [] } = batches.get(key) ?? {};
    const write = { index: index ?? writeIndex(channel, before.length), channel, value };
    const about = { name: key, taskId, taskPath, batchId: undefined, stateVersion, counts: true };
    batches.set(key, { ...about, writes: [...before, write] });
  }
  return [...batches.values()];
}

function threadLine(
  { threadId, heads, outline, mixedUp, tags = [], openCalls = [] }: SourceThread,
  elsewhere: CallsOfThread = [],
): ThreadLine {
  return {
    thread: threadId,
    heads: Object.fromEntries(heads),
    outline: outline.map(({ namespace, checkpointId, parentId = null, lostTo, batchIds = [] }) => {
      const place = [namespace, checkpointId, parentId] as const;
      if (batchIds.length > 0) return [...place, lostTo ?? null, batchIds];
      return lostTo === undefined ? place : [...place, lostTo];
    }),
    ...(tags.length === 0
      ? {}
      : { tags: tags.map(({ key, value, hash = null }) => [key, value, hash] as const) }),
    ...(openCalls.length === 0 ? {} : { openCalls }),
    ...(elsewhere.length === 0 ? {} : { elsewhere }),
    ...(mixedUp.length === 0 ? {} : { mixedUp }),
  };
}
