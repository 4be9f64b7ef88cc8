import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { onFreePort, ServerFolder, ServerProcess, waitUntil } from "./process.ts";
import { startRedis, type RedisServer } from "./redis.ts";

export interface RedisSentinel {
  /** Where the Sentinel listens. It calls the master `agents`. */
  readonly sentinel: { readonly host: string; readonly port: number };
  /** First the master, then its replica. */
  readonly nodes: readonly [RedisServer, RedisServer];
  stop(): Promise<void>;
}

/** Starts a master, its replica, and one Sentinel that promotes the replica when the master doesn't answer for 2 s. */
export async function startRedisSentinel(extraArgs: string[] = []): Promise<RedisSentinel> {
  const settings = { appendonly: true, extraArgs: ["--repl-diskless-sync-delay", "0", ...extraArgs] };
  const nodes = [await startRedis(settings), await startRedis(settings)] as const;
  const folder = new ServerFolder("sentinel");
  const running: ServerProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all([
      ...running.map((server) => server.end("SIGKILL")),
      ...nodes.map((node) => node.stop()),
    ]);
    folder.remove();
  };
  try {
    const [master, replica] = nodes;
    await replica.command("replicaof", "127.0.0.1", master.port);
    await waitUntil("the replica to be in step", async () =>
      String(await replica.command("info", "replication")).includes("master_link_status:up"),
    );
    const port = await onFreePort(async (free) => {
      const config = join(folder.dir, `${free}.conf`);
      writeFileSync(config, configOf(free, master.port, folder.dir));
      const server = new ServerProcess(folder, `sentinel-${free}`, "redis-server", [config, "--sentinel"]);
      running.push(server);
      await server.up(async () => await knowsReplica(free));
      return free;
    });
    return { sentinel: { host: "127.0.0.1", port }, nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const configOf = (port: number, master: number, dir: string): string => `
port ${port}
bind 127.0.0.1
dir ${dir}
sentinel monitor agents 127.0.0.1 ${master} 1
sentinel down-after-milliseconds agents 2000
sentinel failover-timeout agents 6000
`;

async function knowsReplica(port: number): Promise<boolean> {
  const client = new Redis(port, "127.0.0.1", { lazyConnect: true, retryStrategy: () => null });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return ((await client.call("SENTINEL", "replicas", "agents")) as unknown[]).length === 1;
  } finally {
    client.disconnect();
  }
}
