import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";

/** The process that holds a folder. `startedAt` tells it from a later process with the same id; "" where the system doesn't say. */
interface Holder {
  readonly pid: number;
  readonly startedAt: string;
  readonly token: string;
}

/** After this time, in milliseconds, the marker of a process that takes a stale lock away counts as left behind. */
const breakingMs = 10_000;

/** Error codes of file systems without hard links. */
const unlinkable: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"]);

/** When a process started, in the kernel's clock ticks since boot; "" where that can't be read. */
function startOf(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return fields[19] ?? "";
  } catch {
    return "";
  }
}

function isAlive({ pid, startedAt }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
  const started = startOf(pid);
  return startedAt === "" || started === "" || started === startedAt;
}

function holderOf(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Holder;
  } catch {
    return undefined;
  }
}

/** Creates a file together with its content, so that nobody sees it empty. False if it exists. */
function create(file: string, content: string): boolean {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (code !== undefined && unlinkable.has(code)) return createBare(file, content);
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** For file systems without hard links. Another process may see the file without its content, and counts it as held for a while. */
function createBare(file: string, content: string): boolean {
  try {
    writeFileSync(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Age of a file in milliseconds. A file that is gone counts as new: another process may be creating it again. */
function ageOf(file: string): number {
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined ? 0 : Date.now() - written;
}

/** Removes the lock of a dead process. A marker file lets one process at a time do so. */
function breakStale(file: string): void {
  const breaker = `${file}.breaking`;
  if (!create(breaker, String(process.pid))) {
    if (ageOf(breaker) > breakingMs) rmSync(breaker, { force: true });
    return;
  }
  try {
    const holder = holderOf(file);
    // A lock without a readable holder may be in the making.
    if (holder === undefined ? ageOf(file) > breakingMs : !isAlive(holder)) rmSync(file, { force: true });
  } finally {
    rmSync(breaker, { force: true });
  }
}

/**
 * Locks a folder for this process: PGlite has no lock of its own, and two processes on one folder destroy the database. The lock
 * of a killed process is recognised by process id and start time, and taken over.
 * @returns a function that releases the lock
 * @throws StratigraphError "LOCKED" naming the holder
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "stratigraph.lock");
  const mine: Holder = { pid: process.pid, startedAt: startOf(process.pid), token: randomUUID() };
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (create(file, JSON.stringify(mine))) return () => release(file, mine);
    const holder = holderOf(file);
    if (holder !== undefined && isAlive(holder)) break;
    breakStale(file);
  }
  const pid = holderOf(file)?.pid;
  throw new StratigraphError(
    "LOCKED",
    `Folder ${folder} is in use by process ${pid ?? "unknown"}. An embedded database serves one process: stop the other one, ` +
      `use another folder, or connect both to a PostgreSQL server.`,
    { folder, pid },
  );
}

function release(file: string, mine: Holder): void {
  if (holderOf(file)?.token !== mine.token) return;
  const gone = `${file}.${mine.token}`;
  renameSync(file, gone);
  rmSync(gone, { force: true });
}
