import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { PostgresSaver } from "@stratigraph/postgres";
import { emptySchema } from "../../../../test/servers/emptySchema.ts";
import { query } from "../../../../test/servers/postgres.ts";
import { freshDatabase } from "../../../../test/servers/shared.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;

const postgres15 = {
  checkpointerName: "@stratigraph/postgres on PostgreSQL",
  beforeAll: async () => {
    database = await freshDatabase();
  },
  afterAll: () => database.drop(),
  createCheckpointer: async () => {
    const saver = PostgresSaver.fromConnString(database.url);
    await saver.setup();
    await query(database.url, emptySchema("stratigraph"));
    return saver;
  },
  destroyCheckpointer: (saver: PostgresSaver) => saver.end(),
};

specTest(postgres15);
deltaChannelHistoryTests(postgres15);
