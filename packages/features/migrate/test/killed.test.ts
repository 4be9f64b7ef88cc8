import { join } from "node:path";
import { PostgresSaver as OfficialSaver } from "@langchain/langgraph-checkpoint-postgres";
import { importThreads, moveThreads, postgresSource } from "@stratigraph/migrate";
import { PostgresSaver } from "@stratigraph/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inRounds } from "../../../../test/rounds.ts";
import { runChild } from "../../../../test/servers/children.ts";
import { freshDatabase, type FreshDatabase } from "../../../../test/servers/shared.ts";
import { history, say } from "./support/conversation.ts";
import type { CopyMessage } from "./support/copyChild.ts";

const script = join(import.meta.dirname, "support/copyChild.ts");
const threads = inRounds({ few: 40, all: 200, soak: 1000 });
const kills = inRounds({ few: 2, all: 5, soak: 10 });
const timeout = inRounds({ few: 120_000, all: 1_200_000 });

let database: FreshDatabase;
let pool: pg.Pool;
let official: OfficialSaver;
const savers: PostgresSaver[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  official = new OfficialSaver(pool);
  await official.setup();
  for (const text of ["One", "Two"]) await say(official, "t0", text);
  // As many threads as wanted, all like the first one.
  for (const table of ["checkpoints", "checkpoint_blobs", "checkpoint_writes"]) {
    const { rows } = await pool.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = $1 and column_name <> 'thread_id'`,
      [table],
    );
    const columns = rows.map(({ name }) => `"${name}"`).join(", ");
    await pool.query(
      `insert into ${table} (thread_id, ${columns}) select 't' || n, ${columns} from ${table}, generate_series(1, $1) n`,
      [threads - 1],
    );
  }
});

afterAll(async () => {
  for (const saver of savers) await saver.end();
  await pool?.end();
  await database?.drop();
});

async function ours(schema: string): Promise<PostgresSaver> {
  const saver = PostgresSaver.fromConnString(database.url, { schema });
  savers.push(saver);
  await saver.setup();
  return saver;
}

/** Begins a copy again and again, each time killing it after another share of the threads. */
async function killAgainAndAgain(how: string, schema: string): Promise<number> {
  let furthest = 0;
  for (let n = 0; n < kills; n += 1) {
    const child = runChild<CopyMessage>(script, [how, database.url, schema]);
    const goal = Math.floor((threads * (n + 0.3)) / kills);
    await child.message((message) => message.threads >= goal);
    const { signal, stderr } = await child.kill();
    expect(stderr).toBe("");
    expect(signal, "it is killed before it is done").toBe("SIGKILL");
    furthest = Math.max(furthest, child.messages.at(-1)!.threads);
  }
  return furthest;
}

test(
  `an import of ${threads} threads that is killed ${kills} times ends complete and verified`,
  async () => {
    const saver = await ours("stratigraph");
    expect(await killAgainAndAgain("import", "stratigraph")).toBeGreaterThan(threads / 2);
    const report = await importThreads(postgresSource({ pool }), saver);
    expect(report).toMatchObject({ complete: true, threads, verified: true });
    expect(report).toMatchObject({ differences: [], mixedUp: [], diverged: [] });
    expect(report.skipped).toBeGreaterThan(0);
    expect(await history(saver, `t${threads - 1}`)).toEqual(await history(official, `t${threads - 1}`));
    expect((await say(saver, "t7", "Three")).length).toBe((await say(official, "t7", "Three")).length);
  },
  timeout,
);

test(
  `a move of ${threads} threads that is killed ${kills} times ends complete and verified`,
  async () => {
    const from = savers[0]!;
    const to = await ours("elsewhere");
    expect(await killAgainAndAgain("move", "elsewhere")).toBeGreaterThan(threads / 2);
    const report = await moveThreads(from, to);
    expect(report).toMatchObject({ complete: true, threads, verified: true, differences: [], diverged: [] });
    expect(report.skipped).toBeGreaterThan(0);
    for (const threadId of ["t0", "t7", `t${threads - 1}`])
      expect(await history(to, threadId)).toEqual(await history(from, threadId));
    expect((await say(to, "t7", "Four")).length).toBe(8);
  },
  timeout,
);
