import { randomUUID } from "node:crypto";
import { StratigraphError } from "./errors.ts";
import { livenessOf, thisProcess, type ProcessName } from "./processName.ts";
import { stopwatch } from "./stopwatch.ts";

/** The process that holds a folder. Versions before 0.2 didn't write `machine`. */
interface Holder extends Omit<ProcessName, "machine"> {
  readonly machine?: string;
  readonly token: string;
  /** Where it listens, if others know it by that. */
  readonly port?: number | undefined;
}

/** Node's module, without an import: core is bundled for places that have no files. */
const files = () => process.getBuiltinModule("node:fs");

/** What a folder is used for, as the errors of its lock say it. */
export interface FolderUse {
  /** What to do if this process has it open already. */
  readonly again: string;
  /** What to do if another process holds it. */
  readonly held: string;
  /** What to do if another process took it over. */
  readonly lost: string;
  readonly port?: number | undefined;
  /** Called once, if another process took it over. */
  readonly onLost?: () => void;
}

/**
 * How often a holder renews its lock, and after how long without a renewal a holder on another machine or in another container counts
 * as gone, in milliseconds. A holder on this machine is looked up by its process id.
 */
const renewMs = 5_000;
const silentMs = 60_000;

/** After this time, in milliseconds, the marker of a process that removes a stale lock counts as left behind. */
const breakingMs = 10_000;

/** Error codes of file systems without hard links. */
const unlinkable: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"]);

/** Whether the holder of a lock is gone. */
function isGone(file: string, holder: Holder): boolean {
  const liveness = livenessOf(holder);
  return liveness === "elsewhere" ? silenceOf(file) > silentMs : liveness === "dead";
}

/** How long ago a lock was last renewed, in milliseconds. Both times are taken from the file system's clock. */
function silenceOf(file: string): number {
  const draft = `${file}.${randomUUID()}`;
  files().writeFileSync(draft, "");
  try {
    const renewed = files().statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    return renewed === undefined ? 0 : files().statSync(draft).mtimeMs - renewed;
  } finally {
    files().rmSync(draft, { force: true });
  }
}

function holderOf(file: string): Holder | undefined {
  try {
    return JSON.parse(files().readFileSync(file, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

/** Creates a file together with its content, so that nobody sees it empty. False if it exists. */
function create(file: string, content: string): boolean {
  const draft = `${file}.${randomUUID()}`;
  files().writeFileSync(draft, content);
  try {
    files().linkSync(draft, file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (code !== undefined && unlinkable.has(code)) return createBare(file, content);
    throw error;
  } finally {
    files().rmSync(draft, { force: true });
  }
}

/** For file systems without hard links. Another process may see the file without its content; it then takes it for held for a while. */
function createBare(file: string, content: string): boolean {
  try {
    files().writeFileSync(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Age of a file in milliseconds. A file that is gone counts as new: another process may be creating it again. */
function ageOf(file: string): number {
  const written = files().statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined ? 0 : Date.now() - written;
}

/** Removes the lock of a dead process. A marker file lets one process at a time do so. */
function breakStale(file: string): void {
  const breaker = `${file}.breaking`;
  if (!create(breaker, String(process.pid))) {
    if (ageOf(breaker) > breakingMs) files().rmSync(breaker, { force: true });
    return;
  }
  try {
    const holder = holderOf(file);
    // A lock without a readable holder may be one that another process is just creating.
    if (holder === undefined ? ageOf(file) > breakingMs : isGone(file, holder))
      files().rmSync(file, { force: true });
  } finally {
    files().rmSync(breaker, { force: true });
  }
}

/** A folder that this process holds. */
export interface FolderLock {
  /**
   * If this process was stopped for longer than a renewal takes: renews the lock, unless another process has taken the folder over.
   * @throws StratigraphError "LOCKED", from then on at each call; "CLOSED" after `release`
   */
  check(): void;
  release(): void;
}

/**
 * Locks a folder for this process: two processes would destroy what is in it. The lock of a killed process is recognised by process id and
 * start time, and taken over. The lock of a process in another container or on another machine is taken over once it wasn't renewed for a
 * minute.
 * @throws StratigraphError "LOCKED" naming the holder
 */
export function lockFolder(folder: string, use: FolderUse): FolderLock {
  files().mkdirSync(folder, { recursive: true });
  const file = `${folder}/stratigraph.lock`;
  const mine: Holder = { ...thisProcess(), token: randomUUID(), port: use.port };
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (create(file, JSON.stringify(mine))) return new HeldFolder(folder, file, mine, use);
    const holder = holderOf(file);
    if (holder !== undefined && !isGone(file, holder)) break;
    breakStale(file);
  }
  throw heldError(folder, mine, holderOf(file), use);
}

/** Who holds a folder, and the ways out. */
function heldError(
  folder: string,
  mine: Holder,
  holder: Holder | undefined,
  { again, held }: FolderUse,
): StratigraphError {
  const data = { folder, pid: holder?.pid, ...(holder?.port !== undefined && { port: holder.port }) };
  if (holder?.pid === mine.pid && holder.startedAt === mine.startedAt && holder.machine === mine.machine)
    return new StratigraphError(
      "LOCKED",
      `This process (${mine.pid}) has folder ${folder} open already. ${again}`,
      data,
    );
  const isElsewhere = holder !== undefined && livenessOf(holder) === "elsewhere";
  return new StratigraphError(
    "LOCKED",
    `Folder ${folder} is in use by process ${holder?.pid ?? "unknown"}${isElsewhere ? " of another machine or container" : ""}` +
      `${holder?.port === undefined ? "" : `, which listens on port ${holder.port}`}. ${held}` +
      (isElsewhere
        ? ` If that process has ended, its lock can be taken over ${silentMs / 1000} s after that.`
        : ""),
    data,
  );
}

class HeldFolder implements FolderLock {
  readonly #folder: string;
  readonly #file: string;
  readonly #mine: Holder;
  readonly #use: FolderUse;
  readonly #renewal: NodeJS.Timeout;
  #lost: StratigraphError | undefined;
  /** Since the lock was last seen to be this process's. */
  #unseenMs = stopwatch();

  constructor(folder: string, file: string, mine: Holder, use: FolderUse) {
    this.#folder = folder;
    this.#file = file;
    this.#mine = mine;
    this.#use = use;
    this.#renewal = setInterval(() => this.#renew(), renewMs).unref();
  }

  check(): void {
    // Looking alone would leave it to be taken over until the timer fires.
    if (this.#unseenMs() > 2 * renewMs) this.#renew();
    if (this.#lost !== undefined) throw this.#lost;
  }

  release(): void {
    clearInterval(this.#renewal);
    this.#lost ??= new StratigraphError("CLOSED", `Folder ${this.#folder} isn't open any more.`);
    if (holderOf(this.#file)?.token !== this.#mine.token) return;
    const gone = `${this.#file}.${this.#mine.token}`;
    files().renameSync(this.#file, gone);
    files().rmSync(gone, { force: true });
  }

  /** Shows other processes that the holder is alive: writes the first byte again, so that the file has a new time. */
  #renew(): void {
    if (!this.#look()) return;
    try {
      const opened = files().openSync(this.#file, "r+");
      try {
        files().writeSync(opened, "{", 0);
      } finally {
        files().closeSync(opened);
      }
    } catch {
      // The next renewal tries again. There are eleven more before the holder counts as gone.
    }
  }

  #look(): boolean {
    const holder = holderOf(this.#file);
    if (holder?.token === this.#mine.token) {
      this.#unseenMs = stopwatch();
      return true;
    }
    // It can't be read at the moment.
    if (holder === undefined && files().existsSync(this.#file) && this.#unseenMs() < silentMs) return false;
    clearInterval(this.#renewal);
    if (this.#lost !== undefined) return false;
    this.#lost = new StratigraphError(
      "LOCKED",
      `Folder ${this.#folder} was taken over by process ${holder?.pid ?? "unknown"} while this one was stopped, or its lock file was removed. ` +
        `This process writes nothing to it any more; what it wrote since then may be lost. ${this.#use.lost}`,
      { folder: this.#folder, pid: holder?.pid },
    );
    this.#use.onLost?.();
    return false;
  }
}
