import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../../../test/servers/process.ts";
import { available } from "../../../../test/servers/available.ts";
import { startPgBouncer, type PgBouncer } from "../../../../test/servers/pgbouncer.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { at } from "./support/checkpoints.ts";
import { logOf, threeNodes } from "./support/threeNodes.ts";

describe.skipIf(!available.pgbouncer)("through PgBouncer in transaction mode", () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  let pooler: PgBouncer;
  beforeAll(async () => {
    database = await freshDatabase();
    // Fewer server connections than clients: every statement may meet another one.
    pooler = await startPgBouncer({ target: database.url, extraSettings: { default_pool_size: 3 } });
  });
  afterAll(async () => {
    await pooler.stop();
    await database.drop();
  });

  test("the pooler does break named statements, so that what follows proves something", async () => {
    const pool = new pg.Pool({ connectionString: pooler.url, max: 8 });
    pool.on("error", () => undefined);
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        pool.query({ name: `named ${n % 2}`, text: `select ${n % 2} from pg_sleep(0.005)` }),
      ),
    );
    expect(results.some(({ status }) => status === "rejected")).toBe(true);
    await pool.end();
  });

  test("setup from ten savers at once, then graphs of many threads at once", async () => {
    const savers = Array.from({ length: 10 }, () => PostgresSaver.fromConnString(pooler.url));
    await Promise.all(savers.map((saver) => saver.setup()));
    await Promise.all(
      savers.map(async (saver, n) => {
        const config = { configurable: { thread_id: `t${n}` } };
        for (const turn of ["a", "b", "c"]) await threeNodes(saver).invoke({ last: turn }, config);
        const other = savers[(n + 1) % savers.length]!;
        const { values } = await threeNodes(other).getState(config);
        expect(values.log).toEqual([...logOf("a"), ...logOf("b"), ...logOf("c")]);
        let count = 0;
        for await (const _ of other.list(at(`t${n}`))) count += 1;
        expect(count).toBe(15);
      }),
    );
    const [row] = await query(
      pooler.url,
      "select count(*)::int as n from pg_prepared_statements where name not like 'named %'",
    );
    expect(row).toEqual({ n: 0 });
    for (const saver of savers) await saver.end();
  });

  test("racing savers: one moves the head", async () => {
    const savers = Array.from({ length: 6 }, () => PostgresSaver.fromConnString(pooler.url));
    const config = { configurable: { thread_id: "race" } };
    const log: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      let waiting = savers.length;
      let go: () => void = () => undefined;
      const all = new Promise<void>((resolve) => (go = resolve));
      const results = await Promise.allSettled(
        savers.map(async (saver, n) => {
          const put = saver.put.bind(saver);
          saver.put = async (...args) => {
            saver.put = put;
            waiting -= 1;
            if (waiting === 0) go();
            await all;
            return await put(...args);
          };
          return await threeNodes(saver).invoke({ last: `${round}.${n}` }, { ...config, durability: "sync" });
        }),
      );
      const won = results.flatMap((result) => (result.status === "fulfilled" ? [result.value.log] : []));
      expect(won).toHaveLength(1);
      const winner = won[0]!.at(-1)!.split(":")[0]!;
      log.push(...logOf(winner));
      expect((await threeNodes(savers[0]!).getState(config)).values.log).toEqual(log);
      for (const result of results) {
        if (result.status === "rejected")
          expect(result.reason).toMatchObject({ code: "CHECKPOINT_CONFLICT" });
      }
    }
    for (const saver of savers) await saver.end();
  });

  test("server connections ended behind the pooler are unnoticed", async () => {
    const saver = PostgresSaver.fromConnString(pooler.url);
    let waiting = 0;
    let goOn = (): void => undefined;
    const hasEnded = new Promise<void>((resolve) => (goOn = resolve));
    const before = (): Promise<void> => {
      waiting += 1;
      return hasEnded;
    };
    const graph = threeNodes(saver, { before });
    const runs = Array.from({ length: 5 }, (_, n) =>
      graph.invoke({ last: "a" }, { configurable: { thread_id: `restart ${n}` } }),
    );
    await waitUntil("all runs in a node", () => waiting === runs.length);
    await query(
      database.url,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    goOn();
    for (const run of runs) expect((await run).log).toEqual(logOf("a"));
    await saver.end();
  });
});
