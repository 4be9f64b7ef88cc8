import { PostgresSaver } from "@stratigraph/postgres";
import { MemoryTier, TierSaver } from "@stratigraph/core";
import { TierStack } from "@stratigraph/tiered";
import { afterAll, beforeAll } from "vitest";
import { embeddedFolder, freshDatabase } from "../../../../test/servers/shared.ts";
import { testWorkspace } from "./suite.ts";
import { allRounds } from "../../../../test/rounds.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
const savers: TierSaver[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(async () => {
  await Promise.all(savers.map((saver) => saver.end()));
  await database.drop();
});

async function opened(schema: string): Promise<PostgresSaver> {
  const saver = PostgresSaver.fromConnString(database.url, { schema });
  savers.push(saver);
  await saver.setup();
  return saver;
}

testWorkspace("PostgreSQL", async () => ({ saver: await opened("alone"), other: await opened("alone") }));

if (allRounds)
  testWorkspace("PGlite", async () => {
    const saver = PostgresSaver.embedded(await embeddedFolder());
    savers.push(saver);
    await saver.setup();
    return { saver, other: saver };
  });

testWorkspace("a stack", async () => {
  const stacked = async (): Promise<TierSaver> => {
    const { tier } = await opened("warm");
    return new TierSaver(new TierStack({ hot: [new MemoryTier()], warm: tier }));
  };
  return { saver: await stacked(), other: await stacked() };
});
