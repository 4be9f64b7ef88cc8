// long file: one kind of failure, for every wait there is
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { PostgresSaver, PostgresTier } from "@stratigraph/postgres";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { waitUntil } from "../../../../test/servers/process.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { resolveDatabaseOptions } from "../src/options.ts";
import { PgLiteExecutor } from "../src/connection/pgliteExecutor.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import { startDeafProxy, type DeafProxy } from "./support/deafProxy.ts";
import { linesOf, stepsGraph } from "./support/stepsGraph.ts";
import { tracedWhile } from "../../../../test/tracedWhile.ts";
import { allRounds, inRounds } from "../../../../test/rounds.ts";

// The server stops answering and no connection is closed: a proxy hangs, a network drops packets, or a statement waits.

const metadata = { source: "loop", step: 0, parents: {} } as const;
/** No call may take longer than this, in milliseconds; without time limits it would wait for ever. */
const endlessMs = 300_000;
const steps = 20;

let database: Awaited<ReturnType<typeof freshDatabase>>;
let proxy: DeafProxy;
beforeEach(async () => {
  database = await freshDatabase();
  proxy = await startDeafProxy(database.url);
});
afterEach(async () => {
  await proxy.stop();
  await database.drop();
});

/** Twelve runs at once, of both durabilities. Returns their ends; `meanwhile` is called after some steps of each. */
async function twelveRuns(saver: PostgresSaver, meanwhile: () => void) {
  let waiting = 12;
  let goOn: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (goOn = resolve));
  const runs = Array.from({ length: waiting }, (_, n) => {
    const graph = stepsGraph(saver, steps, {
      inStep: async (step) => {
        if (step === 3) {
          waiting -= 1;
          if (waiting === 0) goOn();
          await all;
        }
      },
    });
    const durability = n % 2 === 0 ? ("sync" as const) : ("async" as const);
    const config = { configurable: { thread_id: `run ${n}` }, durability, recursionLimit: 1000 };
    return graph.invoke({ log: [] }, config);
  });
  // Registered before the runs' own handler, so no run has another statement under way yet.
  void all.then(meanwhile);
  return await Promise.allSettled(runs);
}

/** The run of one thread, from where it stands to its end. */
async function resumed(saver: PostgresSaver, threadId: string) {
  const graph = stepsGraph(saver, steps, { inStep: async () => undefined });
  return await graph.invoke(null, { configurable: { thread_id: threadId }, recursionLimit: 1000 });
}

/** Short, but long enough for a busy machine while the wire is there. */
const bounds = { retryFor: "2s", statementTimeout: "2s" } as const;

test.each(inRounds({ few: ["lost"], all: ["lost", "kept"] } as const))(
  "a silent wire, connections %s: twelve runs end with a code; once it is back, calls are served at once, and runs go on",
  async (before) => {
    const saver = PostgresSaver.fromConnString(proxy.url, bounds);
    await saver.setup();
    const ends = await twelveRuns(saver, () => proxy.silence());
    for (const end of ends)
      expect(end).toMatchObject({ status: "rejected", reason: { code: "UNAVAILABLE", retryable: true } });
    proxy.restore(before);
    // At the first attempt: no call waits for an old connection.
    const events = await tracedWhile(async () => {
      for (let n = 0; n < 12; n += 1) expect(await saver.getTuple(at(`run ${n}`))).toBeDefined();
      const first = checkpointOf({ n: 1 });
      await saver.put(at("new"), first, metadata, first.channel_versions);
    });
    expect(events.filter(({ type }) => type === "retry")).toEqual([]);
    expect(await resumed(saver, "run 0")).toEqual({ log: linesOf(steps), step: steps });
    expect(await resumed(saver, "run 1")).toEqual({ log: linesOf(steps), step: steps });
    await saver.end();
  },
  endlessMs,
);

test.runIf(allRounds)(
  "the wire is back before the time is up, its connections lost: twelve runs are repeated on others and finish",
  async () => {
    const saver = PostgresSaver.fromConnString(proxy.url, { retryFor: "30s", statementTimeout: "2s" });
    await saver.setup();
    const ends = await twelveRuns(saver, () => {
      proxy.silence();
      proxy.restore("lost");
    });
    for (const end of ends) {
      if (end.status === "rejected") throw end.reason;
      expect(end.value).toEqual({ log: linesOf(steps), step: steps });
    }
    await saver.end();
  },
  endlessMs,
);

test.runIf(allRounds)(
  "a pool that was passed in, without any timeout of its own: the same; what doesn't answer leaves it",
  async () => {
    const pool = new pg.Pool({ connectionString: proxy.url, max: 4 });
    let removed = 0;
    pool.on("remove", () => (removed += 1));
    const saver = new PostgresSaver({ pool, ...bounds });
    await saver.setup();
    let reads: Promise<unknown>[] = [];
    const ends = await twelveRuns(saver, () => {
      proxy.silence();
      // On all its connections.
      reads = Array.from({ length: 8 }, () => expect(saver.getTuple(at("t"))).rejects.toThrow());
    });
    await Promise.all(reads);
    for (const end of ends)
      expect(end).toMatchObject({ status: "rejected", reason: { code: "UNAVAILABLE" } });
    expect(removed).toBeGreaterThanOrEqual(4);
    proxy.restore("kept");
    expect(await resumed(saver, "run 0")).toEqual({ log: linesOf(steps), step: steps });
    await saver.end();
    await pool.end();
  },
  endlessMs,
);

test(
  "a pool whose connections others hold: waiting for one has an end, and abandoned calls count against maxCalls",
  async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    const saver = new PostgresSaver({ pool, retryFor: "100ms", statementTimeout: "500ms", maxCalls: 3 });
    await saver.setup();
    const holder = await pool.connect();
    const codes: unknown[] = [];
    for (let n = 0; n < 12; n += 1)
      codes.push(await saver.getTuple(at("t")).catch(({ code }: { code: string }) => code));
    expect(codes.at(0)).toBe("UNAVAILABLE");
    expect(codes.at(-1)).toBe("OVERLOADED");
    expect(pool.waitingCount).toBeLessThanOrEqual(4);
    holder.release();
    await waitUntil("the pool to be free", () => pool.waitingCount === 0);
    expect(await saver.getTuple(at("t"))).toBeUndefined();
    await pool.end();
  },
  endlessMs,
);

/** Statements of the package that wait in the server for a lock. */
async function waitingInServer(): Promise<number> {
  const [row] = await query(
    database.url,
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return row!["n"] as number;
}

describe("a transaction of somebody else that stays open on a thread", () => {
  const open = async () => {
    const locker = new pg.Client({ connectionString: database.url });
    await locker.connect();
    await locker.query("begin; select from stratigraph.threads for update");
    return locker;
  };

  test.runIf(allRounds)(
    "its puts end with a code, others are served; what they left in the server ends by itself; afterwards the put is stored once",
    async () => {
      const brief = { retryFor: "1s", statementTimeout: "1s" } as const;
      const saver = PostgresSaver.fromConnString(database.url, brief);
      await saver.setup();
      const first = checkpointOf({ n: 1 });
      const second = checkpointOf({ n: 2 }, { version: 2 });
      await saver.put(at("locked"), first, metadata, first.channel_versions);
      const locker = await open();
      const put = () => saver.put(at("locked", first.id), second, metadata, second.channel_versions);
      const blocked = expect(put()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
      await saver.put(at("free"), first, metadata, first.channel_versions);
      await blocked;
      expect(await waitingInServer()).toBeGreaterThan(0);
      // The lock is never released.
      await waitUntil("statements that nobody waits for to end", async () => (await waitingInServer()) === 0);
      await locker.query("commit");
      await put();
      const found: string[] = [];
      for await (const { checkpoint } of saver.list(at("locked"))) found.push(checkpoint.id);
      expect(found).toEqual([second.id, first.id]);
      expect(await saver.conflicts("locked")).toEqual([]);
      await locker.end();
      await saver.end();
    },
    endlessMs,
  );

  test(
    "a put that waits for longer than a statement waits for a lock is repeated, and stored when it is free",
    async () => {
      const saver = PostgresSaver.fromConnString(database.url);
      await saver.setup();
      const first = checkpointOf({ n: 1 });
      const second = checkpointOf({ n: 2 }, { version: 2 });
      await saver.put(at("locked"), first, metadata, first.channel_versions);
      const locker = await open();
      const events = await tracedWhile(async (told) => {
        const stored = saver.put(at("locked", first.id), second, metadata, second.channel_versions);
        await waitUntil("a retry", () => told.some(({ type }) => type === "retry"));
        await locker.query("commit");
        await stored;
      });
      expect(events.filter(({ type }) => type === "retry")).toMatchObject([{ error: { code: "55P03" } }]);
      expect((await saver.getTuple(at("locked")))?.checkpoint.id).toBe(second.id);
      await locker.end();
      await saver.end();
    },
    endlessMs,
  );
});

test("setup through a silent wire, and end() with calls that hang, have an end", async () => {
  const saver = PostgresSaver.fromConnString(proxy.url, { retryFor: "200ms", statementTimeout: "200ms" });
  proxy.silence();
  await expect(saver.setup()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  const patient = PostgresSaver.fromConnString(proxy.url, { retryFor: "1h", statementTimeout: "200ms" });
  // It is cut off while it waits for an answer, or before it is repeated.
  const call = expect(patient.getTuple(at("t"))).rejects.toMatchObject({
    code: expect.stringMatching(/^(UNAVAILABLE|CLOSED)$/) as string,
  });
  await patient.end();
  await call;
  await saver.end();
});

describe("embedded", () => {
  const embedded = async (options: { statementTimeout: "1s" | "2s"; maxCalls?: number }) => {
    const folder = await embeddedFolder();
    onTestFinished(() => rm(folder, { recursive: true }));
    const database = await PGlite.create(join(folder, "data"));
    const executor = new PgLiteExecutor(
      async () => ({ database, release: () => undefined }),
      resolveDatabaseOptions(options),
    );
    const saver = new PostgresSaver(new PostgresTier(executor, "stratigraph", "pglite"));
    await saver.setup();
    return { database, saver };
  };
  /** A transaction that holds the one connection until it is told to end. */
  const hold = async (database: PGlite): Promise<() => Promise<void>> => {
    let letGo: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    let begun: () => void = () => undefined;
    const beginning = new Promise<void>((resolve) => (begun = resolve));
    const transaction = database.transaction(async () => {
      begun();
      await held;
    });
    await beginning;
    return async () => {
      letGo();
      await transaction;
    };
  };

  test.runIf(allRounds)(
    "a transaction that doesn't end: twelve runs end with a code; once it has ended, calls are served at once",
    async () => {
      const { database, saver } = await embedded({ statementTimeout: "2s" });
      const holding: Promise<() => Promise<void>>[] = [];
      const ends = await twelveRuns(saver, () => void holding.push(hold(database)));
      for (const end of ends)
        expect(end).toMatchObject({ status: "rejected", reason: { code: "UNAVAILABLE", retryable: true } });
      const letGo = await holding[0]!;
      await letGo();
      expect(await saver.getTuple(at("run 0"))).toBeDefined();
      expect(await resumed(saver, "run 0")).toEqual({ log: linesOf(steps), step: steps });
      await saver.end();
    },
    endlessMs,
  );

  test("so many calls wait, the next ones are refused, and the waiting ones are done", async () => {
    const { database, saver } = await embedded({ statementTimeout: "2s", maxCalls: 5 });
    const letGo = await hold(database);
    const calls = Promise.allSettled(Array.from({ length: 12 }, () => saver.getTuple(at("t"))));
    await letGo();
    const results = await calls;
    expect(results.map(({ status }) => status)).toEqual([
      ...Array.from({ length: 5 }, () => "fulfilled"),
      ...Array.from({ length: 7 }, () => "rejected"),
    ]);
    expect(results.at(-1)).toMatchObject({ reason: { code: "OVERLOADED", data: { maxCalls: 5 } } });
    await saver.end();
  });

  test.runIf(allRounds)(
    "a long line of calls is no trouble: each has its time from the last answer on",
    async () => {
      const { saver } = await embedded({ statementTimeout: "1s" });
      const letters = "abcdefghij".repeat(2000);
      // Together they take several times as long as one call may.
      await Promise.all(
        Array.from({ length: 300 }, async (_, n) => {
          const checkpoint = checkpointOf({ text: `${n}${letters}` });
          await saver.put(at(`t${n}`), checkpoint, metadata, checkpoint.channel_versions);
          for (let read = 0; read < 5; read += 1) await saver.getTuple(at(`t${n}`));
        }),
      );
      await saver.end();
    },
  );
});
