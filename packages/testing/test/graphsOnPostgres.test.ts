import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { GraphSetup } from "../src/graphs/setup.ts";
import { testGraphs } from "../src/graphs/testGraphs.ts";
import { startPostgres } from "../../../test/servers/postgres.ts";

/**
 * Blobs are keyed by channel and integer version, and the first one stays: a second branch that reaches the
 * same version reads the values of the first (langgraphjs#1812, #2584).
 */
const knownFailures = [
  "time travel > replay from an old checkpoint runs only what follows it",
  "time travel > two forks with the same integer versions keep their own values, durability sync",
  "time travel > two forks with the same integer versions keep their own values, durability async",
  "time travel > two forks with the same integer versions keep their own values, durability exit",
  "time travel > two forks of one checkpoint by plain invoke keep their own values",
  "time travel > a new input at an old checkpoint continues from there",
  "time travel > after a fork, the next turn builds on the fork and not on the longer branch",
];

const setup: GraphSetup = async () => {
  const server = await startPostgres();
  const opened: PostgresSaver[] = [];
  const open = async (): Promise<PostgresSaver> => {
    const saver = PostgresSaver.fromConnString(server.url);
    opened.push(saver);
    await saver.setup();
    return saver;
  };
  return {
    saver: await open(),
    second: open,
    close: async () => {
      for (const saver of opened) await saver.end();
      await server.stop();
    },
  };
};

testGraphs("official PostgresSaver", setup, { knownFailures });
