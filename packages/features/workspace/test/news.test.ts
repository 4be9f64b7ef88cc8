// long file: every way in which a wake-up is lost, cut or refused, with the same few helpers
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import type { TierSaver, TraceEvent } from "@stratigraph/core";
import { keepsWorkspaces } from "@stratigraph/core/internal";
import type { LogPage, WorkspaceNews, WorkspaceStorage } from "@stratigraph/core/tier";
import { PostgresSaver } from "@stratigraph/postgres";
import { RedisSaver } from "@stratigraph/redis";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { runChild, type Child } from "../../../../test/servers/children.ts";
import { startPgBouncer } from "../../../../test/servers/pgbouncer.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { startRedis } from "../../../../test/servers/redis.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { follow } from "../src/follow.ts";
import { createWorkspace, type Workspace } from "../src/index.ts";
import type { Parts } from "../src/parts.ts";
import { SharedReads } from "../src/sharedReads.ts";
import { allRounds } from "../../../../test/rounds.ts";

// Readers are woken by other processes; where the wake-up is lost, cut or refused, they look by themselves and miss nothing.

const closing: (() => unknown)[] = [];
let database: Awaited<ReturnType<typeof freshDatabase>>;
// Of its own: all connections that subscribe are cut.
let server: Awaited<ReturnType<typeof startRedis>>;

beforeAll(async () => {
  [database, server] = await Promise.all([freshDatabase(), startRedis()]);
  await openPostgres().setup();
});

afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  await Promise.all([database.drop(), server.stop()]);
});

function kept<T extends TierSaver>(saver: T): T {
  closing.push(() => saver.end());
  return saver;
}

const openPostgres = (url = database.url): PostgresSaver => kept(PostgresSaver.fromConnString(url));
const openRedis = async (url = server.url): Promise<RedisSaver> => kept(await RedisSaver.fromUrl(url));

function storageOf({ tier }: TierSaver): WorkspaceStorage {
  if (!keepsWorkspaces(tier)) throw new Error("no workspaces");
  return tier.workspaces;
}

/** Waits until commits of all processes are told of, and then for the next of a workspace. */
async function told(saver: TierSaver, { name }: Workspace): Promise<WorkspaceNews> {
  for (;;) {
    const news = storageOf(saver).changed!(name, new AbortController().signal);
    if (news.ofAllProcesses) return news;
    await news.come;
  }
}

function run(orders: Record<string, string>): Child<{ readonly saw: string }> {
  return runChild(join(import.meta.dirname, "newsChild.ts"), [JSON.stringify(orders)]);
}

/** What a watcher sees; `until` waits for a key. */
function watching(workspace: Workspace) {
  const seen: string[] = [];
  let look: (() => void) | undefined;
  const stop = new AbortController();
  const ended = (async () => {
    for await (const event of workspace.watch({ since: 0, signal: stop.signal })) {
      if ("key" in event) seen.push(event.key);
      look?.();
    }
  })();
  return {
    seen,
    until: async (key: string): Promise<void> => {
      while (!seen.includes(key))
        await Promise.race([ended, new Promise<void>((resolve) => (look = resolve))]);
    },
    stop: async (): Promise<void> => {
      stop.abort();
      await ended;
    },
  };
}

/** The calls of a method from now on. */
function counting(...methods: readonly string[]) {
  let [underWay, most] = [0, 0];
  const errors: unknown[] = [];
  const counts = new Map<string, number>();
  const onEvent = (event: unknown): void => {
    const it = event as TraceEvent;
    if ((it.type !== "call-start" && it.type !== "call") || !methods.includes(it.method)) return;
    underWay += it.type === "call-start" ? 1 : -1;
    most = Math.max(most, underWay);
    if (it.type === "call-start") counts.set(it.method, (counts.get(it.method) ?? 0) + 1);
    else if (it.error !== undefined) errors.push(it.error);
  };
  subscribe("stratigraph", onEvent);
  const stop = (): void => void unsubscribe("stratigraph", onEvent);
  closing.push(stop);
  return { count: () => counts.get(methods[0]!) ?? 0, most: () => most, errors, stop };
}

interface Kind {
  readonly open: () => Promise<TierSaver>;
  readonly logged: string;
  /** For a process of its own. */
  readonly orders: () => Record<string, string>;
  /** Cuts the connections that listen; returns how many. */
  readonly cut: () => Promise<number>;
}

const kinds: readonly (readonly [string, Kind])[] = [
  [
    "PostgreSQL",
    {
      open: async () => openPostgres(),
      logged: "workspaceLog",
      orders: () => ({ url: database.url }),
      cut: async () => {
        const cut = `select count(pg_terminate_backend(pid))::integer as n from pg_stat_activity
          where datname = current_database() and query like 'listen %'`;
        return Number((await query(database.url, cut))[0]!["n"]);
      },
    },
  ],
  [
    "Redis",
    {
      open: () => openRedis(),
      logged: "workspaces.log",
      orders: () => ({ url: server.url, redis: "yes" }),
      cut: async () => Number(await server.command("CLIENT", "KILL", "TYPE", "pubsub")),
    },
  ],
];

describe.each(kinds)("news on %s", (kind, { open, logged, orders, cut }) => {
  test("a listener that is cut costs no entry, and wakes again", async () => {
    const [writer, reader] = [await open(), await open()];
    const to = createWorkspace(writer, "cut");
    const watcher = watching(createWorkspace(reader, "cut"));
    for (let round = 0; round < 3; round += 1) {
      const { come } = await told(reader, to);
      expect(await cut()).toBeGreaterThan(0);
      await to.put(["a"], `${round} cut`, {});
      await come;
      const heard = await told(reader, to);
      await to.put(["a"], `${round} whole`, {});
      await heard.come;
      await watcher.until(`${round} whole`);
    }
    expect(watcher.seen).toEqual([0, 1, 2].flatMap((round) => [`${round} cut`, `${round} whole`]));
    await watcher.stop();
  });

  test("a burst of commits is told by few statements, one at a time, and none is awaited", async () => {
    const [writer, reader] = [await open(), await open()];
    const names = Array.from({ length: 100 }, (__, n) => `burst ${n}`);
    const waiting = await told(reader, createWorkspace(reader, names[99]!));
    const notified = counting("notify");
    await Promise.all(names.map((name) => createWorkspace(writer, name).put(["a"], "k", {})));
    await waiting.come;
    notified.stop();
    expect(notified.count()).toBeGreaterThan(0);
    expect(notified.count()).toBeLessThan(50);
    expect(notified.most()).toBe(1);
  });

  test("a watcher that is told of news looks every five seconds at most while there are none", async () => {
    const reader = await open();
    const workspace = createWorkspace(reader, "idle");
    await told(reader, workspace);
    const looks = counting(logged);
    const startedAt = performance.now();
    const watcher = watching(workspace);
    // Another reader isn't told of anything. It has looked six times after 1.5 seconds.
    const others = new AbortController();
    let left = 6;
    const log = async (): Promise<LogPage> => {
      if ((left -= 1) === 0) others.abort();
      return {
        ...{ version: 0, trimmed: 0, changedAtMs: 0, afterVersion: 0, afterAtMs: 0 },
        ...{ entries: [], more: false },
      };
    };
    const workspaces = { log } as Partial<WorkspaceStorage> as WorkspaceStorage;
    const parts = { workspaces, reads: new SharedReads(workspaces, "idle"), name: "idle" } as Parts;
    for await (const { key } of follow(parts, [[]], { version: 0 }, others.signal)) throw new Error(key);
    const least = (performance.now() - startedAt) / 5000;
    looks.stop();
    expect(looks.count()).toBeGreaterThan(0);
    expect(looks.count()).toBeLessThanOrEqual(1 + least);
    await watcher.stop();
  });

  test.runIf(allRounds || kind === "PostgreSQL")(
    "a process that is killed between commit and wake-up has its entry read",
    async () => {
      const [writer, reader] = [await open(), await open()];
      const workspace = createWorkspace(reader, "killed");
      await told(reader, workspace);
      const watcher = watching(workspace);
      await createWorkspace(writer, "killed").put(["a"], "first", {});
      await watcher.until("first");
      const child = run({ ...orders(), workspace: "killed", dies: "yes" });
      expect(await child.exit).toMatchObject({ signal: "SIGKILL", stderr: "" });
      await watcher.until("k");
      await watcher.stop();
      expect(watcher.seen).toEqual(["first", "k"]);
    },
  );

  test("a process that watched and ended its saver has nothing left to do", async () => {
    const writer = createWorkspace(await open(), "ended");
    const child = run({ ...orders(), workspace: "ended" });
    await writer.put(["a"], "first", {});
    await child.message(({ saw }) => saw === "first");
    await writer.put(["a"], "last", {});
    expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
    expect((await writer.get(["a"], "k"))!.value).toEqual({ by: "child" });
  });
});

const patience = { timeout: 100_000 };

/** Each of these entries is seen before the next is made: if readers waited to be told, that would take minutes. */
async function seenOneByOne(writer: Workspace, reader: Workspace): Promise<void> {
  const watcher = watching(reader);
  for (let n = 0; n < 30; n += 1) {
    await writer.put(["a"], `${n}`, {});
    await watcher.until(`${n}`);
  }
  await watcher.stop();
  expect(watcher.seen).toEqual(Array.from({ length: 30 }, (_, n) => `${n}`));
}

test.skipIf(!available.pgbouncer)(
  "through a pooler in transaction mode, which takes LISTEN and tells nothing, a watcher looks often",
  patience,
  async () => {
    const pooler = await startPgBouncer({ target: database.url });
    closing.push(() => pooler.stop());
    const [writer, reader] = [openPostgres(), openPostgres(pooler.url)];
    const listens = counting("notify");
    await seenOneByOne(createWorkspace(writer, "pooled"), createWorkspace(reader, "pooled"));
    // The pooler passes probes on, and nobody hears them.
    expect(listens.count()).toBeGreaterThan(0);
    expect(storageOf(reader).changed!("pooled", AbortSignal.abort()).ofAllProcesses).toBe(false);
  },
);

test("a pool of the application's, with one connection, keeps it", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1, application_name: "own pool" });
  closing.push(() => pool.end());
  const reader = kept(new PostgresSaver(pool));
  const [to, from] = [createWorkspace(openPostgres(), "own pool"), createWorkspace(reader, "own pool")];
  const { come } = await told(reader, from);
  await to.put(["a"], "k", {});
  await come;
  expect((await from.get(["a"], "k"))!.key).toBe("k");
  const [{ n } = {}] = await query(
    database.url,
    "select count(*)::integer as n from pg_stat_activity where application_name = 'own pool'",
  );
  expect(n).toBe(2);
});

test("where the connection string names several servers, it listens at the one that takes writes", async () => {
  const { host } = new URL(database.url);
  const reader = openPostgres(database.url.replace(host, `127.0.0.1:1,${host}`));
  const [to, from] = [createWorkspace(openPostgres(), "hosts"), createWorkspace(reader, "hosts")];
  const watcher = watching(from);
  const { come } = await told(reader, from);
  await to.put(["a"], "k", {});
  await come;
  await watcher.until("k");
  await watcher.stop();
});

test.runIf(allRounds)(
  "a pool that doesn't say how to open a connection is asked for none: its watchers look often",
  patience,
  async () => {
    const pool = new pg.Pool({ connectionString: database.url });
    closing.push(() => pool.end());
    const reader = kept(new PostgresSaver({ pool: { query: (asked) => pool.query(asked) } }));
    await seenOneByOne(createWorkspace(openPostgres(), "bare"), createWorkspace(reader, "bare"));
    expect(storageOf(reader).changed!("bare", AbortSignal.abort()).ofAllProcesses).toBe(false);
  },
);

test.runIf(allRounds)("a client that can't be duplicated: its watchers look often", patience, async () => {
  const client = new Redis(server.url);
  closing.push(() => client.disconnect());
  const bare = {
    callBuffer: (name: string, args: (string | Buffer | number)[]) => client.callBuffer(name, ...args),
  };
  const reader = kept(new RedisSaver({ client: bare }));
  await seenOneByOne(createWorkspace(await openRedis(), "bare"), createWorkspace(reader, "bare"));
});

test(
  "a user of Redis without channels makes commits and watches, and is refused once, not with each commit",
  patience,
  async () => {
    await server.command("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "resetchannels");
    const open = () => openRedis(server.url.replace("redis://", "redis://app:secret@"));
    const refused = counting("notify");
    await seenOneByOne(createWorkspace(await open(), "acl"), createWorkspace(await open(), "acl"));
    refused.stop();
    expect(refused.errors).toMatchObject([{ code: "ACCESS_DENIED" }]);
  },
);
