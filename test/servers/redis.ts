import { Redis } from "ioredis";
import { onFreePort, ServerFolder, ServerProcess, waitUntil } from "./process.ts";

export interface RedisOptions {
  /** Limit as redis.conf writes it, for example "16mb". Default: none. */
  maxmemory?: string;
  /** Default "allkeys-lru" where `maxmemory` is given. */
  maxmemoryPolicy?: string;
  password?: string;
  /** Default false: a killed server comes back empty. */
  appendonly?: boolean;
  /** More command line settings, for example `["--hz", "100"]`. */
  extraArgs?: string[];
}

/** A Redis server of its own in a temporary folder. */
export class RedisServer {
  readonly port: number;
  readonly #folder: ServerFolder;
  readonly #options: RedisOptions;
  #process: ServerProcess | undefined;

  constructor(folder: ServerFolder, port: number, options: RedisOptions) {
    this.#folder = folder;
    this.port = port;
    this.#options = options;
  }

  get url(): string {
    const { password } = this.#options;
    const login = password === undefined ? "" : `:${encodeURIComponent(password)}@`;
    return `redis://${login}127.0.0.1:${this.port}`;
  }

  /** The process id; 0 while it is down. */
  get pid(): number {
    return this.#process?.running ? this.#process.pid : 0;
  }

  /** Starts it again after `kill`: the same port, and empty unless `appendonly`. */
  async start(): Promise<void> {
    const {
      maxmemory,
      maxmemoryPolicy = "allkeys-lru",
      password,
      appendonly,
      extraArgs = [],
    } = this.#options;
    const server = new ServerProcess(this.#folder, `redis-${this.port}`, "redis-server", [
      ...["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.#folder.dir, "--save", ""],
      ...["--appendonly", appendonly ? "yes" : "no"],
      ...(maxmemory === undefined ? [] : ["--maxmemory", maxmemory, "--maxmemory-policy", maxmemoryPolicy]),
      ...(password === undefined ? [] : ["--requirepass", password]),
      ...extraArgs,
    ]);
    this.#process = server;
    await server.up(async () => (await this.command("ping")) === "PONG");
  }

  /** One command on a connection of its own. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    const client = new Redis(this.url, {
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return await client.call(name, ...args);
    } finally {
      client.disconnect();
    }
  }

  /** Stops the process with SIGSTOP: it keeps its connections and answers nothing. */
  pause(): void {
    this.#process?.signal("SIGSTOP");
  }

  resume(): void {
    this.#process?.signal("SIGCONT");
  }

  /** Sends SIGKILL; resolves when the process has ended. */
  async kill(): Promise<void> {
    await this.#process?.end("SIGKILL");
  }

  /** Ends the server and removes its folder. */
  async stop(): Promise<void> {
    await this.kill();
    this.#folder.remove();
  }
}

/** Starts a Redis server on a free port. Needs Debian's `redis-server` (about 0.1 s). */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  return onFreePort(async (port) => {
    const server = new RedisServer(new ServerFolder("redis"), port, options);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  });
}

export interface RedisCluster {
  /** Three masters, then their three replicas. */
  nodes: RedisServer[];
  /** Sends SIGKILL to master `i` (0 to 2). Its replica takes over within about 2 s. */
  killMaster(i: number): Promise<void>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;

/** Starts a Redis Cluster of 3 masters and 3 replicas, formed by hand (about 2 s; `redis-cli --cluster` takes 6 s). */
export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    // Start them one by one: the bus port is the client port + 10 000, which nobody reserved; the server checks that it is free.
    for (let i = 0; i < 6; i++) nodes.push(await startRedis({ extraArgs: CLUSTER }));
    await form(nodes);
    return { nodes, stop, killMaster: async (i) => nodes.slice(0, 3)[i]?.kill() };
  } catch (error) {
    await stop();
    throw error;
  }
}

const CLUSTER = [
  ...["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000"],
  ...["--repl-diskless-sync-delay", "0"],
];

async function form(nodes: RedisServer[]): Promise<void> {
  const [first, ...others] = nodes;
  if (!first) return;
  const masters = nodes.slice(0, 3);
  const replicas = nodes.slice(3);
  const share = Math.ceil(SLOTS / masters.length);
  for (const [i, master] of masters.entries())
    await master.command("cluster", "addslotsrange", i * share, Math.min((i + 1) * share, SLOTS) - 1);
  // With different epochs from the start, the nodes needn't vote on who owns which slots.
  for (const [i, node] of nodes.entries()) await node.command("cluster", "set-config-epoch", i + 1);
  for (const node of others) await first.command("cluster", "meet", "127.0.0.1", node.port);
  for (const [i, replica] of replicas.entries()) {
    const master = String(await masters[i]?.command("cluster", "myid"));
    await waitUntil("a replica to know its master", () => replica.command("cluster", "replicate", master));
  }
  for (const node of nodes)
    await waitUntil("the cluster to be whole", async () => {
      const info = String(await node.command("cluster", "info"));
      return info.includes("cluster_state:ok") && info.includes("cluster_known_nodes:6");
    });
  for (const replica of replicas)
    await waitUntil("the replicas to be in step", async () =>
      String(await replica.command("info", "replication")).includes("master_link_status:up"),
    );
}
