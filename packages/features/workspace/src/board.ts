import { InvalidOptionError, StratigraphError, type Duration } from "@stratigraph/core";
import { checkOptions, kindOf, messageOf, validId } from "@stratigraph/core/internal";
import type { Author } from "./author.ts";
import type { HeldLock, Lock, LockOptions } from "./lock.ts";
import type { PutOptions, WorkspaceItem, Written } from "./workspaceItem.ts";

/** What is to be done. */
export interface NewTask {
  /** What to do, in words. */
  readonly what: string;
  /** Keys of tasks whose results it needs: it is ready once they are done. */
  readonly after?: readonly string[] | undefined;
  /** Anything else that its worker needs. */
  readonly data?: Record<string, unknown> | undefined;
}

/** A task of a board. */
export interface BoardTask extends NewTask {
  readonly key: string;
  /**
   * "waiting": a task that it comes after isn't done. "ready": nobody works on it. "taken": somebody does. "done" and "failed": it has
   * ended.
   */
  readonly status: "waiting" | "ready" | "taken" | "done" | "failed";
  /** Who works on it, or ended it. */
  readonly by?: Author | undefined;
  /** What came of it, if it is done. */
  readonly result?: Record<string, unknown> | undefined;
  /** Why it failed. */
  readonly error?: string | undefined;
}

/** Options of {@link Board.work}. */
export interface WorkOptions {
  /** How long after the last sign of life of its worker a task is ready again. Default "30s". */
  readonly ttl?: Duration | undefined;
  /** Which tasks this agent does. Default: all. */
  readonly filter?: ((task: BoardTask) => boolean) | undefined;
}

/** A task that is worked on. */
export interface TakenTask extends Omit<BoardTask, "status"> {
  /** The results of the tasks that it comes after, by their keys. */
  readonly results: Readonly<Record<string, Record<string, unknown>>>;
  /** Aborted when another may have taken the task, because this process was silent for too long. */
  readonly signal: AbortSignal;
}

/** What a board needs of its workspace. Its locks are the workspace's, also for a role. */
interface Room {
  get(namespace: string[], key: string): Promise<WorkspaceItem | null>;
  put(
    namespace: string[],
    key: string,
    value: Record<string, unknown>,
    options: PutOptions,
  ): Promise<Written>;
  update(
    namespace: string[],
    key: string,
    change: (value: Record<string, unknown> | undefined) => Record<string, unknown> | undefined,
  ): Promise<unknown>;
  search(namespace: string[], options: { readonly limit: number }): Promise<WorkspaceItem[]>;
  lock<T>(key: string, options: LockOptions, work: (lock: Lock) => Promise<T>): Promise<T>;
  held(): Promise<readonly HeldLock[]>;
}

/** How many tasks a board has at most, those that have ended too. */
const mostTasks = 10_000;

/** Tasks of several agents: who does what, what is done, and what waits for it. Made by {@link Workspace.board}. */
export class Board {
  readonly #room: Room;
  readonly #namespace: string[];

  /** @internal */
  constructor(room: Room, namespace: string[]) {
    this.#room = room;
    this.#namespace = namespace;
  }

  /**
   * Adds a task, unless there is one by this key. Returns whether it did.
   * @throws InvalidOptionError if it comes after a task that isn't there
   */
  async add(key: string, task: NewTask): Promise<boolean> {
    checkOptions("add", task, { what: true, after: true, data: true });
    const { what, after = [], data } = task;
    if (typeof what !== "string" || what === "")
      throw new InvalidOptionError("what", kindOf(what), "Say what is to be done.");
    if (!Array.isArray(after)) throw new InvalidOptionError("after", kindOf(after), "Pass a list of keys.");
    for (const other of after as string[])
      if ((await this.#room.get(this.#namespace, validId("after", other))) === null)
        throw new InvalidOptionError("after", other, "There is no such task. Add the tasks in their order.");
    validId("key", this.#lockOf(validId("key", key)));
    const value = {
      what,
      after: [...(after as string[])],
      ...(data !== undefined && { data }),
      status: "open",
    };
    return (await this.#room.put(this.#namespace, key, value, { ifVersion: 0 })).ok;
  }

  /** All tasks, oldest first; of more than 10,000, those that changed last. */
  async tasks(): Promise<BoardTask[]> {
    const [items, held] = await Promise.all([
      this.#room.search(this.#namespace, { limit: mostTasks }),
      this.#room.held(),
    ]);
    const tasks = items.filter(isTask);
    const locks = new Map(held.map((lock) => [lock.key, lock]));
    const done = new Set(tasks.filter(({ value }) => value["status"] === "done").map(({ key }) => key));
    tasks.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || a.version - b.version);
    return tasks.map((item) => this.#shown(item, done, locks.get(this.#lockOf(item.key))));
  }

  /**
   * Takes the oldest task that is ready, works on it, and stores what the function returns as its result. What it throws is stored as the
   * reason of the failure, and thrown. If this process dies, the task is ready again after `ttl`.
   * @returns the task as it ended; undefined if none is ready
   * @throws StratigraphError "LOCK_LOST" if another may have taken the task meanwhile: the result isn't stored then
   */
  async work(
    run: (task: TakenTask) => Record<string, unknown> | Promise<Record<string, unknown>>,
    options: WorkOptions = {},
  ): Promise<BoardTask | undefined> {
    if (typeof run !== "function") throw new InvalidOptionError("run", kindOf(run), "Pass a function.");
    checkOptions("work", options, { ttl: true, filter: true });
    const { ttl, filter = () => true } = options;
    for (const task of await this.tasks()) {
      const { key, status } = task;
      if (status !== "ready" || !filter(task)) continue;
      let isBegun = false;
      try {
        const ended = await this.#room.lock(this.#lockOf(key), { ttl, waitFor: "0ms" }, async (lock) => {
          isBegun = true;
          return await this.#run(key, run, lock);
        });
        if (ended !== undefined) return ended;
      } catch (error) {
        // Another one was quicker.
        if (!StratigraphError.is(error, "LOCKED") || isBegun) throw error;
      }
    }
    return undefined;
  }

  /** Makes a task that failed ready again. Returns whether it had failed. */
  async retry(key: string): Promise<boolean> {
    let hadFailed = false;
    await this.#room.update(this.#namespace, key, (task) => {
      hadFailed = task?.["status"] === "failed";
      return hadFailed ? { ...task, status: "open", error: undefined } : undefined;
    });
    return hadFailed;
  }

  async #run(key: string, run: Parameters<Board["work"]>[0], lock: Lock): Promise<BoardTask | undefined> {
    // Under the lock it may turn out that another one has done it meanwhile.
    const item = await this.#room.get(this.#namespace, key);
    if (item === null || !isTask(item) || item.value["status"] !== "open") return undefined;
    const { value, version } = item;
    const end = async (more: Record<string, unknown>): Promise<BoardTask> => {
      const written = await this.#room.put(
        this.#namespace,
        key,
        { ...value, ...more },
        { lock, ifVersion: version },
      );
      if (!written.ok) throw lock.lost();
      const ended = (await this.#room.get(this.#namespace, key))!;
      return this.#shown(ended, new Set(), undefined);
    };
    const shown = this.#shown(item, new Set(), undefined);
    let result: Record<string, unknown>;
    try {
      const results: Record<string, Record<string, unknown>> = {};
      for (const other of shown.after ?? [])
        results[other] = Object((await this.#room.get(this.#namespace, other))?.value["result"]);
      result = await run({ ...shown, results, signal: lock.signal });
      if (typeof result !== "object" || result === null || Array.isArray(result))
        throw new InvalidOptionError("result", kindOf(result), "Have the function return an object.");
    } catch (error) {
      await end({ status: "failed", error: messageOf(error).slice(0, 2000) });
      throw error;
    }
    return await end({ status: "done", result });
  }

  #shown(
    { key, value, author }: WorkspaceItem,
    done: ReadonlySet<string>,
    lock: HeldLock | undefined,
  ): BoardTask {
    const { what, after, data, status, result, error } = value as unknown as NewTask & {
      status: string;
      result?: Record<string, unknown>;
      error?: string;
    };
    const task = { key, what, after, ...(data !== undefined && { data }) };
    if (status === "done") return { ...task, status, by: author, result };
    if (status === "failed") return { ...task, status, by: author, error };
    if (lock !== undefined) return { ...task, status: "taken", by: lock.author };
    return { ...task, status: (after ?? []).every((other) => done.has(other)) ? "ready" : "waiting" };
  }

  #lockOf(key: string): string {
    return JSON.stringify([...this.#namespace, key]);
  }
}

/** Whether an item of the board's namespace was put there by it. */
function isTask({ value }: WorkspaceItem): boolean {
  return (
    typeof value["what"] === "string" && Array.isArray(value["after"]) && typeof value["status"] === "string"
  );
}
