import { registerGroups } from "../graphs/context.ts";
import type { GraphSetup } from "../graphs/setup.ts";
import { raceTests } from "./raceTests.ts";
import { reservedTests } from "./reservedTests.ts";
import { valueAtCallTests } from "./valueAtCallTests.ts";

/**
 * Registers a vitest suite of what Stratigraph promises beyond what LangGraph asks of a saver: nothing of a writer that lost
 * a race is mixed into what the winner made, what is read back is what was there when the call was made, and what its packages
 * keep beside a thread is nobody's checkpoint. The official
 * savers don't promise it.
 *
 * @param name - name of the suite, usually the saver's
 * @param setup - opens the saver under test with its default `conflict`; called once, in `beforeAll`
 */
export const testPromises = (name: string, setup: GraphSetup): void => {
  registerGroups(`${name}: promises`, setup, {
    races: raceTests,
    "values at the call": valueAtCallTests,
    "records of its own": reservedTests,
  });
};
