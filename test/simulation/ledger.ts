import type { Checkpoint, CheckpointMetadata, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";

/** Ids that grow with `n`. */
export function idOf(n: number): string {
  return `1ef00000-0000-6000-8000-${String(n).padStart(12, "0")}`;
}

/** A config of a thread, of a checkpoint if it is named. */
export function configOf(threadId: string, checkpointId?: string): { configurable: Record<string, string> } {
  const id = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
  return { configurable: { thread_id: threadId, checkpoint_ns: "", ...id } };
}

/** Long enough for a blob of its own. */
export function text(what: string): string {
  return `${what} ${"and so on ".repeat(12)}`;
}

/** One checkpoint that somebody tried to put. */
interface Attempt {
  readonly id: string;
  readonly parent: string | undefined;
  readonly value: string;
  /** Whether the put was acknowledged: false where it failed, and may be there or not. */
  acknowledged: boolean;
  /** Pending writes by task, and whether they were acknowledged. */
  readonly writes: Map<string, boolean>;
}

/** The codes by which a saver may refuse a turn of a healthy writer: a lost race, a deletion, a storage that is away. */
const expected: ReadonlySet<string> = new Set([
  "CHECKPOINT_CONFLICT",
  "THREAD_DELETED",
  "STALE_READ",
  "UNAVAILABLE",
  "ARCHIVE_UNAVAILABLE",
  "OVERLOADED",
]);

/** Whether an error is one that a user is told to expect, and that leaves the storage as it should be. */
export function isExpected(error: unknown): boolean {
  return StratigraphError.is(error) && expected.has(error.code);
}

/**
 * What several writers did to one thread, and what a reader must find of it afterwards: what was acknowledged, whole and once; of the
 * rest all or nothing; and of nobody else anything.
 */
export class Ledger {
  readonly threadId: string;
  readonly attempts = new Map<string, Attempt>();
  #ids: number;

  /** @param after ids begin after this number, so that those of several lives of a thread differ */
  constructor(threadId: string, after = 0) {
    this.threadId = threadId;
    this.#ids = after;
  }

  /** One turn: reads the head, puts a checkpoint on it, and gives that pending writes. @returns the id, if both were acknowledged */
  async turn(saver: TierSaver, tasks: readonly string[] = []): Promise<string | undefined> {
    const { threadId } = this;
    try {
      const found = await saver.getTuple(configOf(threadId));
      this.check(found);
      const parent = found?.checkpoint.id;
      this.#ids += 1;
      const id = idOf(this.#ids);
      const attempt = { id, parent, value: text(id), acknowledged: false, writes: new Map() };
      this.attempts.set(id, attempt);
      const before = found === undefined ? [] : (found.checkpoint.channel_values["line"] as string[]);
      const version = before.length + 1;
      const checkpoint: Checkpoint = {
        v: 4,
        id,
        ts: "2026-01-01T00:00:00.000Z",
        channel_values: { value: attempt.value, line: [...before, id] },
        channel_versions: { value: version, line: version },
        versions_seen: {},
      };
      const metadata: CheckpointMetadata = { source: "loop", step: version, parents: {} };
      await saver.put(configOf(threadId, parent), checkpoint, metadata, { value: version, line: version });
      attempt.acknowledged = true;
      for (const task of tasks) await this.write(saver, id, task);
      return id;
    } catch (error) {
      if (!isExpected(error)) throw error;
      return undefined;
    }
  }

  /** Gives a checkpoint pending writes. @throws what the saver throws */
  async write(saver: TierSaver, id: string, task: string): Promise<void> {
    const { writes } = this.attempts.get(id)!;
    writes.set(task, false);
    await saver.putWrites(configOf(this.threadId, id), [["value", text(`${id} ${task}`)]], task);
    writes.set(task, true);
  }

  /** Whether what was read is what was put. @throws Error where it isn't */
  check(tuple: CheckpointTuple | undefined): void {
    if (tuple === undefined) return;
    const { id } = tuple.checkpoint;
    const attempt = this.attempts.get(id);
    if (attempt === undefined) throw new Error(`Checkpoint ${id} is there, and nobody put it`);
    const line = this.#lineTo(id);
    expect(tuple.checkpoint.channel_values).toEqual({ value: attempt.value, line });
    expect(tuple.parentConfig?.configurable?.["checkpoint_id"]).toBe(attempt.parent);
    const tasks = (tuple.pendingWrites ?? []).map(([task]) => task);
    expect(new Set(tasks).size, `pending writes of ${id} are there once: ${tasks.join()}`).toBe(tasks.length);
    for (const [task, , value] of tuple.pendingWrites ?? []) {
      if (!attempt.writes.has(task))
        throw new Error(`Pending writes of ${task} on ${id}, and nobody put them`);
      expect(value).toBe(text(`${id} ${task}`));
    }
  }

  /** What a reader finds at last. Every checkpoint that was acknowledged, with what was acknowledged of its pending writes. */
  async checkAll(saver: TierSaver): Promise<void> {
    const found = new Map<string, CheckpointTuple>();
    for await (const tuple of saver.list(configOf(this.threadId))) {
      if (found.has(tuple.checkpoint.id))
        throw new Error(`Checkpoint ${tuple.checkpoint.id} is listed twice`);
      found.set(tuple.checkpoint.id, tuple);
      this.check(tuple);
    }
    for (const { id, acknowledged, writes } of this.attempts.values()) {
      if (!acknowledged) continue;
      const tuple = found.get(id);
      if (tuple === undefined) throw new Error(`Checkpoint ${id} was acknowledged, and isn't listed`);
      const read = await saver.getTuple(configOf(this.threadId, id));
      if (read === undefined) throw new Error(`Checkpoint ${id} was acknowledged, and can't be read`);
      this.check(read);
      const tasks = (read.pendingWrites ?? []).map(([task]) => task);
      for (const [task, isAcknowledged] of writes)
        if (isAcknowledged && !tasks.includes(task))
          throw new Error(`Pending writes of ${task} on ${id} were acknowledged, and are gone`);
    }
    const head = await saver.getTuple(configOf(this.threadId));
    this.check(head);
    const newest = [...found.keys()].sort().at(-1);
    expect(head?.checkpoint.id, "the head is the newest checkpoint").toBe(newest);
  }

  /** Whether a tier has the pending writes of each task once: what a saver reads hides the older ones of a task. */
  async checkStored(tier: Tier): Promise<void> {
    for (const checkpointId of this.attempts.keys()) {
      const { writes } = await tier.peek({ threadId: this.threadId, namespace: "", checkpointId });
      const tasks = writes.map(({ taskId }) => taskId);
      expect(new Set(tasks).size, `stored once on ${checkpointId}: ${tasks.join()}`).toBe(tasks.length);
    }
  }

  /** Nothing of it is there any more. */
  async checkGone(saver: TierSaver): Promise<void> {
    expect(await saver.getTuple(configOf(this.threadId))).toBeUndefined();
    for await (const { checkpoint } of saver.list(configOf(this.threadId)))
      throw new Error(`Checkpoint ${checkpoint.id} is there after the deletion`);
  }

  #lineTo(id: string | undefined): string[] {
    if (id === undefined) return [];
    return [...this.#lineTo(this.attempts.get(id)!.parent), id];
  }
}
