import { pglite, postgres } from "@stratigraph/postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query } from "../../../../test/servers/postgres.ts";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { allRounds } from "../../../../test/rounds.ts";
import { testWorkspaceTier } from "../../../tools/testing/src/store/testWorkspaceTier.ts";
import { startDeafProxy } from "./support/deafProxy.ts";

// The contract of workspaces on PostgreSQL and PGlite; answers that are lost; rights.

let database: Awaited<ReturnType<typeof freshDatabase>>;
const tiers: { end?: () => Promise<void> }[] = [];
let count = 0;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  await Promise.all(tiers.map((tier) => tier.end?.()));
  await database.drop();
});

async function openPair() {
  const schema = `workspaces_${(count += 1)}`;
  const open = () => postgres({ url: database.url, schema });
  const [tier, other] = [open(), open()];
  tiers.push(tier, other);
  await tier.setup();
  return { schema, tier, other };
}

testWorkspaceTier("PostgreSQL", openPair);

// The same statements. With few rounds the stories of workspaces run on PGlite alone, not this, too.
if (allRounds)
  testWorkspaceTier("PGlite", async () => {
    const tier = pglite({ path: await embeddedFolder() });
    tiers.push(tier);
    await tier.setup();
    return { tier, other: tier };
  });

const at = { namespace: ["n"], key: "k" };
const next = (n: number) => ({
  id: String(n).padStart(32, "0"),
  checks: [],
  changes: [{ ...at, value: Buffer.from(`${n}`), fields: {}, note: Buffer.from("note") }],
});

test("a commit whose answer was lost is made once, and so is a deletion", async () => {
  const { schema, tier } = await openPair();
  const proxy = await startDeafProxy(database.url);
  const through = postgres({ url: proxy.url, schema });
  tiers.push({ end: () => proxy.stop() });
  await through.ping();
  const versions: number[] = [];
  for (let n = 1; n <= 5; n += 1) {
    // Not that of the notification, which nobody waits for.
    proxy.loseAnswers(1, "commit_workspace");
    const [result] = await through.workspaces.commit("ws", [next(n)]);
    versions.push(...(result as { versions: readonly number[] }).versions);
  }
  expect(proxy.lost()).toBe(5);
  const log = await tier.workspaces.log("ws", { prefixes: [[]], limit: 100 });
  expect(log.entries.map(({ version }) => version)).toEqual(versions);
  // As if the first call of a repeated commit had been on its way until now.
  const repeated = next(9);
  await tier.workspaces.commit("ws", [repeated], { isRepeat: true });
  await tier.workspaces.commit("ws", [repeated]);
  const { version, entries } = await tier.workspaces.log("ws", { prefixes: [[]], limit: 100 });
  expect(entries).toHaveLength(6);
  proxy.loseAnswers(1, "delete_workspace");
  expect(await through.workspaces.delete("ws", version)).toBe(true);
  expect(await tier.workspaces.list({ limit: 9 })).toEqual([]);
  for (const table of ["items", "workspace_log", "workspaces", "item_namespaces"])
    expect(await query(database.url, `select from ${schema}.${table}`)).toEqual([]);
  await through.end();
});

test("a role that may change tables and call functions makes commits and messages", async () => {
  const { schema } = await openPair();
  const role = `app_${schema}_${process.pid}`;
  await query(
    database.url,
    `create role ${role} login; grant usage on schema ${schema} to ${role};
     grant select, insert, update, delete on all tables in schema ${schema} to ${role};
     grant execute on all functions in schema ${schema} to ${role}`,
  );
  const url = new URL(database.url);
  url.username = role;
  const tier = postgres({ url: url.href, schema });
  const said = { ...next(2).changes[0]!, as: "message" as const };
  const results = await tier.workspaces.commit("ws", [next(1), { ...next(2), changes: [said] }]);
  expect(results).toMatchObject([{ versions: [1] }, { versions: [2] }]);
  await tier.end();
  await query(database.url, `drop owned by ${role}; drop role ${role}`);
});
