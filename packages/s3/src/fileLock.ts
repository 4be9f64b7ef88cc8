import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";

/** How long a call waits for a lock, and the longest pause between two attempts; in milliseconds. */
const waitMs = 30_000;
const longestPauseMs = 20;

/** The process that holds a lock. `startedAt` distinguishes it from a later process with the same id; "" if the system doesn't tell. */
interface Holder {
  readonly pid: number;
  readonly startedAt: string;
}

/** When a process started, in the kernel's clock ticks; "" if that can't be read. */
function startOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

/** Whether a process with this id runs on this machine. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function isAlive({ pid, startedAt }: Holder): boolean {
  if (!processExists(pid)) return false;
  const started = startOf(pid);
  return startedAt === "" || started === "" || started === startedAt;
}

async function holderOf(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

/**
 * Locks between the processes of one machine. A lock is a hard link to a file that names its holder, so nobody ever sees it
 * half-written.
 */
export class FileLocks {
  readonly #folder: string;
  #mine: Promise<string> | undefined;

  /** @param folder for the file that names this process; on the same file system as the locks */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Runs `work` while holding the lock `file`. @throws StratigraphError "LOCKED", which names the holder */
  async run<T>(file: string, work: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + waitMs;
    for (let attempt = 0; !(await this.#take(file)); attempt += 1) {
      const holder = await holderOf(file);
      if (holder !== undefined && !isAlive(holder)) await this.#break(file);
      else if (Date.now() > deadline) {
        throw new StratigraphError(
          "LOCKED",
          `${file} has been held by process ${holder?.pid ?? "unknown"} for ${waitMs} ms. Repeat the call, or end that process.`,
          { file, pid: holder?.pid },
        );
      }
      const pauseMs = Math.min(longestPauseMs, 1 + attempt) * Math.random();
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    try {
      return await work();
    } finally {
      await rm(file, { force: true });
    }
  }

  async end(): Promise<void> {
    if (this.#mine !== undefined) await rm(await this.#mine, { force: true });
    this.#mine = undefined;
  }

  async #take(file: string): Promise<boolean> {
    try {
      await link(await this.#named(), file);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  /** Removes a dead holder's lock. Only one process may do this at a time: a second one could remove the next holder's lock. */
  async #break(file: string): Promise<void> {
    const breaker = `${file}.breaking`;
    if (!(await this.#take(breaker))) {
      // The process that holds the breaker may have died too, while it executed the few lines below.
      const holder = await holderOf(breaker);
      if (holder !== undefined && !isAlive(holder)) await rm(breaker, { force: true });
      return;
    }
    try {
      const holder = await holderOf(file);
      if (holder !== undefined && !isAlive(holder)) await rm(file, { force: true });
    } finally {
      await rm(breaker, { force: true });
    }
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
    const holder: Holder = { pid: process.pid, startedAt: startOf(process.pid) };
    await writeFile(file, JSON.stringify(holder), { flag: "wx" });
    return file;
  }
}
