import { randomUUID } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";

/** Who holds a folder. `startedAt` tells a process from a later one with the same id, where the system says it. */
interface Holder {
  readonly pid: number;
  readonly startedAt: string;
  readonly token: string;
}

/** How long breaking a stale lock may take before another may break the breaker's, in milliseconds. */
const breakingMs = 10_000;

/** What file systems without links say. */
const unlinkable: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV"]);

/** When a process started, as the kernel counts; "" where that can't be read. */
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

/** Makes a file with its content at once: nobody sees it empty. False where it exists. */
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

/** For file systems without links: another process may see the file before its content, and counts it as held for a while. */
function createBare(file: string, content: string): boolean {
  try {
    writeFileSync(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** How old a file is, in milliseconds. One that just went counts as new: in its place there may be another's by now. */
function ageOf(file: string): number {
  const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined ? 0 : Date.now() - written;
}

/** Takes a dead holder's lock away, one process at a time. */
function breakStale(file: string): void {
  const breaker = `${file}.breaking`;
  if (!create(breaker, String(process.pid))) {
    if (ageOf(breaker) > breakingMs) rmSync(breaker, { force: true });
    return;
  }
  try {
    const holder = holderOf(file);
    // Without a holder it may be in the making.
    if (holder === undefined ? ageOf(file) > breakingMs : !isAlive(holder)) rmSync(file, { force: true });
  } finally {
    rmSync(breaker, { force: true });
  }
}

/**
 * A folder for one process alone: PGlite has no lock of its own, and two processes on one folder destroy it. A lock left by
 * a killed process is recognised by its process id and start time, and taken over.
 * @returns how to let go
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
