import { appendFileSync, existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import {
  childrenOf,
  isAlive,
  onFreePort,
  run,
  serverAccount,
  ServerFolder,
  ServerProcess,
  waitUntil,
} from "./process.ts";

const DEBIAN = "/usr/lib/postgresql";

/** The folder with the server's programs, newest version first; undefined where there is none. */
export function postgresBin(version?: string | number): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  return readdirSync(DEBIAN)
    .filter((name) => version === undefined || name === String(version))
    .toSorted((a, b) => Number(b) - Number(a))
    .map((name) => join(DEBIAN, name, "bin"))
    .find((bin) => existsSync(join(bin, "postgres")));
}

export interface PostgresOptions {
  /**
   * Whether bytes reach the disk at each commit. Default false, which is faster and only loses data if the machine crashes: a commit is
   * written to the file all the same, so that a server that is killed has it when it starts again.
   */
  fsync?: boolean;
  /** Major version, for example 15; default: the newest installed. */
  version?: string | number;
  /** More settings of postgresql.conf, for example `{ max_connections: 20 }`. */
  extraSettings?: Record<string, string | number | boolean>;
}

/** A PostgreSQL server of its own in a temporary folder, user `postgres`, no password, database `postgres`. */
export class PostgresServer {
  readonly port: number;
  readonly dataDir: string;
  readonly bin: string;
  protected readonly folder: ServerFolder;
  #process: ServerProcess | undefined;

  constructor(folder: ServerFolder, bin: string, port: number) {
    this.folder = folder;
    this.bin = bin;
    this.port = port;
    this.dataDir = join(folder.dir, "data");
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Process ids: the postmaster first, then its children. Empty while it is down. */
  get pids(): number[] {
    const server = this.#process;
    return server?.running ? [server.pid, ...childrenOf(server.pid)] : [];
  }

  /** Starts it after `kill` or `shutDown`, on the same port and data. */
  async start(): Promise<void> {
    const server = new ServerProcess(
      this.folder,
      "postgres",
      join(this.bin, "postgres"),
      ["-D", this.dataDir, "-p", String(this.port), "-c", `unix_socket_directories=${this.folder.dir}`],
      { account: serverAccount(), guardSignal: "QUIT" },
    );
    this.#process = server;
    await server.up(() => query(this.url, "select 1"), 60_000);
  }

  /** Ends the server and keeps its data: "fast" rolls back and writes a checkpoint, "immediate" ends as in a crash. */
  async shutDown(mode: "fast" | "immediate" = "fast"): Promise<void> {
    const pids = this.pids;
    await this.#process?.end(mode === "fast" ? "SIGINT" : "SIGQUIT");
    await gone(pids);
  }

  async restart({ mode }: { mode: "fast" | "immediate" } = { mode: "fast" }): Promise<void> {
    await this.shutDown(mode);
    await this.start();
  }

  /** Sends SIGKILL to the postmaster, as in a crash; resolves when its children have noticed and ended. */
  async kill(): Promise<void> {
    const pids = this.pids;
    await this.#process?.end("SIGKILL");
    await gone(pids);
  }

  /** Ends the server and removes its folder. */
  async stop(): Promise<void> {
    await this.shutDown("immediate");
    this.folder.remove();
  }
}

/** Starts a PostgreSQL server on a free port. Needs Debian's `postgresql` (about 0.7 s). */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = postgresBin(options.version);
  if (!bin)
    throw new Error(`no PostgreSQL ${options.version ?? ""} under ${DEBIAN}: apt-get install postgresql`);
  return onFreePort(async (port) => {
    const account = serverAccount();
    const folder = new ServerFolder("postgres", account, options.fsync ? tmpdir() : undefined);
    const server = new PostgresServer(folder, bin, port);
    try {
      const init = ["-D", server.dataDir, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8"];
      await run(join(bin, "initdb"), options.fsync ? init : [...init, "--no-sync"], { account });
      const settings = {
        listen_addresses: "127.0.0.1",
        max_connections: 200,
        ...(options.fsync ? {} : { fsync: "off", full_page_writes: "off" }),
        ...options.extraSettings,
      };
      const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
      appendFileSync(join(server.dataDir, "postgresql.conf"), lines.join(""));
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  });
}

/** A streaming replica; `url` reads, writes are refused until `promote`. */
export class PostgresReplica extends PostgresServer {
  readonly #primary: PostgresServer;
  readonly #slot: string;

  constructor(folder: ServerFolder, primary: PostgresServer, port: number) {
    super(folder, primary.bin, port);
    this.#primary = primary;
    this.#slot = `replica_${port}`;
  }

  async copyPrimary(): Promise<void> {
    const account = serverAccount();
    await run(
      join(this.bin, "pg_basebackup"),
      [
        ...["-h", "127.0.0.1", "-p", String(this.#primary.port), "-U", "postgres", "-D", this.dataDir],
        ...["-R", "-X", "stream", "-c", "fast", "-N", "-C", "-S", this.#slot],
      ],
      { account },
    );
  }

  /** Makes it a primary; resolves when it takes writes. */
  async promote(): Promise<void> {
    await query(this.url, "select pg_promote(true, 60)");
    await waitUntil("the replica to take writes", async () => {
      const [row] = await query(this.url, "select pg_is_in_recovery() as recovering");
      return row?.["recovering"] === false;
    });
  }

  /** Stops replaying what the primary writes. */
  async pauseReplay(): Promise<void> {
    await query(this.url, "select pg_wal_replay_pause()");
    await waitUntil("replay to pause", async () => {
      const [row] = await query(this.url, "select pg_get_wal_replay_pause_state() as state");
      return row?.["state"] === "paused";
    });
  }

  async resumeReplay(): Promise<void> {
    await query(this.url, "select pg_wal_replay_resume()");
  }

  /** Resolves when it has replayed all that the primary has written so far. */
  async caughtUp(): Promise<void> {
    // Commit durably first: with fsync off, earlier commits may still be in the primary's memory.
    await query(
      this.#primary.url,
      "set synchronous_commit = on; select pg_logical_emit_message(true, 'caughtUp', '')",
    );
    const [row] = await query(this.#primary.url, "select pg_current_wal_flush_lsn()::text as lsn");
    await waitUntil("the replica to catch up", async () => {
      const sql = "select pg_last_wal_replay_lsn() >= $1::pg_lsn as done";
      const [replica] = await query(this.url, sql, [row?.["lsn"]]);
      return replica?.["done"];
    });
  }

  override async stop(): Promise<void> {
    await super.stop();
    // Otherwise the slot would have the primary keep its log for a replica that is gone.
    if (this.#primary.pids.length > 0)
      await waitUntil("the replication slot to be free", async () => {
        const sql =
          "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1";
        await query(this.#primary.url, sql, [this.#slot]);
        return true;
      });
  }
}

/** Starts a streaming replica of `primary` (about 0.3 s). */
export async function startReplica(primary: PostgresServer): Promise<PostgresReplica> {
  return onFreePort(async (port) => {
    const replica = new PostgresReplica(new ServerFolder("replica", serverAccount()), primary, port);
    try {
      await replica.copyPrimary();
      await replica.start();
      return replica;
    } catch (error) {
      await replica.stop();
      throw error;
    }
  });
}

/** One statement on a connection of its own. */
export async function query(
  url: string,
  sql: string,
  values?: unknown[],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // Without a listener, a connection that breaks when the server is killed would end this process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The postmaster's children end by themselves when it is gone; one that does not within 10 s is killed. */
async function gone(pids: number[]): Promise<void> {
  const none = () => !pids.some(isAlive);
  await waitUntil("the server's processes to end", none, { timeoutMs: 10_000 }).catch(() => {
    for (const pid of pids.filter(isAlive)) process.kill(pid, "SIGKILL");
  });
}
