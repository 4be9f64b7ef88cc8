import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { testDifferential, testGraphs, testPromises, testSaver } from "@stratigraph/testing";
import type { FolderSaver, S3Saver } from "../../src/index.ts";
import { type sparse, sparser } from "../../../../../test/rounds.ts";

/** A saver on an empty place of its own. */
export type OpenSaver = (serde?: SerializerProtocol) => Promise<{
  saver: S3Saver | FolderSaver;
  second: () => Promise<S3Saver | FolderSaver>;
  close: () => Promise<void>;
}>;

/**
 * LangGraph's suites and ours, on one saver.
 *
 * @param rounds - how much of the promises and clauses runs with few rounds
 * @param validates - whether LangGraph's validation suite runs
 */
export function testSavers(
  name: string,
  open: OpenSaver,
  rounds: typeof sparse | typeof sparser,
  validates: boolean,
): void {
  const closing = new Map<object, () => Promise<unknown>>();
  const initializer = {
    checkpointerName: `@stratigraph/s3 ${name}`,
    createCheckpointer: async () => {
      const { saver, close } = await open();
      closing.set(saver, close);
      return saver;
    },
    destroyCheckpointer: async (saver: S3Saver | FolderSaver) => {
      await saver.end();
      await closing.get(saver)?.();
    },
  };
  if (validates) {
    specTest(initializer);
    deltaChannelHistoryTests(initializer);
  }
  testGraphs(
    name,
    Object.assign(() => open(), { withSerde: open }),
    sparser,
  );
  testPromises(name, () => open(), rounds);
  testDifferential(name, () => open(), sparser);
  testSaver(name, () => open(), rounds);
}
