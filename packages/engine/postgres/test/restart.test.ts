import { setTimeout as sleep } from "node:timers/promises";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../../../test/servers/process.ts";
import { available } from "../../../../test/servers/available.ts";
import { query, startPostgres, type PostgresServer } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { startDeafProxy, type DeafProxy } from "./support/deafProxy.ts";
import { linesOf, stepsGraph } from "./support/stepsGraph.ts";
import { inRounds } from "../../../../test/rounds.ts";

const metadata = { source: "loop", step: 0, parents: {} } as const;

describe.skipIf(!available.postgres)("a server that restarts in the middle of runs", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ fsync: true });
  });
  afterAll(() => server.stop());

  test.each(inRounds({ few: ["fast", "kill"], all: ["fast", "immediate", "kill"] } as const))(
    "%s: they finish, and nothing is lost",
    async (mode) => {
      const saver = PostgresSaver.fromConnString(server.url, { schema: mode, retryFor: "60s" });
      await saver.setup();
      const steps = 30;
      let restarted = false;
      let stepsAfter = 0;
      let waiting = 0;
      let goOn = (): void => undefined;
      const restarting = new Promise<void>((resolve) => (goOn = resolve));
      const graph = stepsGraph(saver, steps, {
        inStep: async (step) => {
          if (restarted) stepsAfter += 1;
          if (step !== 5) return;
          waiting += 1;
          await restarting;
        },
      });
      const config = (n: number) => ({
        configurable: { thread_id: `run ${n}` },
        durability: n % 2 === 0 ? ("sync" as const) : ("async" as const),
        recursionLimit: 1000,
      });
      const runs = Array.from({ length: 12 }, (_, n) => graph.invoke({ log: [] }, config(n)));
      // Handled below; a failure before that must not end the test run.
      for (const run of runs) run.catch(() => undefined);
      await waitUntil("all runs in a step", () => waiting === runs.length);
      goOn();
      if (mode === "kill") {
        await server.kill();
        await server.start();
      } else await server.restart({ mode });
      restarted = true;
      for (const [n, run] of runs.entries()) {
        expect(await run).toEqual({ log: linesOf(steps), step: steps });
        const { values } = await graph.getState(config(n));
        expect(values).toEqual({ log: linesOf(steps), step: steps });
        expect(await saver.conflicts(`run ${n}`)).toEqual([]);
        let count = 0;
        for await (const _ of saver.list(at(`run ${n}`))) count += 1;
        expect(count).toBe(steps + 2);
      }
      expect(stepsAfter).toBeGreaterThan(steps);
      await saver.end();
    },
  );

  test("a server that stays away is an error that says so, after the time given", async () => {
    const saver = PostgresSaver.fromConnString(server.url, { retryFor: "300ms" });
    await saver.setup();
    await server.kill();
    const error: unknown = await saver.getTuple(at("t")).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "UNAVAILABLE", data: { forMs: 300 } });
    expect(String(error)).toMatch(
      /could not be reached for 300 ms \(.*ECONNREFUSED.*\)\. Check that the server runs/,
    );
    await server.start();
    expect(await saver.getTuple(at("t"))).toBeUndefined();
    await saver.end();
  });
});

test("connections ended by a pooler or an administrator while idle or at work are unnoticed", async () => {
  const database = await freshDatabase();
  // As most users open a pool: without a listener for errors of idle connections.
  const pool = new pg.Pool({ connectionString: database.url, max: 3 });
  const saver = new PostgresSaver({ pool });
  await saver.setup();
  const steps = 40;
  const graph = stepsGraph(saver, steps, { inStep: () => sleep(5) });
  const config = { configurable: { thread_id: "t" }, recursionLimit: 1000 };
  const done = new AbortController();
  let ended = 0;
  const killing = (async () => {
    while (!done.signal.aborted) {
      const rows = await query(
        database.url,
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
      );
      ended += rows.length;
      await sleep(20);
    }
  })();
  const state = await graph.invoke({ log: [] }, config);
  const isEnough = (): boolean => ended > 3;
  for (let n = 0; !isEnough(); n += 1)
    await graph.invoke({ log: [] }, { ...config, configurable: { thread_id: `again ${n}` } });
  done.abort();
  await killing;
  expect(state).toEqual({ log: linesOf(steps), step: steps });
  expect((await graph.getState(config)).values).toEqual(state);
  expect(await saver.conflicts("t")).toEqual([]);
  await pool.end();
  await database.drop();
});

describe("an acknowledgement that is lost after the server did the work", () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let proxy: DeafProxy;
  let saver: PostgresSaver;
  beforeAll(async () => {
    database = await freshDatabase();
    proxy = await startDeafProxy(database.url);
    saver = PostgresSaver.fromConnString(proxy.url);
    await saver.setup();
  });
  afterAll(async () => {
    await saver.end();
    await proxy.stop();
    await database.drop();
  });

  /** Does something with its first answers lost. */
  async function deaf<T>(work: () => Promise<T>, count = 2): Promise<T> {
    const before = proxy.lost();
    proxy.loseAnswers(count);
    const result = await work();
    expect(proxy.lost() - before).toBe(count);
    return result;
  }

  test.each(["throw", "branch"] as const)(
    "conflict: %s: put repeats without a conflict",
    async (conflict) => {
      const own = PostgresSaver.fromConnString(proxy.url, { conflict });
      const first = checkpointOf({ n: 1 });
      const second = checkpointOf({ n: 2 }, { version: 2 });
      await deaf(() => own.put(at(conflict), first, metadata, first.channel_versions));
      await deaf(() => own.put(at(conflict, first.id), second, metadata, second.channel_versions));
      expect((await own.getTuple(at(conflict)))?.checkpoint.id).toBe(second.id);
      expect(await own.conflicts(conflict)).toEqual([]);
      await own.end();
    },
  );

  test("putWrites repeats without doubling", async () => {
    const first = checkpointOf({ n: 1 });
    await saver.put(at("writes"), first, metadata, first.channel_versions);
    await deaf(() =>
      saver.putWrites(
        at("writes", first.id),
        [
          ["n", 2],
          ["m", "x".repeat(9_000)],
        ],
        "task",
      ),
    );
    expect((await saver.getTuple(at("writes")))?.pendingWrites).toEqual([
      ["task", "n", 2],
      ["task", "m", "x".repeat(9_000)],
    ]);
  });

  test("setup, copyThread, promote, prune, deleteForRuns and deleteThread repeat", async () => {
    await deaf(() => saver.setup(), 1);
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const checkpoint = checkpointOf({ n }, { version: n + 1 });
      const config = { ...at("many", ids.at(-1)), metadata: { run_id: n === 5 ? "last" : "others" } };
      await saver.put(config, checkpoint, metadata, checkpoint.channel_versions);
      ids.push(checkpoint.id);
    }
    const left = async (threadId: string): Promise<string[]> => {
      const found: string[] = [];
      for await (const { checkpoint } of saver.list(at(threadId))) found.unshift(checkpoint.id);
      return found;
    };
    // Its first answer is the look at the target; the second is the copy's.
    await deaf(() => saver.copyThread("many", "copy"));
    expect(await left("copy")).toEqual(ids);
    await deaf(() => saver.promote(at("copy", ids[3])));
    expect((await saver.getTuple(at("copy")))?.checkpoint.id).toBe(ids[3]);
    await deaf(() => saver.deleteForRuns(["last"]));
    expect(await left("many")).toEqual(ids.slice(0, 5));
    await deaf(() => saver.prune(["many"], { strategy: "keep_latest", keepLast: 2 }), 4);
    expect(await left("many")).toEqual(ids.slice(3, 5));
    await deaf(() => saver.deleteThread("many"));
    expect(await left("many")).toEqual([]);
  });

  test("answers are lost all through a graph's runs: they end as they should", async () => {
    let losses = 0;
    const graph = stepsGraph(saver, 20, {
      inStep: async (step) => {
        if (step % 3 !== 0) return;
        await waitUntil("the answer that was to be lost", () => proxy.lost() === losses);
        losses += 1;
        proxy.loseAnswers(1);
      },
    });
    for (const durability of ["sync", "async"] as const) {
      const before = proxy.lost();
      losses = before;
      const config = { configurable: { thread_id: durability }, durability, recursionLimit: 100 };
      const state = await graph.invoke({ log: [] }, config);
      expect(state).toEqual({ log: linesOf(20), step: 20 });
      expect((await graph.getState(config)).values).toEqual(state);
      expect(await saver.conflicts(durability)).toEqual([]);
      expect(proxy.lost() - before).toBe(7);
    }
  });
});
