import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { query } from "./postgres.ts";
import { onFreePort, serverAccount, ServerFolder, ServerProcess } from "./process.ts";

export interface PgBouncerOptions {
  /** URL of the server behind it. */
  target: string;
  /** Default "transaction". */
  poolMode?: "transaction" | "session" | "statement";
  /** More lines of the `[pgbouncer]` section, for example `{ default_pool_size: 2 }`. */
  extraSettings?: Record<string, string | number>;
}

export interface PgBouncer {
  /** The target's URL, through the pooler. */
  url: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Starts PgBouncer in front of a server. Needs Debian's `pgbouncer` (about 0.1 s). */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  return onFreePort(async (port) => {
    const account = serverAccount();
    const folder = new ServerFolder("pgbouncer", account);
    const target = new URL(options.target);
    const config = join(folder.dir, "pgbouncer.ini");
    const users = join(folder.dir, "users.txt");
    writeFileSync(
      users,
      `"${decodeURIComponent(target.username)}" "${decodeURIComponent(target.password)}"\n`,
    );
    const settings = {
      listen_addr: "127.0.0.1",
      listen_port: port,
      unix_socket_dir: "",
      auth_type: "trust",
      auth_file: users,
      pool_mode: options.poolMode ?? "transaction",
      max_client_conn: 500,
      default_pool_size: 20,
      ...options.extraSettings,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const databases = `[databases]\n* = host=${target.hostname} port=${target.port || 5432}\n`;
    writeFileSync(config, `${databases}[pgbouncer]\n${lines.join("\n")}\n`);
    const server = new ServerProcess(folder, "pgbouncer", "pgbouncer", [config], { account });
    const through = new URL(target);
    through.host = `127.0.0.1:${port}`;
    const stop = async () => {
      await server.end("SIGKILL");
      folder.remove();
    };
    try {
      await server.up(() => query(through.href, "select 1"));
    } catch (error) {
      await stop();
      throw error;
    }
    return { url: through.href, port, pid: server.pid, stop };
  });
}
