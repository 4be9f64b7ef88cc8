import { rm } from "node:fs/promises";
import { PostgresSaver } from "@stratigraph/postgres";
import fc from "fast-check";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { history } from "../../../core/test/history/commands.ts";
import { World } from "../../../core/test/history/model.ts";
import { embeddedFolder, freshDatabase } from "../../../../../test/servers/shared.ts";
import { resolveDatabaseOptions } from "../../src/options.ts";
import { openPgLite, PgLiteExecutor } from "../../src/connection/pgliteExecutor.ts";
import { PostgresTier } from "../../src/postgresTier.ts";
import { inRounds } from "../../../../../test/rounds.ts";

const encryption = {
  keys: { one: new Uint8Array(32).fill(1) },
  activeKey: "one",
  hashKey: new Uint8Array(32).fill(2),
  refusePlaintext: true,
};
const numRuns = inRounds({ few: 1, all: 2 });
const done = new Map<string, number>();

/** Histories on one storage, each in a schema of its own. */
async function assertHistories(
  open: (schema: string) => readonly PostgresSaver[],
  seed: number,
): Promise<void> {
  let schemas = 0;
  const property = fc.asyncProperty(history(50), async (commands) => {
    schemas += 1;
    const [first, ...others] = open(`h${schemas}`);
    await first!.setup();
    const world = new World([first!, others[0]!]);
    await world.run(commands);
    for (const saver of [first!, ...others]) await world.check(saver);
    for (const [what, times] of world.done) done.set(what, (done.get(what) ?? 0) + times);
  });
  await fc.assert(property, { seed, numRuns, endOnFailure: true });
}

test.each([
  ["as it comes", {}, 11],
  ["encrypted", { encryption }, 12],
  ["with memory for a few values", { patchMemory: "100kb" }, 13],
] as const)("PostgreSQL, two savers in turn, %s", async (_name, options, seed) => {
  const database = await freshDatabase();
  const pools = [0, 1, 2].map(() => new pg.Pool({ connectionString: database.url, max: 2 }));
  try {
    await assertHistories(
      (schema) => pools.map((pool) => new PostgresSaver({ ...options, pool, schema })),
      seed,
    );
  } finally {
    for (const pool of pools) await pool.end();
    await database.drop();
  }
});

test("PGlite, two savers in turn", async () => {
  const folder = await embeddedFolder();
  const executor = new PgLiteExecutor(() => openPgLite(folder), resolveDatabaseOptions({}));
  try {
    const open = (schema: string): PostgresSaver =>
      new PostgresSaver(new PostgresTier(executor, schema, "pglite"));
    await assertHistories((schema) => [open(schema), open(schema), open(schema)], 14);
  } finally {
    await executor.end();
    await rm(folder, { recursive: true });
  }
});

afterAll(() => {
  for (const what of ["put", "write", "putAgain", "scribble", "prune", "deleteRun", "copy"])
    expect(done.get(what), what).toBeGreaterThan(0);
});
