import { setTimeout as sleep } from "node:timers/promises";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver, boundedMemory, type TieredSaverOptions } from "@stratigraph/tiered";
import { available } from "../../../../test/servers/available.ts";
import { startPostgres } from "../../../../test/servers/postgres.ts";
import { waitUntil } from "../../../../test/servers/process.ts";
import { startRedis, type RedisOptions, type RedisServer } from "../../../../test/servers/redis.ts";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { inRounds } from "../../../../test/rounds.ts";

const lines = Annotation.Root({
  lines: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Three nodes; each adds a line of 200 characters. */
function graphOn(checkpointer: TieredSaver) {
  const node = (name: string) => (state: typeof lines.State) => ({
    lines: [`${state.lines.length} ${name} ${"x".repeat(200)}`],
  });
  return new StateGraph(lines)
    .addNode("a", node("a"))
    .addNode("b", node("b"))
    .addNode("c", node("c"))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .addEdge("c", END)
    .compile({ checkpointer });
}

/** Resolves when each stack has counted more hits of its hot tier, or has given up more copies, than when it was called. */
async function more(what: "hits" | "dropped", savers: readonly TieredSaver[]): Promise<void> {
  const counted = () => savers.map(({ tier }) => tier.counters[0]![what]);
  const before = counted();
  const all = () => counted().every((count, index) => count > before[index]!);
  await waitUntil(`more ${what}`, all, { timeoutMs: 20_000 });
}

/** Runs turns on some threads until `done`; every turn must find all that earlier ones left. Returns turns and threads. */
async function runsUntil(
  savers: readonly TieredSaver[],
  fault: (runs: { readonly turns: number }) => Promise<unknown>,
): Promise<{ turns: number; threads: RunnableConfig[] }> {
  const threads: RunnableConfig[] = [];
  const until = { over: false };
  const runs = { turns: 0 };
  const conversation = async (thread: number): Promise<void> => {
    const config = {
      configurable: { thread_id: `t${thread} ${Math.random()}` },
      durability: "sync" as const,
    };
    threads.push(config);
    for (let turn = 0; !until.over || turn < 3; turn += 1) {
      const graph = graphOn(savers[turn % savers.length]!);
      const { lines: said } = await graph.invoke({ lines: [`${turn * 4} in`] }, config);
      expect(said.map((line) => Number(line.split(" ")[0]))).toEqual(said.map((_, i) => i));
      expect(said).toHaveLength((turn + 1) * 4);
      runs.turns += 1;
      // A user's pause, in which the other conversations and other test files run.
      await sleep(50);
    }
  };
  const faulty = fault(runs).finally(() => (until.over = true));
  await Promise.all([faulty, ...[0, 1, 2].map(conversation)]);
  return { turns: runs.turns, threads };
}

describe.skipIf(!available.redis || !available.postgres)("a Redis of one's own in front of Postgres", () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());

  /**
   * Two processes' savers (two stacks, two connections each) on a new Redis, while `fault` happens. One alone under "trusted":
   * while Redis can't be reached, a process can't tell the others that it wrote, and what they may then read for up to
   * `trustFor` is an older head. The compare-and-set refuses their write; trusted.test.ts shows that.
   */
  async function survives(
    options: RedisOptions,
    stack: Partial<TieredSaverOptions>,
    fault: (
      server: RedisServer,
      savers: readonly TieredSaver[],
      runs: { readonly turns: number },
    ) => Promise<void>,
    url: (server: RedisServer) => string = (server) => server.url,
    setUp: (saver: TieredSaver) => Promise<unknown> = (saver) => saver.setup(),
  ) {
    const server = await startRedis(options);
    const processes = stack.consistency === "trusted" ? [0] : [0, 1];
    const savers = processes.map(
      () =>
        new TieredSaver({
          hot: redis({ url: url(server), ttl: "5m" }),
          warm: postgres({ url: database.url }),
          breaker: { openFor: "200ms", maxOpenFor: "500ms" },
          ...stack,
        }),
    );
    try {
      for (const saver of savers) await setUp(saver);
      const { turns, threads } = await runsUntil(savers, (runs) => fault(server, savers, runs));
      // A turn right after another may come before its copies. With nothing under way, one read brings a thread back, and the next hits.
      for (const saver of savers)
        for (let read = 0; read < 2; read += 1) {
          await saver.tier.idle();
          await saver.getTuple(threads[0]!);
        }
      return { turns, counters: savers.map(({ tier }) => tier.counters[0]!) };
    } finally {
      server.resume();
      await Promise.all(savers.map((saver) => saver.end()));
      await server.stop();
    }
  }

  describe.each(inRounds({ few: ["verified"], all: ["verified", "trusted"] } as const))(
    "%s",
    (consistency) => {
      test("killed and restarted empty: no failed run, no wrong value, and it is used again", async () => {
        const { turns, counters } = await survives({}, { consistency }, async (server, savers) => {
          for (let n = 0; n < 2; n += 1) {
            await more("hits", savers);
            await server.kill();
            // Each process has to notice, however slow the machine is.
            await more("dropped", savers);
            await server.start();
          }
          await more("hits", savers);
        });
        expect(turns).toBeGreaterThan(6);
        for (const { hits, dropped } of counters) {
          expect(hits).toBeGreaterThan(0);
          expect(dropped).toBeGreaterThan(0);
        }
      });

      test("paused: costs its timeout once in a while, and no run", async () => {
        const { counters } = await survives({}, { consistency }, async (server, savers, runs) => {
          await more("hits", savers);
          server.pause();
          const before = runs.turns;
          await waitUntil("turns without Redis", () => runs.turns >= before + 12);
          server.resume();
          await more("hits", savers);
        });
        for (const { hits } of counters) expect(hits).toBeGreaterThan(0);
      });

      test("full, with eviction: what was evicted is a miss", async () => {
        const evicting = async (server: RedisServer, savers: readonly TieredSaver[]): Promise<void> => {
          await more("hits", savers);
          const figure = async (name: string): Promise<number> =>
            Number(new RegExp(`${name}:(\\d+)`).exec(String(await server.command("info")))?.[1]);
          await server.command("config", "set", "maxmemory", (await figure("used_memory")) + 50_000);
          await waitUntil("evictions", async () => (await figure("evicted_keys")) > 0);
          await more("hits", savers);
        };
        const { turns } = await survives({ maxmemory: "64mb" }, { consistency }, evicting);
        expect(turns).toBeGreaterThan(6);
      });

      test("full, refusing writes", async () => {
        const full: RedisOptions = { maxmemory: "1mb", maxmemoryPolicy: "noeviction" };
        const { turns, counters } = await survives(full, { consistency }, (_server, savers) =>
          more("dropped", savers),
        );
        expect(turns).toBeGreaterThan(6);
        for (const { dropped } of counters) expect(dropped).toBeGreaterThan(0);
      });
    },
  );

  test("a wrong password: set-up is refused; one that is found at run time costs no run", async () => {
    const wrong = (server: RedisServer): string => server.url.replace(/:[^:@]*@/, ":wrong@");
    const refused = (saver: TieredSaver) =>
      expect(saver.setup()).rejects.toMatchObject({ code: "ACCESS_DENIED", data: { role: "hot" } });
    const { turns, counters } = await survives(
      { password: "right" },
      {},
      async (_server, _savers, runs) => void (await waitUntil("turns", () => runs.turns > 6)),
      wrong,
      refused,
    );
    expect(turns).toBeGreaterThan(6);
    for (const { hits } of counters) expect(hits).toBe(0);
  });
});

test.skipIf(!available.postgres)("Postgres restarts in the middle of runs: they go on", async () => {
  // With fsync: a crash of the server that forgets acknowledged commits is none to survive.
  const server = await startPostgres({ fsync: true });
  const saver = new TieredSaver({ hot: boundedMemory(), warm: postgres({ url: server.url }) });
  try {
    await saver.setup();
    await runsUntil([saver], async (runs) => {
      const more = async (): Promise<void> => {
        const before = runs.turns;
        await waitUntil("more turns", () => runs.turns > before + 3, { timeoutMs: 60_000 });
      };
      for (const mode of ["fast", "immediate"] as const) {
        await more();
        await server.restart({ mode });
      }
      await more();
    });
  } finally {
    await saver.end();
    await server.stop();
  }
});
