import { describe } from "vitest";
import { type GraphGroup, registerGroups } from "./context.ts";
import { deltaChannelTests } from "./deltaChannelTests.ts";
import { historyTests } from "./historyTests.ts";
import { valueTests } from "./valueTests.ts";
import { isolationTests } from "./isolationTests.ts";
import { abortTests } from "./abortTests.ts";
import { interruptTests } from "./interruptTests.ts";
import { durabilitiesOf } from "./durabilities.ts";
import type { GraphSetup, GraphSuiteOptions } from "./setup.ts";
import { registerSerdeTests } from "./serdeTests.ts";
import { timeTravelTests } from "./timeTravelTests.ts";

const groups: Readonly<Record<string, GraphGroup>> = {
  interrupts: interruptTests,
  "time travel": timeTravelTests,
  DeltaChannel: deltaChannelTests,
  history: historyTests,
  values: valueTests,
  isolation: isolationTests,
  "stopping early": abortTests,
};

const serdeGroup = "compressing serializer";

/**
 * Registers a vitest suite of real compiled LangGraph graphs that any saver must pass, for what `testDifferential` can't compare.
 *
 * @param name - name of the suite, usually the saver's
 * @param setup - opens the saver under test; called once, in `beforeAll`
 * @param options - tests that this saver is known to fail, and durabilities
 */
export const testGraphs = (name: string, setup: GraphSetup, options: GraphSuiteOptions = {}): void => {
  registerGroups(name, setup, groups, options);
  const { withSerde } = setup;
  if (withSerde === undefined) return;
  const known = new Set(options.knownFailures);
  describe(name, () => {
    const isKnown = (test: string): boolean => known.has(`${serdeGroup} > ${test}`);
    const durabilities = durabilitiesOf(name, options.durabilities)();
    describe(serdeGroup, () => registerSerdeTests(withSerde, isKnown, durabilities));
  });
};
