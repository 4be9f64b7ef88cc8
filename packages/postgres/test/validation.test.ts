import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { PostgresSaver } from "@stratigraph/postgres";
import { freshDatabase } from "../../../test/servers/shared.ts";

let database: Awaited<ReturnType<typeof freshDatabase>>;
let schema = 0;

const postgres15 = {
  checkpointerName: "@stratigraph/postgres on PostgreSQL",
  beforeAll: async () => {
    database = await freshDatabase();
  },
  afterAll: () => database.drop(),
  createCheckpointer: async () => {
    schema += 1;
    const saver = PostgresSaver.fromConnString(database.url, { schema: `s${schema}` });
    await saver.setup();
    return saver;
  },
  destroyCheckpointer: (saver: PostgresSaver) => saver.end(),
};

specTest(postgres15);
deltaChannelHistoryTests(postgres15);
