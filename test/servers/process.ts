import { spawn, type ChildProcess } from "node:child_process";
import {
  existsSync,
  chownSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  appendFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fastFolder } from "./fastFolder.ts";
import { suspend } from "./suspend.ts";

// Debian installs servers in sbin, which may be missing from the PATH.
const PATH = `${process.env["PATH"] ?? ""}:/usr/local/sbin:/usr/sbin:/sbin`;

/** The account that a server runs under; undefined for that of this process. PostgreSQL and PgBouncer refuse to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/** The `postgres` account if this process runs as root, otherwise undefined. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error("running as root, and there is no user postgres");
  return { uid: Number(uid), gid: Number(gid) };
}

// Below Linux's ephemeral range, which begins at 32768, so that outgoing connections don't take a port that was picked.
const FIRST_PORT = 15_000;
const LAST_PORT = 31_000;
const handedOut = new Set<number>();

/** A port of 127.0.0.1 that is free now. Another process may still take it: start servers with `onFreePort`. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (handedOut.has(port)) continue;
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (!free) continue;
    handedOut.add(port);
    return port;
  }
  throw new Error("no free port found on 127.0.0.1 between 15000 and 31000");
}

/** Runs `start` with a free port, and with another one, up to 5 times in all, if another process took that port first. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await start(await freePort());
    } catch (error) {
      const lostPort = /address already in use|EADDRINUSE|could not bind|unable to bind/i.test(String(error));
      if (!lostPort || tries === 5) throw error;
    }
  }
}

/** Polls `check` until it is truthy. Throws after `timeoutMs` (default 30 000), with what `check` last threw. */
export async function waitUntil<T>(
  what: string,
  check: () => Promise<T> | T,
  { timeoutMs = 30_000, everyMs = 15 } = {},
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await check();
      if (value) return value;
    } catch (error) {
      if (error instanceof ServerExitedError) throw error;
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}: ${String(last ?? "not yet")}`);
    await sleep(everyMs);
  }
}

/** Whether a process with that id is running. A zombie, which ended and waits for its parent, doesn't count. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    // There is no /proc on macOS. The signal above showed that the process exists.
    return (error as NodeJS.ErrnoException).code === "ENOENT" && process.platform !== "linux";
  }
}

/** The direct children of a process (Linux). */
export function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        const stat = readFileSync(`/proc/${candidate}/stat`, "utf8");
        return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid;
      } catch {
        return false;
      }
    });
}

/**
 * A temporary folder whose servers end with this process, however it ends. A guard, which is a shell, waits until a pipe from this
 * process closes. Then it signals the processes in `<dir>/pids` that still work in the folder, and removes the folder.
 */
export class ServerFolder {
  readonly dir: string;
  readonly #guard: ChildProcess;

  constructor(name: string, account?: Account, parent = fastFolder()) {
    this.dir = mkdtempSync(join(parent, `stratigraph-${name}-`));
    if (account) chownSync(this.dir, account.uid, account.gid);
    this.#guard = spawn("/bin/sh", ["-c", GUARD, "guard", this.dir], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
    });
    this.#guard.unref();
    (this.#guard.stdin as unknown as { unref(): void }).unref();
  }

  /** Tells the guard of a process. `signal` ends it cleanly. */
  note(pid: number, signal: "QUIT" | "KILL"): void {
    appendFileSync(join(this.dir, "pids"), `${pid} ${signal}\n`);
  }

  /** Ends the guard and removes the folder. Stop the servers in it first. */
  remove(): void {
    this.#guard.kill("SIGKILL");
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

// Another process may have the same id by then, so only signal those that work inside the folder.
const GUARD = `
cat > /dev/null
dir=$1
[ -f "$dir/pids" ] && while read -r pid signal; do
  case "$(readlink "/proc/$pid/cwd")" in "$dir"*) kill -CONT "$pid"; kill -"$signal" "$pid";; esac
done < "$dir/pids"
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$dir" && break; sleep 0.2; done
`;

/** A server ended unexpectedly. The message has the end of its log. */
export class ServerExitedError extends Error {}

/** One server process of a ServerFolder. Its output goes to `<folder>/<name>.log`. */
export class ServerProcess {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<void>;
  readonly #log: string;
  #running = true;

  constructor(
    folder: ServerFolder,
    name: string,
    command: string,
    args: string[],
    options: {
      account?: Account | undefined;
      guardSignal?: "QUIT" | "KILL";
      cwd?: string;
      env?: Record<string, string>;
    } = {},
  ) {
    this.name = name;
    this.#log = join(folder.dir, `${name}.log`);
    const log = openSync(this.#log, "a");
    const child = spawn(command, args, {
      cwd: options.cwd ?? folder.dir,
      stdio: ["ignore", log, log],
      // Give it its own process group, so that Ctrl-C in the terminal doesn't reach it before the tests have ended.
      detached: true,
      env: { ...process.env, PATH, LC_ALL: "C", ...options.env },
      ...options.account,
    });
    closeSync(log);
    this.exited = new Promise((resolve, reject) => {
      child.once("exit", () => resolve());
      child.once("error", (error) => reject(new Error(`cannot start ${command}: ${error.message}`)));
    });
    this.exited.then(
      () => (this.#running = false),
      () => (this.#running = false),
    );
    child.unref();
    this.pid = child.pid ?? -1;
    if (this.pid > 0) folder.note(this.pid, options.guardSignal ?? "KILL");
  }

  get running(): boolean {
    return this.#running;
  }

  /** The end of its log. */
  logTail(): string {
    return readFileSync(this.#log, "utf8").slice(-2_000);
  }

  /** Waits until `check` holds, and fails at once if the server ends instead. */
  async up(check: () => Promise<unknown>, timeoutMs = 30_000): Promise<void> {
    if (this.pid < 0) await this.exited;
    await waitUntil(
      `${this.name} to come up`,
      () => {
        if (!this.#running)
          throw new ServerExitedError(`${this.name} ended while starting:\n${this.logTail()}`);
        return check();
      },
      { timeoutMs },
    );
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#running) return;
    if (signal === "SIGSTOP") suspend(this.pid);
    else process.kill(this.pid, signal);
  }

  /** Sends a signal and waits until it has ended; sends SIGKILL after `patienceMs` (default 10 000). */
  async end(signal: NodeJS.Signals, patienceMs = 10_000): Promise<void> {
    this.signal(signal);
    const timer = setTimeout(() => this.signal("SIGKILL"), patienceMs);
    await this.exited.catch(() => undefined);
    clearTimeout(timer);
  }
}

/** Runs a command and returns its standard output. Throws with its output if it fails. */
export async function run(
  command: string,
  args: string[],
  options: { account?: Account | undefined; cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: options.cwd ?? "/",
    env: { ...process.env, PATH, LC_ALL: "C", ...options.env },
    ...options.account,
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`cannot start ${command}: ${error.message}`)));
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${err || out}`);
  return out;
}

/** Whether a command of that name is on the PATH. */
export function onPath(command: string): boolean {
  const folders = PATH.split(":").filter((folder) => folder !== "");
  return folders.some((folder) => existsSync(join(folder, command)));
}
