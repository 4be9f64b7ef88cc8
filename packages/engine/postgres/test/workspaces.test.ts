import { pglite, postgres } from "@stratigraph/postgres";
import { afterAll, beforeAll } from "vitest";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { testWorkspaceTier } from "../../../tools/testing/src/store/testWorkspaceTier.ts";

// The contract of workspaces on PostgreSQL and PGlite.

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

testWorkspaceTier("PGlite", async () => {
  const tier = pglite({ path: await embeddedFolder() });
  tiers.push(tier);
  await tier.setup();
  return { tier, other: tier };
});
