import { randomUUID } from "node:crypto";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type Durability, durabilitiesOf, turnsOf } from "./durabilities.ts";
import type { GraphSetup, GraphSuiteOptions, OpenedSaver } from "./setup.ts";

/** A config that names one thread. */
export interface ThreadConfig {
  configurable: { thread_id: string };
}

/** What a group of graph tests can use. */
export interface GraphContext {
  /** Registers a test of the current group. */
  test(name: string, run: () => Promise<void>): void;
  /** Whether every test runs with each durability: a test that makes a thousand calls is left out otherwise. */
  readonly isWhole: boolean;
  /** The durabilities for the next test that takes one. */
  durabilities(): readonly Durability[];
  /** The saver under test. Only inside a test. */
  saver(): BaseCheckpointSaver;
  /** Another instance over the same storage. The same saver if the setup can't open another one. Only inside a test. */
  reopen(): Promise<BaseCheckpointSaver>;
  /** A config with a new thread id. */
  thread(prefix?: string): ThreadConfig;
}

/** A group of graph tests: a function that registers its tests with the context. */
export type GraphGroup = (context: GraphContext) => void;

/** Registers one vitest block per group. All groups use one opened saver. */
export const registerGroups = (
  suite: string,
  setup: GraphSetup,
  groups: Readonly<Record<string, GraphGroup>>,
  options: GraphSuiteOptions = {},
): void => {
  const known = new Set(options.knownFailures);
  const durabilities = durabilitiesOf(suite, options.durabilities);
  const isItsTurn = turnsOf(suite, options.every);
  describe(suite, () => {
    let opened: OpenedSaver | undefined;
    const current = (): OpenedSaver => {
      if (opened === undefined) throw new Error("The saver is open only while tests run");
      return opened;
    };
    beforeAll(async () => {
      opened = await setup();
    });
    afterAll(async () => {
      await opened?.close();
    });
    for (const [group, register] of Object.entries(groups)) {
      const tests: [name: string, run: () => Promise<void>][] = [];
      register({
        test: (name, run) => {
          if (isItsTurn()) tests.push([name, run]);
        },
        isWhole: (options.every ?? 1) === 1 && options.durabilities !== "in turn",
        durabilities,
        saver: () => current().saver,
        reopen: async () => {
          const { saver, second } = current();
          return second === undefined ? saver : await second();
        },
        thread: (prefix = "thread") => ({ configurable: { thread_id: `${prefix}-${randomUUID()}` } }),
      });
      // Vitest treats a suite without tests as an error.
      if (tests.length === 0) continue;
      describe(group, () => {
        for (const [name, run] of tests) (known.has(`${group} > ${name}`) ? it.fails : it)(name, run);
      });
    }
  });
};
