import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@stratigraph/postgres";
import { testGraphs, testPromises, testSaver } from "@stratigraph/testing";
import pg from "pg";
import { freshDatabase } from "../../../test/servers/shared.ts";

const onPostgres = async (serde?: SerializerProtocol) => {
  const database = await freshDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  const open = async () => new PostgresSaver({ pool, serde });
  const saver = await open();
  await saver.setup();
  return {
    saver,
    second: open,
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
};

testGraphs(
  "PostgresSaver on PostgreSQL",
  Object.assign(() => onPostgres(), { withSerde: onPostgres }),
);
testPromises("PostgresSaver on PostgreSQL", () => onPostgres());
// Newest first is by checkpoint id: LangGraph.js compares ids in `before`, also across namespaces.
testSaver("PostgresSaver on PostgreSQL", () => onPostgres(), {
  knownFailures: ["list_uses_checkpoint_timestamp_not_id"],
});

const onPgLite = async (serde?: SerializerProtocol) => {
  const saver = PostgresSaver.embedded(undefined, { serde });
  await saver.setup();
  return { saver, second: async () => new PostgresSaver(saver.tier, serde), close: () => saver.end() };
};

testGraphs(
  "PostgresSaver on PGlite",
  Object.assign(() => onPgLite(), { withSerde: onPgLite }),
);
testPromises("PostgresSaver on PGlite", () => onPgLite());
testSaver("PostgresSaver on PGlite", () => onPgLite(), {
  knownFailures: ["list_uses_checkpoint_timestamp_not_id"],
});
