import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";
import { livenessOf, stopwatch, thisProcess, type ProcessName } from "@stratigraph/core/internal";

/** How long a call waits for a lock, and the longest pause between two attempts; in milliseconds. */
const waitMs = 30_000;
const longestPauseMs = 20;

/**
 * A process on another machine or in another container counts as gone if it hasn't taken or left a lock for this long, in milliseconds.
 * Locks are held for a few milliseconds.
 */
const silentMs = 60_000;

/** The process that holds a lock. Versions before 0.2 didn't write `machine`. */
type Holder = Omit<ProcessName, "machine"> & { readonly machine?: string };

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}

/** The process that a lock, or a holder's file, names. */
export async function holderOf(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

/**
 * Whether a holder's file, or a lock (a link to that file), hasn't changed for `silentMs`. Taking and leaving a lock changes the file's
 * ctime. It is compared with the ctime of this process's own file, because both are by the file system's clock.
 */
export async function isSilent(file: string, mine: string): Promise<boolean> {
  const now = new Date();
  await utimes(mine, now, now);
  const [own, other] = await Promise.all([stat(mine), stat(file).catch(() => undefined)]);
  return other !== undefined && own.ctimeMs - other.ctimeMs > silentMs;
}

/**
 * Locks between the processes that share a folder. A lock is a hard link to a file that names its holder, so nobody ever sees it
 * half-written.
 */
export class FileLocks {
  readonly #folder: string;
  #mine: Promise<string> | undefined;

  /** @param folder for the file that names this process; on the same file system as the locks */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Runs `work` while holding the lock `file`. A process that was stopped meanwhile, so long that another one took the lock over, must write
   * nothing when it wakes up: `work` calls `check` before it writes.
   * @throws StratigraphError "LOCKED", which names the holder
   */
  async run<T>(file: string, work: (check: () => Promise<void>) => Promise<T>): Promise<T> {
    const deadline = Date.now() + waitMs;
    let heldForMs = stopwatch();
    for (let attempt = 0; !(await this.#take(file)); attempt += 1) {
      const holder = await holderOf(file);
      if (holder !== undefined && (await this.#isGone(file, holder))) await this.#break(file);
      else if (Date.now() > deadline) {
        throw new StratigraphError(
          "LOCKED",
          `${file} has been held by process ${holder?.pid ?? "unknown"}` +
            (holder !== undefined && livenessOf(holder) === "elsewhere"
              ? " of another machine or container"
              : "") +
            ` for ${waitMs} ms. Repeat the call, or end that process.`,
          { file, pid: holder?.pid },
        );
      }
      const pauseMs = Math.min(longestPauseMs, 1 + attempt) * Math.random();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      heldForMs = stopwatch();
    }
    const isLost = async (): Promise<boolean> => heldForMs() > silentMs / 2 && !(await this.#holds(file));
    const check = async (): Promise<void> => {
      if (!(await isLost())) return;
      const pid = (await holderOf(file))?.pid;
      throw new StratigraphError(
        "LOCKED",
        `${file} was taken over by another process while this one was stopped. What this call was to write isn't acknowledged, and ` +
          `may be lost. Read again what is there, and repeat the call.`,
        { file, pid },
      );
    };
    try {
      const done = await work(check);
      await check();
      return done;
    } finally {
      // It may be the next holder's.
      if (!(await isLost())) await rm(file, { force: true });
    }
  }

  /** Whether a lock is still a link to the file that names this process. Shows others that its holder is alive. */
  async #holds(file: string): Promise<boolean> {
    try {
      const mine = await this.#named();
      const now = new Date();
      await utimes(mine, now, now);
      const [own, lock] = await Promise.all([stat(mine), stat(file)]);
      return own.ino === lock.ino;
    } catch {
      return false;
    }
  }

  async end(): Promise<void> {
    if (this.#mine !== undefined) await rm(await this.#mine, { force: true });
    this.#mine = undefined;
  }

  async #take(file: string): Promise<boolean> {
    const mine = await this.#named();
    try {
      await link(mine, file);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") return false;
      // A sweep in another container, which can't see this process, deleted its file as left behind. The next attempt makes it anew.
      if (code !== "ENOENT" || (await exists(mine))) throw error;
      this.#mine = undefined;
      return false;
    }
  }

  /** Removes a dead holder's lock. Only one process may do this at a time: a second one could remove the next holder's lock. */
  async #break(file: string): Promise<void> {
    const breaker = `${file}.breaking`;
    if (!(await this.#take(breaker))) {
      // The process that holds the breaker may have died too, while it executed the few lines below.
      const holder = await holderOf(breaker);
      if (holder !== undefined && (await this.#isGone(breaker, holder))) await rm(breaker, { force: true });
      return;
    }
    try {
      const holder = await holderOf(file);
      if (holder !== undefined && (await this.#isGone(file, holder))) await rm(file, { force: true });
    } finally {
      await rm(breaker, { force: true });
    }
  }

  /** Whether the holder of a lock is gone. */
  async #isGone(file: string, holder: Holder): Promise<boolean> {
    const liveness = livenessOf(holder);
    if (liveness !== "elsewhere") return liveness === "dead";
    const mine = await this.#named();
    return await isSilent(file, mine);
  }

  /** The file that names this process. If it can't be written, the next call tries again. */
  async #named(): Promise<string> {
    this.#mine ??= this.#name().catch((error: unknown) => {
      this.#mine = undefined;
      throw error;
    });
    return await this.#mine;
  }

  async #name(): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    const file = join(this.#folder, `holder-${process.pid}-${randomUUID()}`);
    await writeFile(file, JSON.stringify(thisProcess()), { flag: "wx" });
    return file;
  }
}
