import { rmSync } from "node:fs";
import { join } from "node:path";
import { pglite, postgres, PostgresSaver, type PostgresTier } from "@stratigraph/postgres";
import pg from "pg";
import { expect, test } from "vitest";
import { runChild } from "../../../../test/servers/children.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { appendOf } from "./group/support/requests.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";
import type { EndMessage } from "./support/endChild.ts";
import { allRounds } from "../../../../test/rounds.ts";

// end(): calls under way finish, later ones are refused, and no error of this ends the process.

const script = join(import.meta.dirname, "support/endChild.ts");
const metadata = { source: "loop", step: 0, parents: {} } as const;
const first = checkpointOf({ n: 1 });

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

async function expectEnded(kind: "url" | "folder", where: string, reopened: () => PostgresSaver) {
  const child = runChild<EndMessage>(script, [kind, where]);
  const { codes } = (await child.message(({ type }) => type === "ended")) as { codes: readonly string[] };
  expect(codes).toEqual(Array.from({ length: 8 }, () => "CLOSED"));
  // No unhandled rejection, no warning, and nothing that keeps the process running.
  expect(await child.exit).toMatchObject({ code: 0, stderr: "" });
  const saver = reopened();
  for (let n = 0; n < 8; n += 1) {
    const { checkpoint } = (await saver.getTuple(at(`run ${n}`)))!;
    expect((checkpoint.channel_values["log"] as unknown[]).length).toBeGreaterThan(0);
  }
  await saver.end();
}

test("with runs under way, sync and async: each ends with CLOSED, the process goes on", async () => {
  await expectEnded("url", database.url, () => PostgresSaver.fromConnString(database.url));
}, 180_000);

test.runIf(allRounds)("the same, embedded: the folder is free afterwards", async () => {
  const folder = await embeddedFolder();
  await expectEnded("folder", folder, () => PostgresSaver.embedded(folder));
  rmSync(folder, { recursive: true });
});

const kinds: readonly (readonly [string, () => PostgresTier])[] = [
  ["a pool of its own", () => postgres({ url: database.url })],
  ["an embedded database", () => pglite()],
];

test.each(kinds)("%s: calls under way finish, and end() waits for them", async (_name, open) => {
  const tier = open();
  await tier.setup();
  let done = 0;
  const calls = Array.from({ length: 200 }, async (_, n) => {
    await tier.append(appendOf(`under way ${n}`, "1"));
    done += 1;
  });
  await tier.end();
  expect(done).toBe(200);
  await Promise.all(calls);
  for (const late of [
    () => tier.append(appendOf("late", "1")),
    () => tier.read({ threadId: "late", namespace: "" }),
    () => tier.list({ threadId: "late" }).next(),
    () => tier.setup(),
  ])
    await expect(late()).rejects.toMatchObject({ code: "CLOSED", retryable: false });
  await tier.end();
});

test("an embedded database that was never used, or is just being opened", async () => {
  const unused = PostgresSaver.embedded();
  await unused.end();
  await unused.end();
  await expect(unused.getTuple(at("t"))).rejects.toMatchObject({ code: "CLOSED" });
  const opening = PostgresSaver.embedded();
  const setup = opening.setup();
  await opening.end();
  // It consists of several statements: those after end() are refused.
  await expect(setup).rejects.toMatchObject({ code: "CLOSED" });
});

test("a pool that was passed in stays open; the saver on it is closed all the same", async () => {
  const pool = new pg.Pool({ connectionString: database.url });
  const saver = new PostgresSaver({ pool });
  await saver.setup();
  await saver.end();
  await saver.end();
  await expect(saver.put(at("t"), first, metadata, first.channel_versions)).rejects.toMatchObject({
    code: "CLOSED",
  });
  expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await pool.end();
});

test("no connection is left on the server", async () => {
  const name = `ended-${process.pid}`;
  const saver = PostgresSaver.fromConnString(`${database.url}?application_name=${name}`);
  await saver.setup();
  await Promise.all(Array.from({ length: 20 }, (_, n) => saver.getTuple(at(`t${n}`))));
  const connections = async () => {
    const sql = "select count(*)::int as n from pg_stat_activity where application_name = $1";
    return (await query(database.url, sql, [name]))[0]!["n"];
  };
  expect(await connections()).toBeGreaterThan(0);
  await saver.end();
  await expect.poll(connections).toBe(0);
});
