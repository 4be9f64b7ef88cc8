import type { RunnableConfig } from "@langchain/core/runnables";
import { randomBytes } from "node:crypto";
import { addressKey } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { checkpointIdOf } from "./address.ts";
import { runOf } from "./headRights.ts";
import { isExitTask, NULL_TASK, taskIdsOfNoTask } from "../langgraph/taskIds.ts";
import { numberOf, ranges, writerOf } from "../encode/batchIds.ts";
import type { OpenedBatch } from "../encode/pendingWrites.ts";
import type { Consumed } from "../encode/record.ts";
import type { Address } from "../contract/tier.ts";

/** Ids of writers outside runs begin with this. */
const outside = "~";

/** For how many checkpoints the batches that were handed out outside runs are remembered. About 200 bytes each. */
const rememberedOutside = 10_000;

/** The same for one run. It is more than the number of namespaces that a run has under way at once. */
const rememberedInRun = 4096;

/** Ends the id of a batch that counts only for checkpoints of its own writer. */
export const ownOnly = "!";

/** Whether a run of LangGraph made a checkpoint, by what it says it was made from. */
export function isOfRun(consumed: Consumed): boolean {
  return consumed?.[0]?.startsWith(outside) === false;
}

/** The parts of a checkpoint being put that {@link Writers} look at. */
interface Put {
  readonly checkpoint: Pick<Checkpoint, "channel_values">;
  readonly metadata: { readonly source?: unknown };
}

/** The parts of a checkpoint being handed out that {@link Writers} look at. */
interface HandedOut {
  readonly parentId: string | undefined;
  readonly consumed: Consumed;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A checkpoint that may be copied: its parent, and which of its parent's batches it was made from. */
interface Copied {
  readonly parent: string;
  readonly consumed: Consumed;
}

/** A batch that was handed out: who wrote it, and for which task. */
interface Seen {
  readonly batchId: string;
  readonly taskId: string;
}

/** A batch that a writer wrote itself. */
interface Wrote extends Seen {
  readonly number: number;
  /** Settles when its putWrites does; undefined once the batch is stored. */
  storing: Promise<unknown> | undefined;
  failed: boolean;
}

interface Writer {
  readonly id: string;
  batches: number;
  /** By checkpoint, the batches that the writer received with it; none for checkpoints that it put itself. */
  readonly seen: Map<string, readonly Seen[]>;
  /** By checkpoint, the batches that it wrote there. */
  readonly wrote: Map<string, Wrote[]>;
  /** Whether any of them failed. */
  hasFailed: boolean;
}

function newWriter(prefix: string): Writer {
  const id = `${prefix}${randomBytes(4).toString("base64url")}`;
  return { id, batches: 0, seen: new Map(), wrote: new Map(), hasFailed: false };
}

/**
 * Gives each batch of pending writes an id that names its writer, and determines which of them a checkpoint was made from. Two runs that start from one
 * checkpoint both leave their writes on it, under the same task ids, before one of them wins the race for the next checkpoint. A
 * DeltaChannel is rebuilt from these writes. So each batch names its writer, each child checkpoint names the batches that it was made from,
 * and a history reads only those.
 *
 * A writer is a run (see {@link runOf}). Outside runs it is the config object, as LangGraph's updateState uses the same one for
 * its writes and its checkpoint. A checkpoint whose writer never read the parent, as in an import, counts as made from all
 * batches that are there.
 */
export class Writers {
  readonly #byRun = new WeakMap<object, Writer>();
  readonly #byConfig = new WeakMap<object, { readonly writer: Writer; readonly wrote: Set<string> }>();
  readonly #seenOutside = remembering<readonly Seen[]>(rememberedOutside);
  /** By checkpoint, the ids of the batches that were written to it outside runs. */
  readonly #wroteOutside = remembering<string[]>(rememberedOutside);
  /** By parent, the child that was handed out last, because LangGraph's `__copy__` puts its copy under the same parent. */
  readonly #copied = remembering<Copied>(rememberedOutside);
  /** By value, the checkpoint that it was handed out with. A copy has the very same objects as values. */
  readonly #copiedByValue = new WeakMap<object, Copied>();

  /** Notes that the saver handed out a checkpoint with these batches. */
  handedOut(config: RunnableConfig, at: Address, batches: readonly OpenedBatch[], handed: HandedOut): void {
    const seen = batches.flatMap(({ taskId, batchId }) =>
      batchId === undefined || batchId.endsWith(ownOnly) ? [] : [{ batchId, taskId }],
    );
    const run = runOf(config);
    if (run !== undefined) {
      remember(this.#ofRun(run), at, seen);
      return;
    }
    // If the config names the checkpoint, LangGraph's updateState applies none of its pending writes.
    const isNamed = checkpointIdOf(config) !== undefined;
    this.#seenOutside.set(addressKey(at, at.checkpointId), isNamed ? [] : seen);
    if (handed.parentId === undefined) return;
    const parent = addressKey(at, handed.parentId);
    const copied: Copied = { parent, consumed: handed.consumed };
    this.#copied.set(parent, copied);
    for (const value of Object.values(handed.values))
      if (typeof value === "object" && value !== null) this.#copiedByValue.set(value, copied);
  }

  /** The id for a batch that is about to be written. */
  nextBatchId(config: RunnableConfig, at: Address, taskId: string): string {
    const run = runOf(config);
    const writer = run === undefined ? this.#ofConfig(config, at) : this.#ofRun(run);
    writer.batches += 1;
    const { durability } = config as { durability?: unknown };
    const isOwn = run !== undefined && durability === "exit" && isExitTask(taskId);
    return `${writer.id}.${writer.batches}${isOwn ? ownOnly : ""}`;
  }

  /**
   * Notes that a batch with an id of {@link nextBatchId} is on its way to the storage. A checkpoint that is put afterwards names the batch among
   * those that it was made from, unless the batch failed.
   * @param storing settles when its putWrites does
   */
  writing(config: RunnableConfig, at: Address, { batchId, taskId }: Seen, storing: Promise<unknown>): void {
    const key = addressKey(at, at.checkpointId);
    const run = runOf(config);
    const writer = run === undefined ? this.#ofConfig(config, at) : this.#ofRun(run);
    const own: Wrote = { batchId, taskId, number: numberOf(batchId), storing, failed: false };
    const wrote = writer.wrote.get(key) ?? [];
    wrote.push(own);
    renew(writer.wrote, key, wrote);
    const outside = run === undefined ? this.#noteOutside(key, batchId) : undefined;
    storing.then(
      () => stored(writer, wrote, own),
      () => {
        own.failed = true;
        writer.hasFailed = true;
        return outside?.splice(outside.indexOf(batchId), 1);
      },
    );
  }

  #noteOutside(key: string, batchId: string): string[] {
    const wrote = this.#wroteOutside.get(key) ?? [];
    if (wrote.length === 0) this.#wroteOutside.set(key, wrote);
    wrote.push(batchId);
    return wrote;
  }

  /**
   * Resolves when all batches are stored that the writer of `config` has written to a checkpoint so far; undefined if they are stored
   * already. Rejects with the error of a batch that wasn't stored: a checkpoint whose DeltaChannels are rebuilt from it must not be stored
   * either.
   */
  stored(config: RunnableConfig, parent: Address): Promise<unknown> | undefined {
    const run = runOf(config);
    const writer = run === undefined ? this.#byConfig.get(config)?.writer : this.#byRun.get(run);
    const wrote = writer?.wrote.get(addressKey(parent, parent.checkpointId)) ?? [];
    const waiting = wrote.flatMap(({ storing }) => (storing === undefined ? [] : [storing]));
    return waiting.length === 0 ? undefined : Promise.all(waiting);
  }

  /**
   * For a checkpoint that is about to be put: which batches of its parent it is made from.
   * @param parentId id of the parent
   */
  consumed(config: RunnableConfig, at: Address, parentId: string | undefined, put: Put): Consumed {
    const run = runOf(config);
    const parent = parentId === undefined ? undefined : { ...at, checkpointId: parentId };
    if (run === undefined) return parent === undefined ? undefined : this.#outside(config, parent, put);
    const writer = this.#ofRun(run);
    const seen = parent === undefined ? undefined : writer.seen.get(addressKey(parent, parent.checkpointId));
    // The run goes on from this checkpoint, to which nobody else has written yet.
    remember(writer, at, []);
    if (parent === undefined || seen === undefined) return undefined;
    return madeFrom(writer, byTasks(seen, parent), put.metadata.source, parent);
  }

  #outside(config: RunnableConfig, parent: Address, { metadata, checkpoint }: Put): Consumed {
    const { source } = metadata;
    const key = addressKey(parent, parent.checkpointId);
    if (source === "fork") return this.#copiedFrom(key, checkpoint.channel_values)?.consumed;
    const seen = this.#seenOutside.get(key);
    if (seen === undefined) return undefined;
    const own = this.#byConfig.get(config);
    if ((source === "update" || source === "input") && own?.wrote.has(key) === true)
      return madeFrom(own.writer, byTasks(seen, parent), undefined, parent);
    // It is made from the batches that were there when the parent was read. An import may have added some since, which count, too. An
    // update without writes added none, so batches that came since are those of other writers.
    const brought = source === "update" ? [] : (this.#wroteOutside.get(key) ?? []);
    const more = brought.filter((id) => !seen.some(({ batchId }) => batchId === id));
    return [newWriter(outside).id, ...seen.map(({ batchId }) => batchId), ...more];
  }

  /** The child of `parent` of which a checkpoint with these values is a copy. */
  #copiedFrom(parent: string, values: Readonly<Record<string, unknown>>): Copied | undefined {
    for (const value of Object.values(values)) {
      const copied = typeof value === "object" && value !== null ? this.#copiedByValue.get(value) : undefined;
      if (copied?.parent === parent) return copied;
    }
    return this.#copied.get(parent);
  }

  #ofRun(run: object): Writer {
    let writer = this.#byRun.get(run);
    if (writer === undefined) this.#byRun.set(run, (writer = newWriter("")));
    return writer;
  }

  #ofConfig(config: RunnableConfig, at: Address): Writer {
    let known = this.#byConfig.get(config);
    if (known === undefined) {
      known = { writer: newWriter(outside), wrote: new Set() };
      this.#byConfig.set(config, known);
    }
    known.wrote.add(addressKey(at, at.checkpointId));
    return known.writer;
  }
}

function stored({ hasFailed }: Writer, wrote: readonly Wrote[], own: Wrote): void {
  own.storing = undefined;
  // The caller repeated the batches that failed before.
  if (hasFailed)
    for (const each of wrote) if (each.failed && each.taskId === own.taskId) each.storing = undefined;
}

function remember({ seen }: Writer, at: Address, batches: readonly Seen[]): void {
  renew(seen, addressKey(at, at.checkpointId), batches);
}

/** Sets an entry as the newest of a map, and drops the oldest entry if there are too many. */
function renew<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > rememberedInRun) for (const oldest of map.keys()) return void map.delete(oldest);
}

/** The batches that tasks wrote. Runs and updates don't use what LangGraph's updateState or new input wrote to a checkpoint. */
function byTasks(seen: readonly Seen[], { checkpointId }: Address): readonly Seen[] {
  if (seen.length === 0) return seen;
  const others = taskIdsOfNoTask(checkpointId, seen.length);
  return seen.filter(({ taskId }) => !others.has(taskId));
}

/** The batches that a writer's checkpoint is made from. A fork uses no pending writes; new input uses only the updates of a Command. */
function madeFrom(writer: Writer, seen: readonly Seen[], source: unknown, parent: Address): Consumed {
  const own = writer.id;
  if (source === "fork") return [own];
  const wanted = seen.filter(
    ({ batchId, taskId }) => writerOf(batchId) !== own && (source !== "input" || taskId === NULL_TASK),
  );
  const wrote = writer.wrote.get(addressKey(parent, parent.checkpointId)) ?? [];
  const numbers = wrote.flatMap(({ number, failed }) => (failed ? [] : [number]));
  return [own, ...ranges(numbers).map((range) => `${own}.${range}`), ...wanted.map(({ batchId }) => batchId)];
}
