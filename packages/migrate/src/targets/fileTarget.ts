import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import type { Writable } from "node:stream";
import type { ChannelVersions, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { InvalidOptionError, StratigraphSerializer } from "@stratigraph/core";
import type { OutlineEntry, SourceCheckpoint, SourceThread } from "../contract/source.ts";
import type { ThreadTarget, WriteOptions, WrittenThread } from "../contract/target.ts";
import { compressing, compressionOf } from "../file/compression.ts";
import { format, formatVersion, valueText, type ThreadLine } from "../file/lines.ts";
import { Checksum, readLines } from "../file/readLines.ts";

/** Options of {@link fileTarget}. */
export interface FileTargetOptions {
  /** *.jsonl, *.jsonl.gz or *.jsonl.zst. One that is there is replaced once the new one is complete. */
  readonly path: string;
  /** What the values are serialised with. Default: Stratigraph's own. */
  readonly serde?: SerializerProtocol | undefined;
}

/** A file of one JSON record per line. It has its name once it is complete, and was read back. @throws InvalidOptionError */
export function fileTarget({ path, serde = new StratigraphSerializer() }: FileTargetOptions): ThreadTarget {
  const compression = compressionOf(path);
  return new FileTarget(path, serde, compression);
}

class FileTarget implements ThreadTarget {
  readonly name: string;
  readonly #path: string;
  readonly #partial: string;
  readonly #serde: SerializerProtocol;
  readonly #into: Writable;
  readonly #file: Writable;
  readonly #whole = new Checksum();
  readonly #thread = new Checksum();
  #failed: Error | undefined;
  #begun = false;
  #threads = 0;
  #checkpoints = 0;
  #verify = false;

  constructor(path: string, serde: SerializerProtocol, compression: ReturnType<typeof compressionOf>) {
    this.name = `the file ${path}`;
    this.#path = path;
    // The end of the name says how it is compressed.
    this.#partial = path.replace(/(\.jsonl(\.\w+)?)$/, ".partial$1");
    this.#serde = serde;
    this.#file = createWriteStream(this.#partial);
    this.#into = compression === "none" ? this.#file : compressing(compression);
    if (this.#into !== this.#file) this.#into.pipe(this.#file);
    for (const stream of new Set([this.#file, this.#into]))
      stream.on("error", (error: Error) => (this.#failed ??= error));
  }

  async write(thread: SourceThread, { verify, wrote }: WriteOptions): Promise<WrittenThread> {
    await this.#begin();
    this.#verify ||= verify;
    this.#thread.restart();
    await this.#line(JSON.stringify(threadLine(thread)));
    const before = new Map<string, SourceCheckpoint>();
    const done = { checkpoints: 0, writes: 0, skipped: 0, leftOut: 0, differences: [] };
    for await (const each of thread.checkpoints()) {
      await this.#line(await this.#checkpointText(each, before.get(each.namespace)));
      before.set(each.namespace, each);
      done.checkpoints += 1;
      done.writes += each.writes.length;
      wrote(each);
    }
    await this.#line(JSON.stringify({ threadEnd: thread.threadId, sha256: this.#thread.sum() }));
    this.#threads += 1;
    this.#checkpoints += done.checkpoints;
    return done;
  }

  async finish(): Promise<void> {
    await this.#begin();
    const counts = { threads: this.#threads, checkpoints: this.#checkpoints };
    await this.#line(JSON.stringify({ end: counts, sha256: this.#whole.sum() }));
    this.#into.end();
    await finished(this.#file);
    if (this.#verify) for await (const _ of readLines(this.#partial));
    await rename(this.#partial, this.#path);
  }

  async close(): Promise<void> {
    if (this.#file.writableFinished) return;
    this.#into.destroy();
    this.#file.destroy();
    await rm(this.#partial, { force: true });
  }

  async #begin(): Promise<void> {
    if (this.#begun) return;
    this.#begun = true;
    const serde = this.#serde instanceof StratigraphSerializer ? "stratigraph" : this.#serde.constructor.name;
    await this.#line(JSON.stringify({ format, version: formatVersion, serde }));
  }

  async #line(text: string): Promise<void> {
    if (this.#failed !== undefined) throw unwritable(this.#path, this.#failed);
    const bytes = Buffer.from(text);
    this.#whole.add(bytes);
    this.#thread.add(bytes);
    this.#into.write(bytes);
    if (this.#into.write("\n")) return;
    try {
      await once(this.#into, "drain");
    } catch (error) {
      throw unwritable(this.#path, error as Error);
    }
  }

  async #checkpointText(each: SourceCheckpoint, before: SourceCheckpoint | undefined): Promise<string> {
    const { channel_values, ...header } = each.checkpoint;
    const earlier = before?.checkpointId === each.parentId ? before?.checkpoint : undefined;
    const same: string[] = [];
    const values: string[] = [];
    for (const [channel, value] of Object.entries(channel_values)) {
      if (value === undefined) continue;
      if (earlier !== undefined && isUnchanged(channel, header.channel_versions, earlier)) same.push(channel);
      else values.push(`${JSON.stringify(channel)}:${await valueText(this.#serde, value)}`);
    }
    const writes: string[] = [];
    for (const { taskId, taskPath, index, channel, value } of each.writes) {
      const about = JSON.stringify({ task: taskId, path: taskPath || undefined, index, channel });
      writes.push(`${about.slice(0, -1)},"value":${await valueText(this.#serde, value)}}`);
    }
    const about = JSON.stringify({
      namespace: each.namespace,
      id: each.checkpointId,
      run: each.runId,
      header,
      same,
    });
    const metadata = await valueText(this.#serde, each.metadata);
    return `{"checkpoint":${about.slice(0, -1)},"metadata":${metadata},"values":{${values.join()}},"writes":[${writes.join()}]}}`;
  }
}

/** Whether a channel has the value that it had in its parent: a version stands for a value. */
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

function threadLine({ threadId, heads, outline, mixedUp }: SourceThread): ThreadLine {
  return {
    thread: threadId,
    heads: Object.fromEntries(heads),
    outline: outline.map((entry: OutlineEntry & { readonly lostTo?: string | undefined }) => {
      const place = [entry.namespace, entry.checkpointId, entry.parentId ?? null] as const;
      return entry.lostTo === undefined ? place : [...place, entry.lostTo];
    }),
    ...(mixedUp.length === 0 ? {} : { mixedUp }),
  };
}

function unwritable(path: string, cause: Error): InvalidOptionError {
  return new InvalidOptionError("file", path, `It can't be written: ${cause.message}`);
}
