import type { RunnableConfig } from "@langchain/core/runnables";
import { addressKey } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Namespace } from "../contract/tier.ts";

/** How many answers each saver remembers. An entry is about 200 bytes. */
const remembered = 20_000;

/** Stands for "no checkpoint" where an id is expected. */
const none = "";

/**
 * LangGraph gives every run an object of its own in the config (`control`, and `signal`), the same one
 * for the run's reads and writes, and none to getState or updateState.
 */
export function runOf(config: RunnableConfig): object | undefined {
  const { control, signal } = config as { control?: unknown; signal?: unknown };
  if (typeof control === "object" && control !== null) return control;
  return typeof signal === "object" && signal !== null ? signal : undefined;
}

/**
 * What this saver answered to whom: it tells a deliberate fork from a lost race. Both put a checkpoint whose parent isn't the
 * head; they differ in what the saver had answered. A writer that was handed checkpoint P while the head
 * was H meant to fork if it puts with parent P while the head is still H; if the head is another one by
 * then, somebody else wrote in between.
 *
 * Answers are kept per run, so that a page polling the thread through the same saver doesn't turn the
 * lost race of a run under way into a permitted fork. Answers outside runs are kept together.
 */
export class Observations {
  readonly #byRun = new WeakMap<object, Map<string, string>>();
  readonly #outside = remembering<string>(remembered);
  /** Answers that named a checkpoint only as a parent. They permit a copy beside its child, and no continuation from it. */
  readonly #parents = remembering<string>(remembered);
  readonly #revisions = remembering<number>(remembered);
  readonly #runRevisions = new WeakMap<object, Map<string, number>>();

  /** The saver handed out `checkpointId` (absent: "there is none") while `head` was the head. */
  handedOut(
    config: RunnableConfig,
    at: Namespace,
    checkpointId: string | undefined,
    head: string | undefined,
  ): void {
    const key = addressKey(at, checkpointId ?? none);
    const run = runOf(config);
    if (run !== undefined) {
      const answers = this.#byRun.get(run) ?? new Map<string, string>();
      answers.set(key, head ?? none);
      this.#byRun.set(run, answers);
    }
    // A run's answers serve outside it too: LangGraph reads subgraphs with configs of several shapes.
    this.#outside.set(key, head ?? none);
  }

  /**
   * As {@link handedOut}, for the parent named by a tuple: LangGraph's `__copy__` puts beside the copied checkpoint, and
   * does so outside runs. Beside the first checkpoint there is no parent to name, as in an import. Kept apart: a page that
   * polls the head mustn't make a permitted fork of an update that lost the race for it.
   */
  handedOutParent(at: Namespace, parentId: string | undefined, head: string | undefined): void {
    if (parentId === undefined) this.#outside.delete(addressKey(at, none));
    else this.#parents.set(addressKey(at, parentId), head ?? none);
  }

  /**
   * Heads from which a put may move on, besides "none yet" and its own id. "any" for a put without a
   * parent by someone who never asked: an import.
   * @param source as the checkpoint's metadata has it
   */
  expected(
    config: RunnableConfig,
    at: Namespace,
    parentId: string | undefined,
    source: unknown,
  ): readonly string[] | "any" {
    const key = addressKey(at, parentId ?? none);
    const run = runOf(config);
    const answers = run === undefined ? undefined : this.#byRun.get(run);
    const head = answers?.get(key) ?? (answers === undefined ? this.#outside.get(key) : undefined);
    if (parentId === undefined) return head === undefined ? "any" : [head].filter((id) => id !== none);
    const beside = run === undefined && source === "fork" ? this.#parents.get(key) : undefined;
    return [parentId, head, beside].filter((id) => id !== undefined && id !== none) as string[];
  }

  /**
   * The thread stood at `revision` when it was read. A run keeps what it read first: where the thread was deleted since,
   * what others read through the same saver must not make the run's late writes look timely.
   */
  read(config: RunnableConfig, threadId: string, revision: number): void {
    this.#sawRevision(threadId, revision);
    const run = runOf(config);
    if (run !== undefined && this.#runRevisions.get(run)?.has(threadId) !== true)
      this.#setRevision(run, threadId, revision);
  }

  /** The thread stood at `revision` when a run began, after a write that wasn't late, or when its pruning was noticed. */
  caughtUp(config: RunnableConfig, threadId: string, revision: number): void {
    this.#sawRevision(threadId, revision);
    const run = runOf(config);
    if (run !== undefined) this.#setRevision(run, threadId, revision);
  }

  /** Revision that a write of this run, or outside runs of this saver, is based on. */
  revision(config: RunnableConfig, threadId: string): number | undefined {
    const run = runOf(config);
    const own = run === undefined ? undefined : this.#runRevisions.get(run)?.get(threadId);
    return own ?? this.#revisions.get(threadId);
  }

  #sawRevision(threadId: string, revision: number): void {
    if (revision > (this.#revisions.get(threadId) ?? -1)) this.#revisions.set(threadId, revision);
  }

  #setRevision(run: object, threadId: string, revision: number): void {
    const revisions = this.#runRevisions.get(run) ?? new Map<string, number>();
    this.#runRevisions.set(run, revisions.set(threadId, revision));
  }
}
