import type { RunnableConfig } from "@langchain/core/runnables";
import { addressKey, namespaceKey } from "../contract/keys.ts";
import { remembering } from "./remembering.ts";
import type { Namespace } from "../contract/tier.ts";

/** How many answers each saver remembers. An entry is about 200 bytes. */
const remembered = 20_000;

/** Stands for "no checkpoint" where an id is expected. */
const none = "";

/**
 * The object that stands for a run: LangGraph puts one into the config (`control`, and `signal`), the same for all reads and
 * writes of the run. getState and updateState have none.
 */
export function runOf(config: RunnableConfig): object | undefined {
  const { control, signal } = config as { control?: unknown; signal?: unknown };
  if (typeof control === "object" && control !== null) return control;
  return typeof signal === "object" && signal !== null ? signal : undefined;
}

/**
 * Which heads a writer may move: what this saver has answered, and to whom. This distinguishes a deliberate fork from a lost race: both put a checkpoint whose parent
 * isn't the head. If a writer was given checkpoint P while the head was H, and puts a checkpoint with the parent P while the head is still
 * H, it means to fork. If the head is another one by then, somebody else wrote in between.
 *
 * Answers are kept per run. Otherwise a page that polls the thread through the same saver would turn the lost race of a run
 * under way into a permitted fork. Answers outside runs are kept together.
 */
export class HeadRights {
  readonly #byRun = new WeakMap<object, Map<string, string>>();
  readonly #outside = remembering<string>(remembered);
  /** Answers that named a checkpoint only as a parent. They permit a copy of its child, but no continuation from the parent. */
  readonly #parents = remembering<string>(remembered);
  /** By namespace, the run that read it last. */
  readonly #readers = remembering<WeakRef<AbortSignal>>(remembered);
  readonly #read = new WeakMap<AbortSignal, Set<string>>();
  /** The namespaces that runs read or put checkpoints in. */
  readonly #namespaces = new WeakMap<object, Set<string>>();

  /** Notes that a run reads from a namespace, or puts a checkpoint in it. */
  used(config: RunnableConfig, at: Namespace): void {
    const run = runOf(config);
    if (run === undefined) return;
    const used = this.#namespaces.get(run) ?? new Set();
    this.#namespaces.set(run, used.add(namespaceKey(at)));
  }

  /**
   * Notes that a run begins to read a namespace. What a run that has ended begins to store after this can't be in the answer any more.
   */
  reads(config: RunnableConfig, at: Namespace): void {
    this.used(config, at);
    const { signal } = config;
    if (signal === undefined) return;
    const namespace = namespaceKey(at);
    this.#readers.set(namespace, new WeakRef(signal));
    this.#read.set(signal, (this.#read.get(signal) ?? new Set()).add(namespace));
  }

  /**
   * Whether a run that uses this saver leaves out a namespace. A run reads a subgraph's namespace before the subgraph's first task, unless
   * the subgraph has `checkpointer: false`. False also if that isn't known.
   */
  leavesOut(config: RunnableConfig, at: Namespace): boolean {
    const run = runOf(config);
    const used = run === undefined ? undefined : this.#namespaces.get(run);
    const usesRoot = used?.has(namespaceKey({ ...at, namespace: "" })) === true;
    return usesRoot && !used.has(namespaceKey(at));
  }

  /** Notes that the saver handed out `checkpointId` (absent: it answered that there is none) while `head` was the head. */
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
    // Answers to a run also count outside it, because LangGraph reads subgraphs with configs of several shapes.
    this.#outside.set(key, head ?? none);
  }

  /**
   * As {@link handedOut}, for the parent that a tuple names: LangGraph's `__copy__`, which works outside runs, puts a checkpoint
   * with the same parent as the copied one. A copy of the first checkpoint has no parent, like an import. These answers are kept
   * apart, so that a page that polls the head doesn't turn an update that lost the race for it into a permitted fork.
   */
  handedOutParent(at: Namespace, parentId: string | undefined, head: string | undefined): void {
    if (parentId === undefined) this.#outside.delete(addressKey(at, none));
    else this.#parents.set(addressKey(at, parentId), head ?? none);
  }

  /**
   * Heads that a put may replace, besides the checkpoint itself. "any" for an import: a put without a parent, by a writer that
   * never read the namespace.
   * @param source the `source` in the checkpoint's metadata
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
   * Whether another run reads a namespace that this one has read, or has done so since. If this one has ended, the other goes on from what it
   * reads, and has waited for what this one was storing: what comes still later must not take the head from it.
   */
  isOvertaken({ signal }: RunnableConfig, at: Namespace): boolean {
    if (signal === undefined) return false;
    const namespace = namespaceKey(at);
    const reader = this.#readers.get(namespace);
    return (
      reader !== undefined && reader.deref() !== signal && this.#read.get(signal)?.has(namespace) === true
    );
  }
}
