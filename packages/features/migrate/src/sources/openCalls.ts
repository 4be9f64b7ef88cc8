import { isDeepStrictEqual } from "node:util";
import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";
import {
  archivedElsewhere,
  callsElsewhereTerm,
  listEach,
  runDeleted,
  statusAt,
} from "@stratigraph/core/internal";
import { reservedNamespaces, type CheckpointRecord } from "@stratigraph/core/tier";
import { entryKey } from "../contract/outline.ts";
import { isOfOneThread } from "../copy/isOfOneThread.ts";
import type { CallsElsewhere, CallsOfThread, KnownCall, Where } from "../contract/calls.ts";
import type { OutlineEntry } from "../contract/source.ts";

type Storage = Pick<TierSaver, "tier" | "coder">;

/** The parts of a journal's entry that are looked at; docs/format.md names its records. */
interface Entry {
  /** The id of its record. */
  readonly record: string;
  readonly seq: number;
  readonly event: {
    readonly type: string;
    readonly call?: string;
    readonly tool?: string;
    readonly effects?: string;
    readonly where?: Where;
    readonly happened?: boolean;
    readonly reason?: string;
  };
}

/** Reads the journals in which runs of other threads recorded calls (`configurable.journal`). */
export async function callsElsewhere(saver: TierSaver): Promise<CallsElsewhere> {
  const namespace = reservedNamespaces.calls;
  const unnamed: Error[] = [];
  const journals = await journalsOf(saver.tier, unnamed);
  const found = new Map<string, KnownCall[]>();
  const mayHave = (journal: string, status: "unknown" | "damaged") =>
    addTo(found, new Map([[anyThread, [{ call: unread, status, journal }]]]));
  for (const journal of journals) {
    const calls = await readCalls(saver, journal).catch((error: unknown) => {
      if (!isOfOneThread(error)) throw error;
    });
    addTo(found, calls?.ofOthers());
    if (calls?.isDamaged !== false) mayHave(journal, "damaged");
  }
  if (unnamed.length > 0) mayHave("", "damaged");
  for await (const journal of archivedElsewhere(saver.tier, () => undefined)) {
    if (!(await mayBeShared(saver.tier, journal))) continue;
    const { head } = await saver.tier.peek({ threadId: journal, namespace });
    if (head !== undefined) mayHave(journal, "unknown");
  }
  return found;
}

/** The journal of a conversation is taken for its own: others' calls in it can't be seen, and every thread would be told. */
async function mayBeShared(tier: Tier, threadId: string): Promise<boolean> {
  const { head, headless } = await tier.peek({ threadId, namespace: "" });
  return head === undefined && headless !== true;
}

/** The threads whose journals have calls of others, or may have. */
async function journalsOf(tier: Tier, unnamed: Error[]): Promise<ReadonlySet<string>> {
  const query = { namespace: reservedNamespaces.calls, terms: [callsElsewhereTerm], recordsOnly: true };
  const found = new Set<string>();
  const damaged: string[] = [];
  const onDamaged = (error: Error, threadId?: string): void => {
    if (threadId === undefined) unnamed.push(error);
    else damaged.push(threadId);
  };
  for await (const { record } of listEach(tier, query, onDamaged)) found.add(record.threadId);
  for (const threadId of damaged)
    if (await mayBeShared(tier, threadId).catch(() => true)) found.add(threadId);
  return found;
}

/** The thread of calls that can't be read: any thread's run may have made them. No thread has this id. */
const anyThread = "";

/** The call that stands for those of a journal that can't be read: it is in an archive that isn't open, or entries are damaged. */
const unread = "";

/** The calls of a thread, and those that may be its. */
export function callsOf(threadId: string, elsewhere: CallsElsewhere | undefined): CallsOfThread {
  const all = [threadId, anyThread].flatMap((each) => elsewhere?.get(each) ?? []);
  return all.filter(({ journal }) => journal !== threadId);
}

/** The threads that have calls in other journals, or of which that can't be told. @param all what was copied */
export function threadsIn(elsewhere: CallsElsewhere, all: readonly string[]): ReadonlySet<string> {
  const found = new Set([...elsewhere.keys(), ...(elsewhere.has(anyThread) ? all : [])]);
  found.delete(anyThread);
  return found;
}

/** Adds calls to others, by the thread whose run made them. */
export function addTo(found: Map<string, CallsOfThread>, more: CallsElsewhere = new Map()): void {
  for (const [thread, calls] of more) found.set(thread, [...(found.get(thread) ?? []), ...calls]);
}

/** Reads a journal. */
export async function readCalls(saver: Storage, threadId: string): Promise<OpenCalls> {
  const calls = new OpenCalls(saver, threadId);
  const query = { threadId, namespace: reservedNamespaces.calls, recordsOnly: true };
  for await (const { record } of saver.tier.list(query)) await calls.add(record);
  return calls;
}

/** The calls that their journal keeps from being made again, or asked about by nobody. */
export function kept(calls: CallsOfThread = []): CallsOfThread {
  return calls.filter(({ status }) => ["claimed", "unknown", "succeeded", "damaged"].includes(status));
}

/** Why nobody knows whether a thread has calls in a journal; undefined if it has this call. */
export function mayBeIn({ call, status, journal }: KnownCall): string | undefined {
  if (call !== unread) return undefined;
  const why =
    status === "damaged"
      ? "of which an entry can't be read; stratigraph verify says which"
      : "whose entries aren't in this storage; open it together with its archive";
  return `its calls may be in the journal of ${JSON.stringify(journal)}, ${why}`;
}

/** What an event makes of its call; events that aren't named change nothing. */
const statusAfter: Readonly<Record<string, string>> = {
  claimed: "claimed",
  unknown: "unknown",
  suspended: "suspended",
  succeeded: "succeeded",
  failed: "failed",
  denied: "denied",
  forgotten: "forgotten",
};

/**
 * The calls of a thread that would be made again, or asked about by nobody, in a copy without the journal. They are those whose outcome
 * isn't known, and those that succeeded in a step that hasn't ended.
 */
export class OpenCalls {
  readonly #saver: Storage;
  readonly #threadId: string;
  readonly #entries: Entry[] = [];
  /** States of calls whose entries were cut off. */
  readonly #cut: KnownCall[] = [];
  /** Tasks that wrote their output, by checkpoint. */
  readonly #ended = new Map<string, ReadonlySet<string>>();
  /** Whether an entry can't be read. */
  isDamaged = false;

  constructor(saver: Storage, threadId: string) {
    this.#saver = saver;
    this.#threadId = threadId;
  }

  /** Adds a record of the journal, in any order. A damaged one is told when the thread is read. */
  async add(record: CheckpointRecord): Promise<void> {
    const { tier, coder } = this.#saver;
    try {
      const body = await coder.decodeBody(record);
      const metadata = (await coder.metadata(record, body)) as unknown as Omit<Entry, "record">;
      const entry = { ...metadata, record: record.checkpointId };
      this.#entries.push(entry);
      if (entry.event.type !== "cut") return;
      const { checkpoint } = await tier.read({ ...record, threadId: this.#threadId });
      if (checkpoint === undefined) return;
      const { channel_values } = await coder.checkpoint(checkpoint, body, {});
      this.#cut.push(...((channel_values["calls"] ?? []) as KnownCall[]));
    } catch (error) {
      if (StratigraphError.is(error) && !isOfOneThread(error)) throw error;
      this.isDamaged = true;
    }
  }

  /** Notes which tasks of a checkpoint have written their output. */
  ended(
    at: OutlineEntry,
    batches: readonly { readonly taskId: string; readonly writes: readonly { readonly index: number }[] }[],
  ): void {
    const tasks = batches.flatMap(({ taskId, writes }) =>
      writes.some(({ index }) => index >= 0) ? [taskId] : [],
    );
    if (tasks.length > 0) this.#ended.set(entryKey(at), new Set(tasks));
  }

  /** What is known of the calls. */
  states(): readonly KnownCall[] {
    const calls = new Map(this.#cut.map((state) => [state.call, state]));
    for (const { event, record } of this.#entries.sort((a, b) => a.seq - b.seq)) {
      const { type, call, happened, reason } = event;
      if (call === undefined) continue;
      const status = type === "resolved" ? (happened === true ? "succeeded" : "failed") : statusAfter[type];
      if (status === undefined) continue;
      const { tool, effects, where } = { ...calls.get(call), ...event };
      const deletedRun = type === "forgotten" && reason === runDeleted ? where?.run : undefined;
      calls.set(call, { call, tool, effects, where, status, record, deletedRun });
    }
    return [...calls.values()];
  }

  /** The calls that runs of other threads made. */
  ofOthers(): CallsElsewhere {
    const found = new Map<string, KnownCall[]>();
    const journal = this.#threadId;
    for (const state of this.states()) {
      const thread = state.where?.thread ?? journal;
      if (thread !== journal) addTo(found, new Map([[thread, [{ ...state, journal }]]]));
    }
    return found;
  }

  /** Whether a call that another storage has in its journal is in this one: this one may have gone on since. */
  has({ call, status, where, record }: KnownCall): boolean {
    if (record !== undefined && this.#entries.some((entry) => entry.record === record)) return true;
    // Calls of two threads may have one name, each in its own journal.
    return this.states().some((it) =>
      isDeepStrictEqual([it.call, it.status, it.where], [call, status, where]),
    );
  }

  /** The calls, in words. @param elsewhere those of the thread that are in other journals */
  async told(
    saver: TierSaver,
    heads: ReadonlyMap<string, string>,
    elsewhere: readonly KnownCall[] = [],
  ): Promise<readonly string[]> {
    const states = [...this.states(), ...elsewhere];
    const isMade = states.some(({ status }) => status === "succeeded");
    const due = isMade ? await this.#due(saver, heads.get("")) : [];
    return states.flatMap((state) => {
      const mayBe = mayBeIn(state);
      if (mayBe !== undefined) return [mayBe];
      const place = state.journal === undefined ? "" : ` in the journal of ${JSON.stringify(state.journal)}`;
      const named = `${JSON.stringify(state.tool ?? "?")} (${state.call.slice(0, 12)})${place}`;
      if (state.status === "unknown" || state.status === "claimed")
        return [`call ${named} was begun, and its outcome isn't known`];
      return state.status === "succeeded" && this.#isUnderWay(state, heads, due)
        ? [`call ${named} was made, and its step hasn't ended`]
        : [];
    });
  }

  /** The root checkpoints whose tasks are due: the head, and those of which edits made it. None if nothing is due. */
  async #due(saver: TierSaver, head: string | undefined): Promise<readonly string[]> {
    if (head === undefined) return [];
    const due = [head];
    try {
      if ((await statusAt(saver, this.#threadId, head)) === "idle") return [];
      const configurable = { thread_id: this.#threadId, checkpoint_ns: "", checkpoint_id: head };
      for await (const { parentId, ends } of saver.lineage({ configurable })) {
        if (parentId === undefined || (await ends()) !== undefined) return due;
        due.push(parentId);
      }
    } catch {
      // A damaged checkpoint is told when the thread is read.
    }
    return due;
  }

  /** Whether the task that made a call would run again. Of a call that says no place, it may be any that is due. */
  #isUnderWay(
    { where = {} }: KnownCall,
    heads: ReadonlyMap<string, string>,
    [head, ...edited]: readonly string[],
  ): boolean {
    const { thread = this.#threadId, checkpoint, namespace = "", issuer = checkpoint, task = "" } = where;
    if (thread !== this.#threadId || head === undefined) return false;
    if (checkpoint === undefined || edited.includes(checkpoint)) return true;
    if (issuer === undefined || checkpoint !== head || heads.get(namespace) !== issuer) return false;
    return this.#ended.get(entryKey({ namespace, checkpointId: issuer }))?.has(task) !== true;
  }
}
