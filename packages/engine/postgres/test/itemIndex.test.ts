import { PostgresSaver } from "@stratigraph/postgres";
import { afterAll, beforeAll } from "vitest";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { testStoreIndex } from "../../../tools/testing/src/store/testStoreIndex.ts";

// The suite of a store's index on PostgreSQL and PGlite, without and with pgvector.

let database: Awaited<ReturnType<typeof freshDatabase>>;
const savers: PostgresSaver[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  await Promise.all(savers.map((saver) => saver.end()));
  await database.drop();
});

testStoreIndex("PostgreSQL", async () => {
  const saver = PostgresSaver.fromConnString(database.url, { schema: "index" });
  savers.push(saver);
  await saver.setup();
  return (options) => saver.store(options);
});

testStoreIndex("PGlite", async () => {
  const saver = PostgresSaver.embedded(await embeddedFolder());
  savers.push(saver);
  await saver.setup();
  return (options) => saver.store(options);
});
