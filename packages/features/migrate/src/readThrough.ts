import { StratigraphError, type Tier, type TierSaver } from "@stratigraph/core";
import { remembering, trace, type ReadThrough, type ReadThroughStorage } from "@stratigraph/core/internal";
import { isReserved, reservedNamespaces } from "@stratigraph/core/tier";
import { entryKey } from "./contract/outline.ts";
import type { OutlineEntry, SourceThread, ThreadSource } from "./contract/source.ts";
import { CallsThere, deletion, usersOf } from "./copy/callsLeftOut.ts";
import { importThread, type ImportedThread } from "./copy/importThread.ts";
import type { Difference } from "./copy/report.ts";
import { settled } from "./copy/settled.ts";
import { threadThere, type ThreadThere } from "./copy/threadThere.ts";
import { kept, readCalls } from "./sources/openCalls.ts";

/** Options of {@link readThrough}. */
export interface ReadThroughOptions {
  /** Whether a thread is compared with the source before it is used. Default true: its first read takes about twice as long. */
  readonly verify?: boolean | undefined;
  /** Whether the source is closed when the saver ends. Default false. */
  readonly close?: boolean | undefined;
}

/** The shortest time between two looks at a thread in the source, in milliseconds. */
const lookAgainMs = 10_000;

/** How many imported threads are remembered at most. */
const remembered = 10_000;

/**
 * Makes a saver import threads from a source when they are first read, so that old processes may drain while new ones start. A thread
 * that this storage doesn't know is imported at its first `getTuple` or `list`, or at the first use of its journal or events. It stays
 * in the source. If the source continues a thread afterwards, the trace channel reports it ("source-went-on"), and the new work isn't
 * mixed in. A thread that can't be imported unchanged isn't served: reading it fails with "CORRUPT", "UNREGISTERED_TYPE" or
 * "SERIALIZATION", with "THREAD_EXISTS" if it has other calls or events here, or with "UNAVAILABLE" if the source can't be reached.
 *
 * A thread that is deleted here isn't imported again as long as its deletion is remembered, which is a week. By then, everything should
 * have been imported.
 */
export function readThrough(saver: TierSaver, source: ThreadSource, options: ReadThroughOptions = {}): void {
  saver.readThrough(new Bringer(source, options));
}

class Bringer implements ReadThrough {
  readonly #source: ThreadSource;
  readonly #options: ReadThroughOptions;
  /** Imports under way, by thread. Further reads of such a thread wait for the same import. */
  readonly #underWay = new Map<string, Promise<boolean>>();
  readonly #brought = remembering<{ readonly heads: string; lookAtMs: number }>(remembered);
  /** When calls or events that are here without a conversation are looked for again as they are used. */
  readonly #lookAt = remembering<number>(remembered);

  constructor(source: ThreadSource, options: ReadThroughOptions) {
    this.#source = source;
    this.#options = options;
  }

  get source(): string {
    return this.#source.name;
  }

  async bring(storage: ReadThroughStorage, threadId: string, isUse: boolean): Promise<boolean> {
    const underWay = this.#underWay.get(threadId);
    if (underWay !== undefined) return await underWay;
    if (isUse && Date.now() < (this.#lookAt.get(threadId) ?? 0)) return false;
    const bringing = this.#bring(storage, threadId).finally(() => this.#underWay.delete(threadId));
    this.#underWay.set(threadId, bringing);
    return await bringing;
  }

  met(threadId: string): void {
    const brought = this.#brought.get(threadId);
    if (brought === undefined || Date.now() < brought.lookAtMs) return;
    brought.lookAtMs = Date.now() + lookAgainMs;
    // The read doesn't wait for this look. If the source can't be reached, a later read looks again.
    void this.#look(threadId, brought.heads).catch(() => undefined);
  }

  async close(): Promise<void> {
    if (this.#options.close === true) await this.#source.close();
  }

  async #bring(storage: ReadThroughStorage, threadId: string): Promise<boolean> {
    const there = await threadThere(storage.tier, threadId);
    const isDeleted = there.revision > 0 && there.records.size === 0;
    if (isDeleted) return false;
    // Another call may have imported the thread since.
    if (there.heads.has("")) return true;
    const thread = await this.#source.thread?.(threadId);
    const isHere = there.heads.size > 0;
    const lookLater = () => isHere && this.#lookAt.set(threadId, Date.now() + lookAgainMs);
    if (thread === undefined) {
      lookLater();
      return false;
    }
    try {
      const before = await broughtBefore(storage, thread, there);
      if (before === "all of it" || before === "emptied since") {
        lookLater();
        return false;
      }
      if (await beganAnew(storage.tier, threadId, there)) return false;
      await this.#refuseLeftOut(storage, thread);
      const verify = this.#options.verify ?? true;
      const how = { verify, takeLacking: false, brought: () => undefined };
      const imported = await settled(this.#source, thread, (one) => importThread(storage, one, how));
      if (imported.differences.length > 0) throw this.#refusal(threadId, imported.differences);
      const isApart = imported.diverged && isHere;
      if (!imported.served || (isApart && before === undefined))
        throw isApart ? this.#apart(threadId, await usersOf(storage, threadId)) : this.#restless(threadId);
      this.#brought.set(threadId, {
        heads: headsOf(thread.heads),
        lookAtMs: Date.now() + lookAgainMs,
      });
      this.#tell(threadId, imported, thread.mixedUp.length);
      return true;
    } catch (error) {
      // Another process imported the thread, and the source continued it between the two imports.
      if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
      this.#tellWentOn(threadId);
      return true;
    } finally {
      await thread.close();
    }
  }

  /** A journal that isn't here is brought at its first use; one that is may have other calls. */
  async #refuseLeftOut(storage: ReadThroughStorage, { threadId, elsewhere }: SourceThread): Promise<void> {
    const calls = kept((await elsewhere?.())?.get(threadId));
    const journals = new Map<string, boolean>();
    for (const { journal = threadId } of calls) {
      const at = { threadId: journal, namespace: reservedNamespaces.calls };
      if (!journals.has(journal)) journals.set(journal, (await storage.tier.peek(at)).head !== undefined);
    }
    const here = calls.filter(({ journal = threadId }) => journals.get(journal));
    const [leftOut] = await new CallsThere(storage).leftOut(threadId, here);
    if (leftOut === undefined) return;
    const whatToDo = `Import that journal with importThreads; if it diverged, let the thread go on in ${this.#source.name}.`;
    throw this.#notServed(threadId, leftOut.what, whatToDo);
  }

  async #look(threadId: string, heads: string): Promise<void> {
    const thread = await this.#source.thread?.(threadId);
    if (thread === undefined) return;
    await thread.close();
    if (headsOf(thread.heads) === heads) return;
    this.#brought.delete(threadId);
    this.#tellWentOn(threadId);
  }

  #tell(threadId: string, { checkpoints }: ImportedThread, mixedUp: number): void {
    trace({ type: "brought", threadId, source: this.#source.name, checkpoints, mixedUp });
  }

  #refusal(threadId: string, differences: readonly Difference[]): StratigraphError {
    const source = this.#source.name;
    const [{ checkpointId = "", what }] = differences as [Difference];
    const more = differences.length === 1 ? "" : `, and ${differences.length - 1} more`;
    const message =
      `Thread ${JSON.stringify(threadId)} can't be brought from ${source} unchanged: checkpoint ${checkpointId}: ${what}${more}. ` +
      `It isn't served. Repair it there and read it again; or take it as it is, with importThreads or ` +
      `"stratigraph import … --thread", which lists what differs.`;
    return new StratigraphError("CORRUPT", message, { source, threadId, differences });
  }

  #restless(threadId: string): StratigraphError {
    const source = this.#source.name;
    const message =
      `Thread ${JSON.stringify(threadId)} can't be brought from ${source} yet: it was written to there during each of several ` +
      `attempts to read it, or an import of it is under way or was left unfinished. It isn't served. Read it again later; if it stays ` +
      `so, delete it here and read it again.`;
    return new StratigraphError("OVERLOADED", message, { source, threadId });
  }

  #apart(threadId: string, users: readonly string[]): StratigraphError {
    return this.#notServed(
      threadId,
      "it has calls or events there, and others here, which can't be made one",
      `Keep those there: ${deletion(users)} and read it again. Or keep those here: delete it there.`,
    );
  }

  #notServed(threadId: string, why: string, whatToDo: string): StratigraphError {
    const source = this.#source.name;
    const message =
      `Thread ${JSON.stringify(threadId)} can't be brought from ${source}: ${why}. It isn't served, and nothing was changed. ` +
      whatToDo;
    return new StratigraphError("THREAD_EXISTS", message, { source, threadId });
  }

  #tellWentOn(threadId: string): void {
    trace({ type: "source-went-on", threadId, source: this.#source.name });
  }
}

/**
 * What is known of a thread of which calls or events are here, but no root, if some of these came from the source: all of it was brought, as
 * the source has nothing else; or it was emptied here since, as runs that are deleted have their calls forgotten; or the source began a root.
 */
async function broughtBefore(
  storage: ReadThroughStorage,
  { threadId, outline, heads: wanted }: SourceThread,
  { records, heads }: ThreadThere,
): Promise<"all of it" | "emptied since" | "without its root" | undefined> {
  const ofRoot = ({ namespace }: OutlineEntry) => !isReserved(namespace);
  const isCommon = outline.some((entry) => !ofRoot(entry) && records.has(entryKey(entry)));
  // Heads come last: without one, an import was broken off.
  if (!isCommon || heads.size === 0 || [...records.values()].some(ofRoot)) return undefined;
  if ([...wanted.keys()].every((namespace) => heads.has(namespace))) return "all of it";
  const calls = (await readCalls(storage, threadId)).states();
  return calls.some(({ status }) => status === "forgotten") ? "emptied since" : "without its root";
}

/**
 * Whether what is here of a thread without a root head was begun after a deletion. A tier refuses a writer that read the thread before
 * that: so one is made that changes nothing.
 */
async function beganAnew(tier: Tier, threadId: string, { heads }: ThreadThere): Promise<boolean> {
  for (const [namespace, to] of [...heads].slice(0, 1)) {
    const move = { namespace, to, expected: [to] };
    try {
      await tier.append({ threadId, records: [], blobs: [], heads: [move], onConflict: "branch", seen: 0 });
    } catch (error) {
      if (StratigraphError.is(error, "THREAD_DELETED")) return true;
      throw error;
    }
  }
  return false;
}

function headsOf(heads: ReadonlyMap<string, string>): string {
  return JSON.stringify([...heads].sort());
}
