import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** A running server of the bench's own. */
export interface PostgresServer {
  url: string;
  /** Such as "15.14". */
  version: string;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL 15 with its default durability (fsync and synchronous_commit on) on a free port
 * and in a temporary folder. Throws where the server is not installed.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = findBinaries();
  const folder = mkdtempSync(join(tmpdir(), "stratigraph-bench-"));
  // initdb and postgres refuse to run as root.
  const user = process.getuid?.() === 0 ? postgresUser() : undefined;
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { ...user, cwd: folder };
  execFileSync(
    join(bin, "initdb"),
    ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8"],
    { ...options, stdio: "ignore" },
  );
  const port = await freePort();
  const log = openSync(join(folder, "log"), "w");
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`];
  const server = spawn(join(bin, "postgres"), ["-D", data, ...settings.flatMap((s) => ["-c", s])], {
    ...options,
    stdio: ["ignore", log, log],
  });
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  try {
    return { url, version: await firstAnswer(url, server, join(folder, "log")), stop };
  } catch (error) {
    await stop();
    throw error;
  }

  async function stop(): Promise<void> {
    if (server.exitCode === null && server.signalCode === null) {
      const exited = new Promise((resolve) => server.once("exit", resolve));
      // SIGINT is PostgreSQL's "fast" shutdown: it does not wait for clients.
      server.kill("SIGINT");
      await exited;
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

function findBinaries(): string {
  const folders = ["/usr/lib/postgresql/15/bin", ...(process.env["PATH"] ?? "").split(":")];
  const found = folders.find((folder) => existsSync(join(folder, "initdb")));
  if (found === undefined)
    throw new Error("pnpm bench needs PostgreSQL 15. On Debian: apt-get install postgresql-15");
  return found;
}

function postgresUser(): { uid: number; gid: number } {
  const id = (flag: string): number =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim());
  return { uid: id("-u"), gid: id("-g") };
}

/** The kernel's choice; somebody could take it before the server does, and then the start fails loudly. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

async function firstAnswer(url: string, server: ChildProcess, logFile: string): Promise<string> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
      return (rows[0]?.server_version ?? "").split(" ")[0] ?? "";
    } catch (cause) {
      if (server.exitCode !== null || Date.now() > deadline)
        throw new Error(`PostgreSQL did not start:\n${readFileSync(logFile, "utf8")}`, { cause });
      await sleep(50);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
